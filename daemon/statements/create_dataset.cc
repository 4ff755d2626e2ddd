// CREATE DATASET: gives files a name.
#include <fmt/format.h>

#include "daemon/bind/data.h"
#include "daemon/bind/options.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

struct Wanted {
  DataSpec spec;
  int64_t files = 0;
  int64_t bytes = 0;
};

Status BindTextField(const grammar::CreateDataset& statement, DataSpec* spec) {
  TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kDataset, statement.options));
  const BoundOption* field = options.Find("text_field");
  if (field == nullptr) return {};
  if (spec->format != DataFormat::kJsonl) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("text_field is of FORMAT jsonl, not of {}", DataFormatName(spec->format)))
        .At(field->key);
  }
  spec->text_field = field->text;
  return {};
}

Result<Wanted> Bind(const grammar::CreateDataset& statement, const Context& context) {
  Wanted wanted;
  wanted.spec.name = statement.name.text;
  auto format = ParseDataFormat(statement.format.text);
  if (!format.ok()) return format.status().At(statement.format.position);
  wanted.spec.format = *format;
  TRAIND_TRY(BindTextField(statement, &wanted.spec));
  TRAIND_ASSIGN(wanted.spec.patterns,
                BindPatterns(statement.sources, wanted.spec.format, context, &wanted.files, &wanted.bytes));
  return wanted;
}

// True if it is to be stored, false if it exists already as wanted.
Result<bool> Decide(const grammar::CreateDataset& statement, const DataSpec& spec,
                    const std::optional<DatasetRecord>& existing) {
  if (!existing || statement.or_replace) return true;
  const std::string& name = statement.name.text;
  if (!statement.if_not_exists) {
    return Status(ErrorCode::DATASET_EXISTS, fmt::format("a data set {} exists", name),
                  "IF NOT EXISTS leaves it, OR REPLACE replaces it");
  }
  const std::string difference = DataDifference(existing->spec, spec);
  if (difference.empty()) return false;
  return Status(ErrorCode::SPEC_DIFFERS, fmt::format("{} exists otherwise: {}", name, difference),
                "OR REPLACE puts this one in its place");
}

Status Store(Transaction& transaction, const grammar::CreateDataset& statement, const Wanted& wanted,
             double now, bool* stored) {
  TRAIND_ASSIGN(const auto existing, LookUpDataset(transaction, statement.name.text));
  TRAIND_ASSIGN(*stored, Decide(statement, wanted.spec, existing));
  if (!*stored) return {};
  TRAIND_TRY(DeleteDataset(transaction, statement.name.text));
  return InsertDataset(transaction, wanted.spec, wanted.files, wanted.bytes, now);
}

Result<Outcome> CheckOnly(const grammar::CreateDataset& statement, const Wanted& wanted,
                          const Context& context) {
  TRAIND_ASSIGN(const auto existing, FindDatasetIfAny(statement.name.text, context));
  const auto decided = Decide(statement, wanted.spec, existing);
  if (!decided.ok()) return decided.status().At(statement.name.position);
  Reply reply;
  reply.session = context.session;
  reply.session->checked_datasets[statement.name.text] = wanted.spec;
  return Done(std::move(reply));
}

}  // namespace

Result<Outcome> Run(const grammar::CreateDataset& statement, const Context& context) {
  TRAIND_ASSIGN(const Wanted wanted, Bind(statement, context));
  if (context.check) return CheckOnly(statement, wanted, context);
  bool stored = false;
  Status status = context.daemon.catalog->Write(
      [&](Transaction& transaction) { return Store(transaction, statement, wanted, Now(context), &stored); });
  if (!status.ok()) return std::move(status).At(statement.name.position);
  Reply reply;
  reply.columns = {{"name", "text"}, {"files", "integer"}, {"bytes", "bytes"}};
  reply.rows = {{statement.name.text, wanted.files, wanted.bytes}};
  if (!stored) reply.notices.push_back(fmt::format("{} exists like this", statement.name.text));
  return Done(std::move(reply));
}

}  // namespace traind::daemon
