// Data sets in the catalog.
#include "daemon/catalog/datasets.h"

#include <fmt/format.h>

#include "daemon/catalog/row.h"

namespace traind::daemon {

Result<std::optional<DatasetRecord>> LookUpDataset(Connection& connection, std::string_view name) {
  TRAIND_ASSIGN(const auto cells,
                connection.QueryRow(
                    "SELECT id, spec, tokens, documents, bytes, files, largest_token FROM main._datasets "
                    "WHERE name = ?1",
                    {std::string(name)}));
  if (!cells) return std::optional<DatasetRecord>();
  RowReader row(*cells);
  DatasetRecord dataset;
  dataset.id = row.Int();
  TRAIND_ASSIGN(const Json spec, row.JsonValue());
  TRAIND_ASSIGN(dataset.spec, DataFromJson(spec));
  dataset.tokens = row.OptionalInt();
  dataset.documents = row.OptionalInt();
  dataset.bytes = row.OptionalInt();
  dataset.files = row.OptionalInt();
  dataset.largest_token = row.OptionalInt();
  return std::optional(std::move(dataset));
}

Result<std::vector<std::string>> DatasetNames(Connection& connection) {
  TRAIND_ASSIGN(const auto rows, connection.Query("SELECT name FROM main._datasets ORDER BY name"));
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(RowReader(row).Text());
  return names;
}

Status InsertDataset(Transaction& transaction, const DataSpec& spec, int64_t files, int64_t bytes,
                     double now) {
  TRAIND_ASSIGN(const auto existing,
                transaction.QueryRow("SELECT id FROM _datasets WHERE name = ?1", {spec.name}));
  if (existing) {
    return {ErrorCode::DATASET_EXISTS, fmt::format("a data set {} exists", spec.name),
            "IF NOT EXISTS leaves it, OR REPLACE replaces it"};
  }
  // Of text every file is a document; of other formats a job counts them.
  Cell documents;
  if (spec.format == DataFormat::kText) documents = files;
  return transaction.Run(
      "INSERT INTO _datasets(name, spec, documents, bytes, files, created_at) VALUES (?1,?2,?3,?4,?5,?6)",
      {spec.name, DumpJson(DataToJson(spec)), documents, bytes, files, now});
}

Status DeleteDataset(Transaction& transaction, std::string_view name) {
  return transaction.Run("DELETE FROM _datasets WHERE name = ?1", {std::string(name)});
}

}  // namespace traind::daemon
