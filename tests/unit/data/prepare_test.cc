// From files to a token cache: what is found, what is refused and where, what is made again.
#include "engine/data/prepare.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/data/source.h"
#include "tests/support/forwarding_io.h"
#include "tests/support/full_disk.h"
#include "tests/support/scratch.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

namespace fs = std::filesystem;

struct Fixture {
  testing::Scratch scratch;
  std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  PrepareOptions options{scratch / "cache", "test", tokenizer.get(), 256, 2, "", {}};

  DataSpec Spec(std::vector<std::string> patterns) const {
    for (std::string& pattern : patterns) pattern = scratch / pattern;
    return {"d", std::move(patterns), DataFormat::kText, "text"};
  }
  Result<PreparedData> Prepare(std::vector<std::string> patterns) {
    return PrepareData(PosixIo(), Spec(std::move(patterns)), options);
  }
  std::vector<std::string> CacheNames() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch / "cache"))
      names.push_back(entry.path().filename());
    return names;
  }
};

std::string Text(const PreparedData& data) {
  std::vector<TokenId> ids(static_cast<size_t>(data.file.tokens()));
  data.file.Read(0, ids);
  return {ids.begin(), ids.end()};
}

void JoinsDocumentsInOrder(void**) {
  Fixture f;
  f.scratch.Write("b.txt", "two");
  f.scratch.Write("a.txt", "öne");
  f.scratch.Write("c.md", "three");
  const auto data = f.Prepare({"*.md", "*.txt"});
  assert_ok(data);
  assert_text(Text(*data), std::string("öne\0two\0three", 14));
  assert_int_equal(data->file.info().documents, 3);
  assert_int_equal(data->file.info().files.size(), 3);
  assert_int_equal(data->file.info().files[1].token_begin, 5);
  assert_int_equal(data->file.info().text_bytes, 12);
  assert_int_equal(data->file.source_bytes(), 12);
}

void CountsARealFileOnce(void**) {
  Fixture f;
  f.scratch.Write("a.txt", "one");
  fs::create_symlink(f.scratch / "a.txt", f.scratch / "b.txt");
  fs::create_hard_link(f.scratch / "a.txt", f.scratch / "c.txt");
  assert_text(Text(*f.Prepare({"?.txt", "a.txt", "b.txt"})), "one");
}

void FindsTheCacheByContent(void**) {
  Fixture f;
  f.scratch.Write("a.txt", "same words");
  const auto first = f.Prepare({"a.txt"});
  assert_ok(first);
  assert_int_equal(f.CacheNames().size(), 1);
  const auto written = fs::last_write_time(f.scratch / "cache/" + first->key + ".tokens");
  f.scratch.Write("z.txt", "same words");
  assert_text(f.Prepare({"z.txt"})->key, first->key);
  assert_true(fs::last_write_time(f.scratch / "cache/" + first->key + ".tokens") == written);
  f.scratch.Write("z.txt", "other words");
  assert_true(f.Prepare({"z.txt"})->key != first->key);
  // The same bytes, cut into documents elsewhere, are other tokens.
  f.scratch.Write("p1", "same");
  f.scratch.Write("p2", " words");
  assert_true(f.Prepare({"p?"})->key != first->key);
  assert_int_equal(f.CacheNames().size(), 3);
}

void MakesADamagedCacheAgain(void**) {
  Fixture f;
  f.scratch.Write("a.txt", "words");
  const std::string key = f.Prepare({"a.txt"})->key;
  fs::resize_file(f.scratch / "cache/" + key + ".tokens", 70);
  const auto again = f.Prepare({"a.txt"});
  assert_ok(again);
  assert_text(Text(*again), "words");
}

void RefusesBadText(void**) {
  const auto refuse = [](std::string content, ErrorCode code, const char* place) {
    Fixture f;
    f.scratch.Write("good.txt", "good");
    f.scratch.Write("bad.txt", content);
    const Status status = f.Prepare({"*.txt"}).status();
    assert_code(status, code);
    assert_non_null(strstr(status.message().c_str(), "bad.txt"));
    assert_non_null(strstr(status.message().c_str(), place));
    assert_true(f.CacheNames().empty());
  };
  const std::string long_text(300000, 'x');
  refuse("", ErrorCode::EMPTY_FILE, "empty");
  refuse("abc\xff", ErrorCode::INVALID_ENCODING, "byte 3");
  refuse(long_text + "\xc3", ErrorCode::INVALID_ENCODING, "byte 300000");
  refuse(long_text + "\xed\xa0\x80", ErrorCode::INVALID_ENCODING, "byte 300000");
  refuse(std::string("ab\0c", 4), ErrorCode::FORBIDDEN_BYTE, "byte 2");
  refuse(std::string("\xff\xfe"
                     "a\0",
                     4),
         ErrorCode::INVALID_ENCODING, "byte 0");
}

void HintsAtUtf16(void**) {
  Fixture f;
  f.scratch.Write("a.txt", std::string("\xff\xfe"
                                       "a\0",
                                       4));
  assert_non_null(strstr(f.Prepare({"a.txt"}).status().hint().c_str(), "UTF-16"));
}

