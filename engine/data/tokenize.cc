// Text through the tokenizer, token files as they are.
#include "engine/data/tokenize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/data/encode.h"
#include "engine/data/jsonl.h"
#include "engine/data/llmc.h"
#include "engine/data/megatron.h"
#include "engine/data/text_validator.h"

namespace traind::data {
namespace {

// Writes tokens, or only counts them; keeps the rows of the files up to date.
class Output : public DocumentSink {
 public:
  Output(const TokenizeRequest& request, TokenFileInfo* info) : request_(request), info_(info) {}

  Status Open(Io& io, const std::string& path, int width) {
    if (path.empty()) return Ok();
    TRAIND_ASSIGN(writer_, TokenFileWriter::Create(io, path, width));
    return Ok();
  }

  Status BeginDocument(const DocumentPlace& place) override {
    place_ = place;
    index_ = 0;
    if (info_->documents > 0) {
      const TokenId end_of_text = request_.options.tokenizer->end_of_text();
      TRAIND_TRY(Write(std::span(&end_of_text, 1)));
    }
    AddDocuments(place.file, 1);
    return Ok();
  }

  Status AppendTokens(std::span<const TokenId> ids) override {
    const int64_t vocab_size = request_.options.vocab_size;
    const auto bad = std::ranges::find_if(ids, [&](TokenId id) { return id >= vocab_size; });
    if (bad != ids.end()) return OutOfRange(*bad, index_ + (bad - ids.begin()));
    index_ += std::ssize(ids);
    return Write(ids);
  }

  // More documents of `file`, whose first token comes next if it had none.
  void AddDocuments(size_t file, int64_t documents) {
    TokenizedFile& row = info_->files[file];
    if (row.documents == 0) row.token_begin = info_->tokens;
    row.documents += documents;
    info_->documents += documents;
  }

  Status Write(std::span<const TokenId> ids) {
    info_->tokens += std::ssize(ids);
    return writer_ ? writer_->Append(ids) : Ok();
  }

  Status Finish() { return writer_ ? writer_->Finish(*info_) : Ok(); }

  Status Explain(const DocumentPlace& place, Status error) const override {
    return Status(error.code(), fmt::format("{}: {}", TextOf(place), error.message()), error.hint());
  }

 private:
  std::string TextOf(const DocumentPlace& place) const {
    const std::string& path = request_.sources[place.file].path;
    return place.line > 0 ? fmt::format("{}: line {} (byte {})", path, place.line, place.offset) : path;
  }

  Status OutOfRange(TokenId id, int64_t index) const {
    const bool bytes = request_.options.tokenizer->nul_is_end_of_text();
    const std::string where = bytes && place_.line == 0 ? fmt::format("at byte {}", index)
                                                        : fmt::format("(number {} of the document)", index);
    const std::string what = fmt::format("{}: token {} {} is not below the model's vocab_size {}",
                                         TextOf(place_), id, where, request_.options.vocab_size);
    return Status(
        ErrorCode::TOKEN_OUT_OF_RANGE, what,
        bytes ? "the byte tokenizer needs vocab_size = 256 for any text, 128 for ASCII"
              : fmt::format("the tokenizer needs vocab_size = {}", request_.options.tokenizer->vocab_size()));
  }

  const TokenizeRequest& request_;
  TokenFileInfo* const info_;
  std::optional<TokenFileWriter> writer_;
  DocumentPlace place_;  // of the document that is being written
  int64_t index_ = 0;    // of its next token
};

// Where bytes are tokens, handing them to threads would cost more than it saves.
int ThreadsFor(const PrepareOptions& options) {
  return options.tokenizer->nul_is_end_of_text() ? 1 : options.threads;
}

// Text and JSONL.
class TextTokenizer {
 public:
  TextTokenizer(Io& io, const TokenizeRequest& request, Output* output)
      : io_(io),
        request_(request),
        tokenizer_(*request.options.tokenizer),
        batches_(tokenizer_, ThreadsFor(request.options), request.poll, output) {}

  Status Run(TokenFileInfo* info) {
    for (size_t file = 0; file < request_.sources.size(); ++file) {
      TRAIND_TRY(request_.data.format == DataFormat::kText ? ReadText(file) : ReadJsonl(file));
    }
    TRAIND_TRY(batches_.Flush());
    info->text_bytes = batches_.text_bytes();
    return Ok();
  }

