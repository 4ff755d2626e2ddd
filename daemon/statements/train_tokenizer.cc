// TRAIN TOKENIZER: a vocabulary learned from data.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/bind/data.h"
#include "daemon/bind/options.h"
#include "daemon/statements/make_tokenizer.h"
#include "daemon/statements/statements.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

constexpr int64_t kLeastTokens = 257;  // end-of-text and the bytes
constexpr std::string_view kKnownPatterns[] = {"gpt2", "llama3", "qwen"};

Status BindSettings(const grammar::TrainTokenizer& statement, TokenizerTask* task) {
  TRAIND_ASSIGN(const BoundOptions options,
                BindOptions(OptionList::kTrainTokenizer, statement.using_options));
  const BoundOption* vocab_size = options.Find("vocab_size");
  if (vocab_size == nullptr) {
    return Status(ErrorCode::MISSING_OPTION, "USING (…) must give vocab_size",
                  "USING (vocab_size=16000), say")
        .At(statement.using_options.empty() ? statement.position : statement.using_position);
  }
  task->vocab_size = vocab_size->integer;
  if (task->vocab_size < kLeastTokens) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("vocab_size is {}; end-of-text and the bytes alone are {} tokens",
                              task->vocab_size, kLeastTokens))
        .At(vocab_size->key);
  }
  const BoundOption* least = options.Find("min_frequency");
  task->min_frequency = least == nullptr ? 2 : least->integer;
  const BoundOption* pattern = options.Find("pattern");
  task->pattern = pattern == nullptr ? std::string(kKnownPatterns[0]) : pattern->text;
  if (std::ranges::find(kKnownPatterns, task->pattern) != std::end(kKnownPatterns)) return {};
  return Status(ErrorCode::INVALID_OPTION, fmt::format("there is no pattern {}", task->pattern),
                "known: gpt2, llama3, qwen")
      .At(pattern->key);
}

// As it is kept: data sets by name, files absolute, every setting written out.
std::string Canonical(const grammar::TrainTokenizer& statement, const TokenizerTask& task) {
  grammar::TrainTokenizer canonical = statement;
  canonical.or_replace = false;
  canonical.if_not_exists = false;
  for (size_t i = 0; i < canonical.sources.size(); ++i) {
    grammar::Value& value = canonical.sources[i].value;
    if (value.kind == grammar::Value::Kind::kString) value.text = task.data[i].patterns.front();
  }
  const auto option = [](std::string_view key, grammar::Value value) {
    grammar::Option written;
    written.key.text = key;
    written.value = std::move(value);
    return written;
  };
  const auto number = [](int64_t count) {
    grammar::Value value;
    value.kind = grammar::Value::Kind::kQuantity;
    value.quantity = {static_cast<double>(count), true, count, Dimension::kNumber};
    return value;
  };
  grammar::Value pattern;
  pattern.kind = grammar::Value::Kind::kWord;
  pattern.text = task.pattern;
  canonical.using_options = {option("vocab_size", number(task.vocab_size)),
                             option("min_frequency", number(task.min_frequency)), option("pattern", pattern)};
  return grammar::Print(canonical);
}

}  // namespace

Result<Outcome> Run(const grammar::TrainTokenizer& statement, const Context& context) {
  WantedTokenizer wanted;
  wanted.name = statement.name;
  wanted.or_replace = statement.or_replace;
  wanted.if_not_exists = statement.if_not_exists;
  TRAIND_TRY(BindSettings(statement, &wanted.task));
  for (const grammar::Source& source : statement.sources) {
    if (source.weight) {
      return Status(ErrorCode::INVALID_OPTION, "WEIGHT does not go with a tokenizer: every word counts once")
          .At(source.weight_position);
    }
    TRAIND_ASSIGN(BoundData data, BindSource(source, context));
    if (IsTokenized(data.spec.format)) {
      return Status(ErrorCode::INVALID_OPTION, fmt::format("{} holds tokens ({}), not text", data.spec.name,
                                                           DataFormatName(data.spec.format)))
          .At(source.value.position);
    }
    wanted.task.data.push_back(std::move(data.spec));
  }
  wanted.statement = Canonical(statement, wanted.task);
  return MakeTokenizer(std::move(wanted), context);
}

}  // namespace traind::daemon