void RefusesWhatIsNoFile(void**) {
  Fixture f;
  assert_code(f.Prepare({"none.txt"}), ErrorCode::FILE_NOT_FOUND);
  assert_code(f.Prepare({"none*"}), ErrorCode::FILE_NOT_FOUND);
  assert_code(f.Prepare({}), ErrorCode::FILE_NOT_FOUND);
  fs::create_directory(f.scratch / "dir");
  assert_code(f.Prepare({"dir"}), ErrorCode::NOT_A_REGULAR_FILE);
  mkfifo((f.scratch / "fifo").c_str(), 0600);
  assert_code(f.Prepare({"fifo"}), ErrorCode::NOT_A_REGULAR_FILE);
}

void TokensMustBeInTheVocabulary(void**) {
  Fixture f;
  f.scratch.Write("a.txt", "plain");
  f.scratch.Write("b.txt", "abcö");
  f.options.vocab_size = 128;
  assert_ok(f.Prepare({"a.txt"}));
  const Status status = f.Prepare({"*.txt"}).status();
  assert_code(status, ErrorCode::TOKEN_OUT_OF_RANGE);
  assert_non_null(strstr(status.message().c_str(), "b.txt: token 195 at byte 3"));
}

// An Io that changes a file while it is read.
class ChangingIo : public testing::ForwardingIo {
 public:
  ChangingIo(std::string path, int at_stat) : path_(std::move(path)), at_stat_(at_stat) {}
  Result<FileInfo> Stat(const std::string& path) override {
    if (path == path_ && --at_stat_ == 0) std::ofstream(path, std::ios::app) << "more";
    return ForwardingIo::Stat(path);
  }

 private:
  std::string path_;
  int at_stat_;
};

// Found, read for the key, read for the tokens: a change before any of the checks after these is noticed.
void NoticesAFileThatChanges(void**) {
  for (const int at_stat : {2, 3}) {
    Fixture f;
    ChangingIo io(f.scratch.Write("a.txt", "some words"), at_stat);
    assert_code(PrepareData(io, f.Spec({"a.txt"}), f.options), ErrorCode::DATA_CHANGED);
    assert_true(f.CacheNames().empty());
  }
}

void LeavesNothingOnAFullDisk(void**) {
  Fixture f;
  f.scratch.Write("a.txt", std::string(1000000, 'x'));
  testing::FullDisk disk;
  disk.is_full = true;
  assert_code(PrepareData(disk, f.Spec({"a.txt"}), f.options), ErrorCode::DISK_FULL);
  assert_true(f.CacheNames().empty());
  disk.is_full = false;
  assert_ok(PrepareData(disk, f.Spec({"a.txt"}), f.options));
}

void ResumedRunKeepsItsData(void**) {
  Fixture f;
  f.scratch.Write("a.txt", "as it was");
  f.options.expected_key = f.Prepare({"a.txt"})->key;
  f.scratch.Write("a.txt", "something else");
  const auto pinned = f.Prepare({"a.txt"});
  assert_ok(pinned);
  assert_text(Text(*pinned), "as it was");
  fs::remove(f.scratch / "a.txt");
  assert_ok(f.Prepare({"a.txt"}));
  fs::remove_all(f.scratch / "cache");
  assert_code(f.Prepare({"a.txt"}), ErrorCode::FILE_NOT_FOUND);
  f.scratch.Write("a.txt", "something else");
  assert_code(f.Prepare({"a.txt"}), ErrorCode::DATA_CHANGED);
  f.scratch.Write("a.txt", "as it was");
  assert_ok(f.Prepare({"a.txt"}));
}

void ReportsProgress(void**) {
  Fixture f;
  f.scratch.Write("a.txt", std::string(1000000, 'x'));
  int64_t last = 0, total = 0, calls = 0;
  f.options.progress = [&](int64_t done, int64_t all) {
    assert_true(done >= last && done <= all);
    last = done;
    total = all;
    ++calls;
    return Ok();
  };
  assert_ok(f.Prepare({"a.txt"}));
  assert_int_equal(total, 2000000);
  assert_int_equal(last, total);
  assert_true(calls > 4);
  last = 0;
  assert_ok(f.Prepare({"a.txt"}));
  assert_int_equal(last, total);
}

void StopsWhenAsked(void**) {
  Fixture f;
  f.scratch.Write("a.txt", std::string(1000000, 'x'));
  for (const int64_t limit : {0, 1200000}) {
    f.options.progress = [&](int64_t done, int64_t) {
      return done > limit ? Status(ErrorCode::INTERRUPTED, "stop") : Ok();
    };
    assert_code(f.Prepare({"a.txt"}), ErrorCode::INTERRUPTED);
    assert_true(f.CacheNames().empty());
  }
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(JoinsDocumentsInOrder),    cmocka_unit_test(CountsARealFileOnce),
      cmocka_unit_test(FindsTheCacheByContent),   cmocka_unit_test(MakesADamagedCacheAgain),
      cmocka_unit_test(RefusesBadText),           cmocka_unit_test(HintsAtUtf16),
      cmocka_unit_test(RefusesWhatIsNoFile),      cmocka_unit_test(TokensMustBeInTheVocabulary),
      cmocka_unit_test(NoticesAFileThatChanges),  cmocka_unit_test(ResumedRunKeepsItsData),
      cmocka_unit_test(LeavesNothingOnAFullDisk), cmocka_unit_test(ReportsProgress),
      cmocka_unit_test(StopsWhenAsked),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
