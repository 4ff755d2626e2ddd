// The library behind the interface.
#include "engine/data/tokenizers/sentencepiece.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/limits.h"

namespace traind::data {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // ▁, written for a space

using Processor = sentencepiece::SentencePieceProcessor;

class SentencePieceEncoder : public DocumentEncoder {
 public:
  explicit SentencePieceEncoder(const Processor* processor) : processor_(processor) {}

  Status Append(std::string_view bytes, std::vector<TokenId>*) override {
    if (std::ssize(document_) + std::ssize(bytes) > kMaxWordBytes) {
      return Status(ErrorCode::TEXT_NOT_TOKENIZABLE,
                    fmt::format("SentencePiece must see a document whole, and one has more than {} bytes",
                                kMaxWordBytes),
                    "cut it into shorter documents, or use a byte-level BPE tokenizer");
    }
    document_ += bytes;
    return Ok();
  }

  Status Finish(std::vector<TokenId>* ids) override {
    std::vector<int> encoded;
    const auto status = processor_->Encode(document_, &encoded);
    document_.clear();
    if (!status.ok()) {
      return Status(ErrorCode::TEXT_NOT_TOKENIZABLE, fmt::format("SentencePiece: {}", status.message()));
    }
    ids->insert(ids->end(), encoded.begin(), encoded.end());
    return Ok();
  }

 private:
  const Processor* const processor_;
  std::string document_;
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  Status Load(std::string_view model) {
    const auto status = processor_.LoadFromSerializedProto(model);
    if (!status.ok()) {
      return Status(ErrorCode::DAMAGED_TOKENIZER,
                    fmt::format("no SentencePiece model: {}", status.message()));
    }
    if (processor_.eos_id() < 0) {
      return Status(ErrorCode::DAMAGED_TOKENIZER, "the SentencePiece model has no end-of-sentence token",
                    "train it with eos_id set; it is what ends a document");
    }
    if (processor_.bos_id() >= 0) prefix_.push_back(processor_.bos_id());
    key_ = "sentencepiece 1 " + Checksum(model);
    return Ok();
  }

  int64_t vocab_size() const override { return processor_.GetPieceSize(); }
  TokenId end_of_text() const override { return processor_.eos_id(); }
  const std::string& key() const override { return key_; }
  std::span<const TokenId> prefix() const override { return prefix_; }
  std::unique_ptr<DocumentEncoder> NewEncoder() const override {
    return std::make_unique<SentencePieceEncoder>(&processor_);
  }

  std::string BytesOf(TokenId id) const override {
    if (id < 0 || id >= processor_.GetPieceSize()) return {};
    const std::string& piece = processor_.IdToPiece(id);
    if (processor_.IsByte(id)) {
      return std::string(1, static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)));
    }
    std::string text;
    for (size_t at = 0; at < piece.size();) {
      const bool is_space = std::string_view(piece).substr(at).starts_with(kSpaceMark);
      text.push_back(is_space ? ' ' : piece[at]);
      at += is_space ? kSpaceMark.size() : 1;
    }
    return text;
  }

  bool IsSpecial(TokenId id) const override {
    return id >= 0 && id < processor_.GetPieceSize() && processor_.IsControl(id);
  }

  std::string Decode(std::span<const TokenId> ids) const override {
    std::string text = Tokenizer::Decode(ids);
    if (text.starts_with(' ')) text.erase(0, 1);  // of the word that a text begins with
    return text;
  }

 private:
  Processor processor_;
  std::string key_;
  std::vector<TokenId> prefix_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> MakeSentencePiece(std::string_view model) {
  auto tokenizer = std::make_unique<SentencePieceTokenizer>();
  TRAIND_TRY(tokenizer->Load(model));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

}  // namespace traind::data
