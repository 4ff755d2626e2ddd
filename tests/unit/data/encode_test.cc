// Batches of documents: the same ids whatever the threads, the sizes, and the pieces they come in.
#include "engine/data/encode.h"

#include <random>
#include <string>
#include <vector>

#include "tests/support/test.h"

namespace traind::data {
namespace {

// A token is a run of one letter: its ids depend on where a document is cut, so that cuts show.
class RunEncoder : public DocumentEncoder {
 public:
  Status Append(std::string_view bytes, std::vector<TokenId>* ids) override {
    for (const char byte : bytes) {
      if (byte == '!') return Status(ErrorCode::TEXT_NOT_TOKENIZABLE, "an exclamation mark");
      if (length_ > 0 && byte == letter_) {
        ++length_;
        continue;
      }
      Give(ids);
      letter_ = byte;
      length_ = 1;
    }
    return Ok();
  }
  Status Finish(std::vector<TokenId>* ids) override {
    Give(ids);
    return Ok();
  }

 private:
  void Give(std::vector<TokenId>* ids) {
    if (length_ > 0) ids->push_back(letter_ * 1000 + length_);
    length_ = 0;
  }

  char letter_ = 0;
  int length_ = 0;
};

class RunTokenizer : public Tokenizer {
 public:
  int64_t vocab_size() const override { return 1 << 20; }
  TokenId end_of_text() const override { return 0; }
  const std::string& key() const override { return key_; }
  std::unique_ptr<DocumentEncoder> NewEncoder() const override { return std::make_unique<RunEncoder>(); }
  std::string BytesOf(TokenId) const override { return {}; }
  bool IsSpecial(TokenId) const override { return false; }

 private:
  std::string key_ = "runs";
};

struct Collected : DocumentSink {
  std::vector<std::vector<TokenId>> documents;
  std::vector<int64_t> offsets;

  Status BeginDocument(const DocumentPlace& place) override {
    offsets.push_back(place.offset);
    documents.emplace_back();
    return Ok();
  }
  Status AppendTokens(std::span<const TokenId> ids) override {
    documents.back().insert(documents.back().end(), ids.begin(), ids.end());
    return Ok();
  }
  Status Explain(const DocumentPlace& place, Status error) const override {
    return Status(error.code(), "document " + std::to_string(place.offset) + ": " + error.message());
  }
};

std::string RandomText(std::mt19937_64& random, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text.append(1 + random() % 50, static_cast<char>('a' + random() % 3));
  text.resize(bytes);
  return text;
}

Status Run(DocumentBatches* batches, const std::vector<std::string>& texts, size_t piece) {
  for (size_t i = 0; i < texts.size(); ++i) {
    TRAIND_TRY(batches->Begin({0, static_cast<int64_t>(i), 0}));
    for (size_t at = 0; at < texts[i].size(); at += piece) {
      TRAIND_TRY(batches->Append(std::string_view(texts[i]).substr(at, piece)));
    }
    TRAIND_TRY(batches->End());
  }
  return batches->Flush();
}

void SameIdsHoweverItIsDone(void**) {
  const RunTokenizer tokenizer;
  std::mt19937_64 random(1);
  std::vector<std::string> texts = {"", "a", ""};
  constexpr size_t kMega = 1 << 20;
  for (const size_t bytes : {kMega - 1, kMega, kMega + 1, 3 * kMega + 7, size_t{0}, 2 * kMega}) {
    texts.push_back(RandomText(random, bytes));
    for (int i = 0; i < 40; ++i) texts.push_back(RandomText(random, random() % 20000));
  }
  std::vector<std::vector<TokenId>> expected(texts.size());
  int64_t bytes = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    assert_ok(tokenizer.Encode(texts[i], &expected[i]));
    bytes += std::ssize(texts[i]);
  }
  for (const int threads : {1, 2, 5}) {
    for (const size_t piece : {size_t{1000}, size_t{262144}, 5 * kMega}) {
      Collected collected;
      DocumentBatches batches(
          tokenizer, threads, [] { return Ok(); }, &collected);
      assert_ok(Run(&batches, texts, piece));
      assert_true(collected.documents == expected);
      assert_int_equal(batches.text_bytes(), bytes);
      for (size_t i = 0; i < texts.size(); ++i)
        assert_int_equal(collected.offsets[i], static_cast<int64_t>(i));
    }
  }
}

void ErrorsNameTheirDocument(void**) {
  const RunTokenizer tokenizer;
  for (const size_t large : {size_t{10}, size_t{3} << 20}) {
    std::vector<std::string> texts(50, "abc");
    texts[30] = std::string(large, 'x') + "!";
    Collected collected;
    DocumentBatches batches(
        tokenizer, 2, [] { return Ok(); }, &collected);
    const Status status = Run(&batches, texts, 4096);
    assert_code(status, ErrorCode::TEXT_NOT_TOKENIZABLE);
    assert_text(status.message(), "document 30: an exclamation mark");
    assert_int_equal(collected.documents.size(), large > 100 ? 31 : 30);
  }
}

void StopsWhenAsked(void**) {
  const RunTokenizer tokenizer;
  Collected collected;
  int polls = 0;
  DocumentBatches batches(
      tokenizer, 2, [&] { return ++polls > 3 ? Status(ErrorCode::INTERRUPTED, "stop") : Ok(); }, &collected);
  assert_code(Run(&batches, {std::string(8 << 20, 'x')}, 8 << 20), ErrorCode::INTERRUPTED);
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(SameIdsHoweverItIsDone),
      cmocka_unit_test(ErrorsNameTheirDocument),
      cmocka_unit_test(StopsWhenAsked),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
