// Models and their versions in the catalog.
#include "daemon/catalog/models.h"

#include <fmt/format.h>

#include "daemon/catalog/row.h"

namespace traind::daemon {

Result<std::optional<ModelRecord>> LookUpModel(Connection& connection, std::string_view name) {
  TRAIND_ASSIGN(const auto cells,
                connection.QueryRow(
                    "SELECT id, name, spec, (SELECT count(*) FROM main._versions WHERE model_id = m.id), "
                    "(SELECT coalesce(max(version), 0) FROM main._versions WHERE model_id = m.id) "
                    "FROM main._models m WHERE name = ?1",
                    {std::string(name)}));
  if (!cells) return std::optional<ModelRecord>();
  RowReader row(*cells);
  ModelRecord model;
  model.id = row.Int();
  model.name = row.Text();
  TRAIND_ASSIGN(const Json spec, row.JsonValue());
  TRAIND_ASSIGN(model.spec, ModelFromJson(spec));
  model.versions = row.Int();
  model.newest_version = row.Int();
  return std::optional(std::move(model));
}

Result<std::vector<std::string>> ModelNames(Connection& connection) {
  TRAIND_ASSIGN(const auto rows, connection.Query("SELECT name FROM main._models ORDER BY name"));
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(RowReader(row).Text());
  return names;
}

Result<int64_t> InsertModel(Transaction& transaction, std::string_view name, const ModelSpec& spec,
                            double now) {
  TRAIND_ASSIGN(const auto existing,
                transaction.QueryRow("SELECT id FROM _models WHERE name = ?1", {std::string(name)}));
  if (existing) {
    return Status(ErrorCode::MODEL_EXISTS, fmt::format("a model {} exists", name),
                  "IF NOT EXISTS leaves it, OR REPLACE replaces it");
  }
  TRAIND_TRY(transaction.Run(
      "INSERT INTO _models(name, spec, architecture, parameters, created_at) VALUES (?1,?2,?3,?4,?5)",
      {std::string(name), DumpJson(ModelToJson(spec)), std::string(ArchitectureName(spec.architecture)),
       ParameterCount(spec), now}));
  return transaction.last_insert_id();
}

Result<int64_t> InsertImportedModel(Transaction& transaction, std::string_view name, const ModelSpec& spec,
                                    double now,
                                    const std::function<Result<std::string>(int64_t model_id)>& publish) {
  TRAIND_ASSIGN(const int64_t id, InsertModel(transaction, name, spec, now));
  TRAIND_ASSIGN(const std::string path, publish(id));
  TRAIND_TRY(transaction.Run(
      "INSERT INTO _versions(model_id, version, job_id, step, tokens, val_loss, path, created_at) "
      "VALUES (?1, 1, 0, 0, 0, NULL, ?2, ?3)",
      {id, path, now}));
  return id;
}

Status DeleteModel(Transaction& transaction, int64_t model_id) {
  TRAIND_TRY(transaction.Run("DELETE FROM _versions WHERE model_id = ?1", {model_id}));
  return transaction.Run("DELETE FROM _models WHERE id = ?1", {model_id});
}

Result<std::optional<VersionRecord>> LookUpVersion(Connection& connection, int64_t model_id,
                                                   int64_t version) {
  TRAIND_ASSIGN(
      const auto cells,
      connection.QueryRow(
          "SELECT version, step, tokens, path FROM main._versions WHERE model_id = ?1 AND version = ?2",
          {model_id, version}));
  if (!cells) return std::optional<VersionRecord>();
  RowReader row(*cells);
  VersionRecord record;
  record.version = row.Int();
  record.step = row.Int();
  record.tokens = row.Int();
  record.path = row.Text();
  return std::optional(std::move(record));
}

}  // namespace traind::daemon
