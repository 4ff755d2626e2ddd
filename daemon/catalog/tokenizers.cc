// Tokenizers in the catalog.
#include "daemon/catalog/tokenizers.h"

#include <fmt/format.h>

#include "daemon/catalog/row.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"

namespace traind::daemon {
namespace {

constexpr size_t kNamedModels = 3;
constexpr std::string_view kNewPrefix = "new-";

std::string SomeOf(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamedModels; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamedModels) text += fmt::format(" and {} more", names.size() - kNamedModels);
  return text;
}

}  // namespace

Result<std::optional<TokenizerRecord>> LookUpTokenizer(Connection& connection, std::string_view name) {
  TRAIND_ASSIGN(const auto cells,
                connection.QueryRow("SELECT id, name, kind, vocab_size, end_of_text, end_of_text_id, key, "
                                    "bytes, statement FROM main._tokenizers WHERE name = ?1",
                                    {std::string(name)}));
  if (!cells) return std::optional<TokenizerRecord>();
  RowReader row(*cells);
  TokenizerRecord tokenizer;
  tokenizer.id = row.Int();
  tokenizer.name = row.Text();
  tokenizer.facts.kind = row.Text();
  tokenizer.facts.vocab_size = row.Int();
  tokenizer.facts.end_of_text = row.Text();
  tokenizer.facts.end_of_text_id = row.Int();
  tokenizer.facts.key = row.Text();
  tokenizer.facts.bytes = row.Int();
  tokenizer.statement = row.Text();
  return std::optional(std::move(tokenizer));
}

Result<std::vector<std::string>> TokenizerNames(Connection& connection) {
  TRAIND_ASSIGN(const auto rows, connection.Query("SELECT name FROM main._tokenizers ORDER BY name"));
  std::vector<std::string> names = {std::string(kBytes)};
  for (const auto& row : rows) names.push_back(RowReader(row).Text());
  return names;
}

Result<std::vector<std::string>> ModelsOfTokenizer(Connection& connection, int64_t id) {
  TRAIND_ASSIGN(const auto rows,
                connection.Query("SELECT name FROM main._models WHERE spec ->> '$.tokenizer_id' = ?1 "
                                 "ORDER BY name",
                                 {id}));
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(RowReader(row).Text());
  return names;
}

Result<int64_t> InsertTokenizer(Transaction& transaction, const TokenizerRecord& tokenizer, double now) {
  TRAIND_ASSIGN(const auto existing, LookUpTokenizer(transaction, tokenizer.name));
  if (existing) {
    return Status(ErrorCode::TOKENIZER_EXISTS, fmt::format("a tokenizer {} exists", tokenizer.name),
                  "IF NOT EXISTS leaves it, OR REPLACE replaces it");
  }
  const TokenizerFacts& facts = tokenizer.facts;
  TRAIND_TRY(
      transaction.Run("INSERT INTO _tokenizers(name, kind, vocab_size, end_of_text, end_of_text_id, key, "
                      "bytes, statement, created_at) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)",
                      {tokenizer.name, facts.kind, facts.vocab_size, facts.end_of_text, facts.end_of_text_id,
                       facts.key, facts.bytes, tokenizer.statement, now}));
  return transaction.last_insert_id();
}

Status DeleteTokenizer(Transaction& transaction, const TokenizerRecord& tokenizer) {
  TRAIND_ASSIGN(const std::vector<std::string> models, ModelsOfTokenizer(transaction, tokenizer.id));
  if (!models.empty()) {
    return Status(ErrorCode::TOKENIZER_IN_USE,
                  fmt::format("{} is used by {} model{}: {}", tokenizer.name, models.size(),
                              models.size() == 1 ? "" : "s", SomeOf(models)),
                  "drop them first, or give the new tokenizer another name");
  }
  return transaction.Run("DELETE FROM _tokenizers WHERE id = ?1", {tokenizer.id});
}

std::string TokenizerDirectory(std::string_view state_directory, int64_t id) {
  return id == 0 ? std::string() : fmt::format("{}/tokenizers/{}", state_directory, id);
}

std::string NewTokenizerDirectory(std::string_view state_directory, std::string_view unique) {
  return fmt::format("{}/tokenizers/{}{}", state_directory, kNewPrefix, unique);
}

void SweepTokenizers(Io& io, const std::string& state_directory) {
  const std::string directory = state_directory + "/tokenizers";
  const auto info = io.Stat(directory);
  if (!info.ok() || info->kind != FileKind::kDirectory) return;
  Status swept = RemoveTemporaries(io, directory);
  const auto names = io.List(directory);
  if (!names.ok()) swept = names.status();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (swept.ok() && name.starts_with(kNewPrefix)) swept = io.RemoveTree(directory + "/" + name);
  }
  if (!swept.ok()) Log(LogLevel::kWarning, "what unfinished tokenizers left stays: {}", swept.ToString());
}

}  // namespace traind::daemon
