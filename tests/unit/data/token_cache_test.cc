// Token files and the sequences cut from them.
#include "engine/data/token_cache.h"

#include <fstream>
#include <iterator>
#include <vector>

#include "engine/data/sequences.h"
#include "tests/support/scratch.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

TokenFileInfo Example() {
  TokenFileInfo info;
  info.documents = 3;
  info.text_bytes = 9;
  info.files = {{"/a", 5, 1, "aa", 1, 0}, {"/b \"ü", 4, -2, "bb", 2, 6}};
  return info;
}

std::vector<TokenId> Tokens(int width) {
  const int first = width == 1 ? 100 : width == 2 ? 60000 : 200000;
  std::vector<TokenId> tokens;
  for (int i = first; i < first + 11; ++i) tokens.push_back(i);
  return tokens;
}

std::string WriteExample(const testing::Scratch& scratch, int width = 1) {
  const std::string path = scratch / "x.tokens";
  auto writer = TokenFileWriter::Create(PosixIo(), path, width);
  assert_ok(writer);
  const std::vector<TokenId> tokens = Tokens(width);
  assert_ok(writer->Append(std::span(tokens).first(3)));
  assert_ok(writer->Append(std::span(tokens).subspan(3)));
  assert_ok(writer->Finish(Example()));
  return path;
}

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ReadsWhatIsWritten(void**) {
  for (const int width : {1, 2, 4}) {
    const testing::Scratch scratch;
    const auto file = TokenFile::Open(PosixIo(), WriteExample(scratch, width));
    assert_ok(file);
    assert_int_equal(file->width(), width);
    std::vector<TokenId> tokens(11);
    file->Read(0, tokens);
    assert_true(tokens == Tokens(width));
    assert_int_equal(file->tokens(), 11);
    assert_true(file->info().files == Example().files);
    assert_int_equal(file->info().documents, 3);
    assert_int_equal(file->info().text_bytes, 9);
    assert_int_equal(file->info().largest_token, tokens.back());
    assert_int_equal(file->source_bytes(), 9);
    assert_text(file->FileOf(0).path, "/a");
    assert_text(file->FileOf(5).path, "/a");
    assert_text(file->FileOf(6).path, "/b \"ü");
    file->ReleasePages();
    file->Read(10, std::span(tokens).first(1));
    assert_int_equal(tokens[0], tokens[10]);
  }
}

void WidthFollowsTheVocabulary(void**) {
  const std::vector<std::pair<int64_t, int>> widths = {{2, 1},     {256, 1},   {257, 2},
                                                       {65536, 2}, {65537, 4}, {128256, 4}};
  for (const auto& [vocab_size, width] : widths) assert_int_equal(WidthFor(vocab_size), width);
}

void EveryDamageIsFound(void**) {
  const testing::Scratch scratch;
  const std::string path = WriteExample(scratch);
  const std::string good = Slurp(path);
  for (size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      assert_code(TokenFile::Open(PosixIo(), scratch.Write("d", damaged)), ErrorCode::DAMAGED_FILE);
    }
    assert_code(TokenFile::Open(PosixIo(), scratch.Write("d", good.substr(0, i))), ErrorCode::DAMAGED_FILE);
  }
  assert_code(TokenFile::Open(PosixIo(), scratch.Write("d", good + "x")), ErrorCode::DAMAGED_FILE);
}

void WriterRefusesWhatDoesNotFit(void**) {
  const testing::Scratch scratch;
  auto writer = TokenFileWriter::Create(PosixIo(), scratch / "x", 1);
  assert_ok(writer);
  const TokenId token = 256;
  assert_ok(writer->Append(std::span(&token, 1)));
  assert_code(writer->Finish(Example()), ErrorCode::INTERNAL);
}

void CutsSequences(void**) {
  assert_int_equal(SequenceCount(0, 4), 0);
  assert_int_equal(SequenceCount(4, 4), 0);
  assert_int_equal(SequenceCount(5, 4), 1);
  assert_int_equal(SequenceCount(8, 4), 1);
  assert_int_equal(SequenceCount(9, 4), 2);
  const testing::Scratch scratch;
  const auto file = TokenFile::Open(PosixIo(), WriteExample(scratch));
  assert_ok(file);
  assert_code(Sequences::Open({{&*file, "d"}}, 11), ErrorCode::DATA_TOO_SHORT);
  assert_int_equal(Sequences::Open({{&*file, "d"}}, 10)->count(), 1);
  auto sequences = Sequences::Open({{&*file, "d"}}, 4);
  assert_ok(sequences);
  assert_int_equal(sequences->count(), 2);
  std::vector<int32_t> inputs(4), targets(4);
  sequences->Read(1, inputs, targets);
  assert_true(inputs == (std::vector<int32_t>{104, 105, 106, 107}));
  assert_true(targets == (std::vector<int32_t>{105, 106, 107, 108}));
}

void SourcesAreNumberedOneAfterTheOther(void**) {
  const testing::Scratch scratch;
  const auto first = TokenFile::Open(PosixIo(), WriteExample(scratch));
  const testing::Scratch other;
  const auto second = TokenFile::Open(PosixIo(), WriteExample(other, 4));
  assert_ok(first);
  assert_ok(second);
  auto sequences = Sequences::Open({{&*first, "a"}, {&*second, "b"}}, 4);
  assert_ok(sequences);
  assert_int_equal(sequences->count(), 4);
  assert_true(sequences->counts() == (std::vector<int64_t>{2, 2}));
  std::vector<int32_t> inputs(4), targets(4);
  sequences->Read(1, inputs, targets);
  assert_int_equal(inputs[0], 104);
  sequences->Read(3, inputs, targets);
  assert_int_equal(inputs[0], 200004);
  assert_int_equal(targets[3], 200008);
}

int64_t ResidentFileBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::atoll(line.c_str() + 8) * 1024;
  }
  return 0;
}

// However much data is read, little of the mapping stays in the process.
void MappingStaysSmall(void**) {
  const testing::Scratch scratch;
  auto writer = TokenFileWriter::Create(PosixIo(), scratch / "big", 2);
  assert_ok(writer);
  const std::vector<TokenId> piece(1 << 20, 7);
  for (int i = 0; i < 32; ++i) assert_ok(writer->Append(piece));
  assert_ok(writer->Finish(Example()));
  const int64_t before = ResidentFileBytes();
  const auto file = TokenFile::Open(PosixIo(), scratch / "big");
  assert_ok(file);
  auto sequences = Sequences::Open({{&*file, "d"}}, 1024);
  std::vector<int32_t> inputs(1024), targets(1024);
  int64_t peak = 0;
  for (int64_t i = 0; i < sequences->count(); ++i) {
    sequences->Read(i * 7919 % sequences->count(), inputs, targets);
    if (i % 256 == 0) peak = std::max(peak, ResidentFileBytes());
  }
  assert_true(peak - before < 8 << 20);
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ReadsWhatIsWritten),
      cmocka_unit_test(EveryDamageIsFound),
      cmocka_unit_test(WidthFollowsTheVocabulary),
      cmocka_unit_test(WriterRefusesWhatDoesNotFit),
      cmocka_unit_test(CutsSequences),
      cmocka_unit_test(SourcesAreNumberedOneAfterTheOther),
      cmocka_unit_test(MappingStaysSmall),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