 private:
  Status ReadText(size_t file) {
    const SourceFile& source = request_.sources[file];
    TextValidator validator(tokenizer_.nul_is_end_of_text());
    std::string begin;
    const auto explain = [&](const TextProblem& problem) {
      return ExplainText(source, problem.kind, fmt::format("byte {}", problem.offset), begin);
    };
    TRAIND_TRY(batches_.Begin({file, 0, 0}));
    const auto take = [&](std::string_view piece) -> Status {
      TRAIND_TRY(request_.watch(file, piece));
      if (begin.empty()) begin = piece.substr(0, 2);
      if (const auto problem = validator.Check(piece)) return explain(*problem);
      return batches_.Append(piece);
    };
    TRAIND_TRY(ReadPieces(io_, source, take));
    if (const auto problem = validator.Finish()) return explain(*problem);
    return batches_.End();
  }

  Status ReadJsonl(size_t file) {
    const SourceFile& source = request_.sources[file];
    JsonlReader reader(source, request_.data.text_field, tokenizer_.nul_is_end_of_text(),
                       [&](const JsonlReader::Document& document) -> Status {
                         TRAIND_TRY(batches_.Begin({file, document.offset, document.line}));
                         TRAIND_TRY(batches_.Append(document.text));
                         return batches_.End();
                       });
    const auto take = [&](std::string_view piece) -> Status {
      TRAIND_TRY(request_.watch(file, piece));
      return reader.Append(piece);
    };
    TRAIND_TRY(ReadPieces(io_, source, take));
    return reader.Finish();
  }

  Io& io_;
  const TokenizeRequest& request_;
  const Tokenizer& tokenizer_;
  DocumentBatches batches_;
};

// The first vocabulary whose ids fit the type.
int64_t RangeOf(RawType type) {
  constexpr int64_t kByte = 1 << 8;
  constexpr int64_t kTwoBytes = 1 << 16;
  if (BytesOf(type) == 1) return kByte;
  return BytesOf(type) == 2 ? kTwoBytes : kTwoBytes + 1;
}

// llm.c's shards and Megatron's pairs.
class TokenCopier {
 public:
  TokenCopier(Io& io, const TokenizeRequest& request, Output* output)
      : io_(io), request_(request), output_(output) {}

  Status Run(const std::string& path) {
    const bool pairs = request_.data.format == DataFormat::kMegatron;
    for (size_t file = 0; file < request_.sources.size(); file += pairs ? 2 : 1) {
      TRAIND_TRY(pairs ? CopyPair(file, path) : CopyShard(file, path));
    }
    return Ok();
  }

 private:
  Status CopyShard(size_t file, const std::string& path) {
    TRAIND_ASSIGN(const RawTokens tokens, OpenLlmc(io_, request_.sources[file]));
    return Copy(file, tokens, 1, path);
  }

  Status CopyPair(size_t file, const std::string& path) {
    const SourceFile& index = request_.sources[file];
    TRAIND_ASSIGN(const MegatronIndex opened,
                  OpenMegatron(io_, index, request_.sources[file + 1], request_.poll));
    TRAIND_TRY(ReadPieces(io_, index, [&](std::string_view piece) { return request_.watch(file, piece); }));
    return Copy(file + 1, opened.tokens, opened.documents, path);
  }

  Status Copy(size_t file, const RawTokens& tokens, int64_t documents, const std::string& path) {
    const SourceFile& source = request_.sources[file];
    if (!first_) {
      first_ = tokens.type;
      const int64_t range = std::min(RangeOf(tokens.type), request_.options.vocab_size);
      TRAIND_TRY(output_->Open(io_, path, WidthFor(range)));
    } else if (*first_ != tokens.type) {
      return Status(ErrorCode::DAMAGED_FILE,
                    fmt::format("{}: its tokens are {}, those of the files before it {}", source.path,
                                NameOf(tokens.type), NameOf(*first_)),
                    "one data set holds tokens of one vocabulary: make two");
    }
    output_->AddDocuments(file, documents);
    return ReadRawTokens(
        io_, source, tokens, request_.options.vocab_size,
        [&](std::string_view piece) { return request_.watch(file, piece); },
        [&](std::span<const TokenId> ids) { return output_->Write(ids); });
  }

  Io& io_;
  const TokenizeRequest& request_;
  Output* const output_;
  std::optional<RawType> first_;
};

}  // namespace

Status Tokenize(Io& io, const TokenizeRequest& request, const std::string& path, TokenFileInfo* info) {
  Output output(request, info);
  if (IsTokenized(request.data.format)) {
    TRAIND_TRY(TokenCopier(io, request, &output).Run(path));
  } else {
    TRAIND_TRY(output.Open(io, path, WidthFor(request.options.tokenizer->vocab_size())));
    TRAIND_TRY(TextTokenizer(io, request, &output).Run(info));
  }
  return output.Finish();
}

}  // namespace traind::data
