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
  info.tokens = 11;
  info.largest_token = 110;
  info.documents = {{"/a", 5, 1, "aa", 0}, {"/b \"ü", 4, -2, "bb", 6}};
  return info;
}

std::vector<Token> Tokens() {
  std::vector<Token> tokens;
  for (int i = 100; i < 111; ++i) tokens.push_back(static_cast<Token>(i));
  return tokens;
}

std::string WriteExample(const testing::Scratch& scratch) {
  const std::string path = scratch / "x.tokens";
  auto writer = TokenFileWriter::Create(PosixIo(), path, Example());
  assert_ok(writer);
  const std::vector<Token> tokens = Tokens();
  assert_ok(writer->Append(std::span(tokens).first(3)));
  assert_ok(writer->Append(std::span(tokens).subspan(3)));
  assert_ok(writer->Finish());
  return path;
}

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ReadsWhatIsWritten(void**) {
  const testing::Scratch scratch;
  const auto file = TokenFile::Open(PosixIo(), WriteExample(scratch));
  assert_ok(file);
  assert_true(std::vector(file->tokens().begin(), file->tokens().end()) == Tokens());
  assert_true(file->info().documents == Example().documents);
  assert_int_equal(file->info().largest_token, 110);
  assert_int_equal(file->source_bytes(), 9);
  assert_text(file->DocumentOf(0).path, "/a");
  assert_text(file->DocumentOf(5).path, "/a");
  assert_text(file->DocumentOf(6).path, "/b \"ü");
  file->ReleasePages();
  assert_int_equal(file->tokens()[10], 110);
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

void WriterCountsTokens(void**) {
  const testing::Scratch scratch;
  auto writer = TokenFileWriter::Create(PosixIo(), scratch / "x", Example());
  assert_ok(writer);
  assert_code(writer->Finish(), ErrorCode::INTERNAL);
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
  assert_code(Sequences::Open(*file, "d", 11), ErrorCode::DATA_TOO_SHORT);
  assert_int_equal(Sequences::Open(*file, "d", 10)->count(), 1);
  auto sequences = Sequences::Open(*file, "d", 4);
  assert_ok(sequences);
  assert_int_equal(sequences->count(), 2);
  std::vector<int32_t> inputs(4), targets(4);
  sequences->Read(1, inputs, targets);
  assert_true(inputs == (std::vector<int32_t>{104, 105, 106, 107}));
  assert_true(targets == (std::vector<int32_t>{105, 106, 107, 108}));
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
  TokenFileInfo info = Example();
  info.tokens = 32 << 20;
  auto writer = TokenFileWriter::Create(PosixIo(), scratch / "big", info);
  assert_ok(writer);
  const std::vector<Token> piece(1 << 20, 7);
  for (int64_t i = 0; i < info.tokens; i += std::ssize(piece)) assert_ok(writer->Append(piece));
  assert_ok(writer->Finish());
  const int64_t before = ResidentFileBytes();
  const auto file = TokenFile::Open(PosixIo(), scratch / "big");
  assert_ok(file);
  auto sequences = Sequences::Open(*file, "d", 1024);
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
      cmocka_unit_test(ReadsWhatIsWritten), cmocka_unit_test(EveryDamageIsFound),
      cmocka_unit_test(WriterCountsTokens), cmocka_unit_test(CutsSequences),
      cmocka_unit_test(MappingStaysSmall),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
