// Tokenizers of statements.
#include "daemon/bind/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/base/nearest.h"

namespace traind::daemon {
namespace {

constexpr int64_t kCheckedTokens = 1;

}  // namespace

Result<std::optional<TokenizerRecord>> FindTokenizerIfAny(const std::string& name, const Context& context) {
  const auto checked = context.session.checked_tokenizers.find(name);
  if (context.check && checked != context.session.checked_tokenizers.end()) {
    if (!checked->second) return std::optional<TokenizerRecord>();
    TokenizerRecord tokenizer;
    tokenizer.id = INT64_MAX;  // none has it; what is only checked is not stored
    tokenizer.name = name;
    tokenizer.facts.vocab_size = *checked->second;
    return std::optional(std::move(tokenizer));
  }
  return LookUpTokenizer(context.reader, name);
}

Result<TokenizerRecord> FindTokenizer(const std::string& name, SourcePosition position,
                                      const Context& context) {
  TRAIND_ASSIGN(auto tokenizer, FindTokenizerIfAny(name, context));
  if (tokenizer) return *std::move(tokenizer);
  TRAIND_ASSIGN(const std::vector<std::string> names, TokenizerNames(context.reader));
  const std::string nearest = NearestWord(name, std::vector<std::string_view>(names.begin(), names.end()));
  return Status(ErrorCode::NO_SUCH_TOKENIZER, fmt::format("there is no tokenizer {}", name),
                nearest.empty() ? "SHOW TOKENIZERS lists them; CREATE or TRAIN TOKENIZER makes one"
                                : fmt::format("did you mean {}? SHOW TOKENIZERS lists them", nearest))
      .At(position);
}

Status TakeTokenizer(const BoundOptions& options, SourcePosition position, const Context& context,
                     ModelSpec* model) {
  if (model->tokenizer == kBytes) {
    model->tokenizer_id = 0;
    model->end_of_text = 0;
    return {};
  }
  TRAIND_ASSIGN(const TokenizerRecord tokenizer,
                FindTokenizer(model->tokenizer, options.KeyPosition("tokenizer", position), context));
  // Not known (0) when a script is only checked: its CREATE TOKENIZER reads no file.
  const int64_t tokens = std::max<int64_t>(kCheckedTokens, tokenizer.facts.vocab_size);
  const bool is_given = options.Find("vocab_size") != nullptr;
  if (!is_given && (options.Find("tokenizer") != nullptr || model->vocab_size < tokens)) {
    model->vocab_size = tokens;
  }
  if (model->vocab_size < tokens) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("vocab_size is {}; the tokenizer {} has {} tokens", model->vocab_size,
                              tokenizer.name, tokens),
                  "leave vocab_size out, or give at least as many")
        .At(options.KeyPosition("vocab_size", position));
  }
  model->tokenizer_id = tokenizer.id;
  model->end_of_text = tokenizer.facts.end_of_text_id;
  return {};
}

}  // namespace traind::daemon
