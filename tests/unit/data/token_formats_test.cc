// The formats against files made from their descriptions (tests/data/golden/make_datasets.py), and against
// what is left of them when bytes are missing, changed or swapped.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/data/prepare.h"
#include "tests/support/scratch.h"

#include "tests/support/test.h"

namespace traind::data {
namespace {

namespace fs = std::filesystem;

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Golden(const std::string& name) {
  const std::string content = Slurp("tests/data/golden/datasets/" + name);
  if (content.empty()) fail_msg("%s is missing", name.c_str());
  return content;
}

struct Fixture {
  testing::Scratch scratch;
  std::unique_ptr<Tokenizer> tokenizer = MakeByteTokenizer();
  PrepareOptions options{scratch / "cache", "test", tokenizer.get(), 200000, 2, "", {}};

  Result<PreparedData> Prepare(DataFormat format, const std::vector<std::string>& names) {
    DataSpec data{"d", {}, format, "text"};
    for (const std::string& name : names) data.patterns.push_back(scratch / name);
    return PrepareData(PosixIo(), data, options);
  }
  void Copy(const std::string& name) { scratch.Write(name, Golden(name)); }
};

std::vector<TokenId> Tokens(const PreparedData& data) {
  std::vector<TokenId> ids(static_cast<size_t>(data.file.tokens()));
  data.file.Read(0, ids);
  return ids;
}

const std::vector<TokenId> kGpt2 = {50256, 464, 717, 3188, 13, 50256, 464, 938, 13};

void ReadsLines(void**) {
  Fixture f;
  f.Copy("lines.jsonl");
  const auto data = f.Prepare(DataFormat::kJsonl, {"lines.jsonl"});
  assert_ok(data);
  const std::vector<TokenId> ids = Tokens(*data);
  const std::string expected =
      std::string("The first document.\0\0", 21) + "Größe, 中文, 😀 and\n\"quotes\"\\." + '\0' + "The last.";
  assert_int_equal(ids.size(), expected.size());
  for (size_t i = 0; i < ids.size(); ++i) assert_int_equal(ids[i], static_cast<unsigned char>(expected[i]));
  assert_int_equal(data->file.info().documents, 4);
  assert_int_equal(data->file.info().text_bytes, std::ssize(expected) - 3);
  assert_int_equal(data->file.width(), 1);
}

void TheFieldIsPartOfTheKey(void**) {
  Fixture f;
  f.scratch.Write("x.jsonl", "{\"text\":\"one\",\"body\":\"two\"}\n");
  DataSpec data{"d", {f.scratch / "x.jsonl"}, DataFormat::kJsonl, "text"};
  const auto text = PrepareData(PosixIo(), data, f.options);
  data.text_field = "body";
  const auto body = PrepareData(PosixIo(), data, f.options);
  data.format = DataFormat::kText;
  const auto whole = PrepareData(PosixIo(), data, f.options);
  assert_ok(text);
  assert_ok(body);
  assert_ok(whole);
  assert_true(text->key != body->key && body->key != whole->key && text->key != whole->key);
  assert_int_equal(Tokens(*body)[0], 't');
}

void ReadsLlmcShards(void**) {
  Fixture f;
  f.Copy("gpt2.bin");
  f.scratch.Write("gpt2b.bin", Golden("gpt2.bin"));
  const auto one = f.Prepare(DataFormat::kLlmc, {"gpt2.bin"});
  assert_ok(one);
  assert_true(Tokens(*one) == kGpt2);
  assert_int_equal(one->file.width(), 2);
  assert_int_equal(one->file.info().largest_token, 50256);
  assert_int_equal(one->file.info().text_bytes, 0);
  const auto two = f.Prepare(DataFormat::kLlmc, {"gpt2*.bin"});
  assert_ok(two);
  assert_int_equal(two->file.tokens(), 18);  // one after the other, nothing put between
  assert_int_equal(two->file.info().files[1].token_begin, 9);
  f.Copy("llama3.bin");
  const auto llama = f.Prepare(DataFormat::kLlmc, {"llama3.bin"});
  assert_ok(llama);
  assert_true(Tokens(*llama) == (std::vector<TokenId>{128000, 791, 1176, 2246, 13, 128001}));
  assert_int_equal(llama->file.width(), 4);
  const Status mixed = f.Prepare(DataFormat::kLlmc, {"gpt2.bin", "llama3.bin"}).status();
  assert_code(mixed, ErrorCode::DAMAGED_FILE);
  assert_non_null(strstr(mixed.message().c_str(), "llama3.bin: its tokens are uint32"));
}

void ReadsMegatronPairs(void**) {
  for (const char* type : {"uint16", "int32", "int64"}) {
    Fixture f;
    const std::string name = std::string("megatron_") + type;
    f.Copy(name + ".idx");
    f.Copy(name + ".bin");
    const auto data = f.Prepare(DataFormat::kMegatron, {name + ".idx"});
    assert_ok(data);
    assert_true(Tokens(*data) == kGpt2);
    assert_int_equal(data->file.info().documents, 2);
    assert_int_equal(data->file.info().files.size(), 2);
  }
}

void TokensOutsideTheVocabularyAreNamed(void**) {
  struct Case {
    DataFormat format;
    const char* name;
    const char* place;
    int64_t vocab_size;
  };
  for (const Case& c : {Case{DataFormat::kLlmc, "gpt2.bin", "gpt2.bin: token 50256 at byte 1024", 50256},
                        Case{DataFormat::kLlmc, "llama3.bin", "llama3.bin: token 128000 at byte 1024", 50257},
                        Case{DataFormat::kMegatron, "megatron_int64.idx",
                             "megatron_int64.bin: token 50256 at byte 0", 50256}}) {
    Fixture f;
    f.Copy(c.name);
    if (c.format == DataFormat::kMegatron) f.Copy("megatron_int64.bin");
    assert_ok(f.Prepare(c.format, {c.name}));
    f.options.vocab_size = c.vocab_size;
    for (int round = 0; round < 2; ++round) {  // with a cache, and without one
      const Status status = f.Prepare(c.format, {c.name}).status();
      assert_code(status, ErrorCode::TOKEN_OUT_OF_RANGE);
      if (strstr(status.message().c_str(), c.place) == nullptr) fail_msg("%s", status.message().c_str());
      fs::remove_all(f.scratch / "cache");
    }
  }
  Fixture f;
  f.Copy("megatron_int32.idx");
  std::string tokens = Golden("megatron_int32.bin");
  tokens.replace(4, 4, "\xff\xff\xff\xff");
  f.scratch.Write("megatron_int32.bin", tokens);
  const Status negative = f.Prepare(DataFormat::kMegatron, {"megatron_int32.idx"}).status();
  assert_code(negative, ErrorCode::TOKEN_OUT_OF_RANGE);
  assert_non_null(strstr(negative.message().c_str(), "megatron_int32.bin: token -1 at byte 4"));
}

// Every prefix of a file is refused, by a code that a user can act on, with the file's name.
void EveryCutIsRefused(void**) {
  struct Case {
    DataFormat format;
    std::string name;
    std::string other;
  };
  for (const Case& c : {Case{DataFormat::kLlmc, "gpt2.bin", ""}, Case{DataFormat::kLlmc, "llama3.bin", ""},
                        Case{DataFormat::kMegatron, "megatron_uint16.idx", "megatron_uint16.bin"},
                        Case{DataFormat::kMegatron, "megatron_uint16.bin", "megatron_uint16.idx"}}) {
    Fixture f;
    if (!c.other.empty()) f.Copy(c.other);
    const std::string whole = Golden(c.name);
    const std::string asked = c.format == DataFormat::kMegatron ? "megatron_uint16.idx" : c.name;
    const auto refuse = [&](const std::string& content) {
      f.scratch.Write(c.name, content);
      const Status status = f.Prepare(c.format, {asked}).status();
      const ErrorCode wanted = content.empty() ? ErrorCode::EMPTY_FILE : ErrorCode::DAMAGED_FILE;
      assert_code(status, wanted);
      assert_non_null(strstr(status.message().c_str(), c.name.c_str()));
    };
    for (size_t length = 0; length < whole.size(); ++length) refuse(whole.substr(0, length));
    refuse(whole + "x");
    refuse(whole + std::string(8, '\0'));
  }
}

// Every byte of a header or index that is changed is noticed, or changes nothing that is read.
void EveryChangedByteIsNoticed(void**) {
  Fixture f;
  f.Copy("megatron_uint16.bin");
  const std::string index = Golden("megatron_uint16.idx");
  for (size_t i = 0; i < index.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = index;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      f.scratch.Write("megatron_uint16.idx", changed);
      const auto data = f.Prepare(DataFormat::kMegatron, {"megatron_uint16.idx"});
      // The borders of documents inside the data are the one thing that may differ and still make sense.
      if (data.ok()) {
        assert_true(i >= index.size() - 16 && i < index.size() - 8);
      } else {
        assert_code(data, ErrorCode::DAMAGED_FILE);
      }
    }
  }
  const std::string shard = Golden("gpt2.bin");
  for (size_t i = 0; i < 12; ++i) {
    std::string changed = shard;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    f.scratch.Write("gpt2.bin", changed);
    assert_code(f.Prepare(DataFormat::kLlmc, {"gpt2.bin"}), ErrorCode::DAMAGED_FILE);
  }
}

void PutNumber(std::string* bytes, size_t offset, uint64_t value, size_t width) {
  std::memcpy(bytes->data() + offset, &value, width);
}

void HugeNumbersAreRefused(void**) {
  Fixture f;
  f.Copy("megatron_uint16.bin");
  const std::string index = Golden("megatron_uint16.idx");
  for (const size_t offset : {size_t{18}, size_t{26}, size_t{50}, size_t{58}, size_t{82}, size_t{98}}) {
    for (const uint64_t value : {uint64_t{1} << 63, ~uint64_t{0}, uint64_t{1} << 61, uint64_t{1} << 40}) {
      std::string changed = index;
      PutNumber(&changed, offset, value, 8);
      f.scratch.Write("megatron_uint16.idx", changed);
      assert_code(f.Prepare(DataFormat::kMegatron, {"megatron_uint16.idx"}), ErrorCode::DAMAGED_FILE);
    }
  }
  std::string shard = Golden("gpt2.bin");
  for (const uint64_t count : {uint64_t{0x7fffffff}, uint64_t{0x80000000}, uint64_t{0xffffffff}}) {
    PutNumber(&shard, 8, count, 4);
    f.scratch.Write("gpt2.bin", shard);
    assert_code(f.Prepare(DataFormat::kLlmc, {"gpt2.bin"}), ErrorCode::DAMAGED_FILE);
  }
  PutNumber(&shard, 8, 0, 4);
  f.scratch.Write("gpt2.bin", shard.substr(0, 1024));
  assert_code(f.Prepare(DataFormat::kLlmc, {"gpt2.bin"}), ErrorCode::EMPTY_FILE);
}

void APairNeedsBoth(void**) {
  Fixture f;
  f.Copy("megatron_uint16.idx");
  const Status missing = f.Prepare(DataFormat::kMegatron, {"*.idx"}).status();
  assert_code(missing, ErrorCode::FILE_NOT_FOUND);
  assert_non_null(strstr(missing.message().c_str(), "megatron_uint16.bin"));
  f.Copy("megatron_uint16.bin");
  assert_code(f.Prepare(DataFormat::kMegatron, {"*.bin"}), ErrorCode::DAMAGED_FILE);
}

// Modes make an index of multimodal data: one more byte a sequence.
void MultimodalDataIsRefused(void**) {
  Fixture f;
  f.Copy("megatron_uint16.bin");
  f.scratch.Write("megatron_uint16.idx", Golden("megatron_uint16.idx") + std::string(4, '\0'));
  const Status status = f.Prepare(DataFormat::kMegatron, {"*.idx"}).status();
  assert_code(status, ErrorCode::DAMAGED_FILE);
  assert_non_null(strstr(status.message().c_str(), "multimodal"));
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ReadsLines),
      cmocka_unit_test(TheFieldIsPartOfTheKey),
      cmocka_unit_test(ReadsLlmcShards),
      cmocka_unit_test(ReadsMegatronPairs),
      cmocka_unit_test(TokensOutsideTheVocabularyAreNamed),
      cmocka_unit_test(EveryCutIsRefused),
      cmocka_unit_test(EveryChangedByteIsNoticed),
      cmocka_unit_test(HugeNumbersAreRefused),
      cmocka_unit_test(APairNeedsBoth),
      cmocka_unit_test(MultimodalDataIsRefused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
