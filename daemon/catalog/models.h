// Models and their versions in the catalog.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/spec/model.h"

namespace traind::daemon {

struct ModelRecord {
  int64_t id = 0;
  std::string name;
  ModelSpec spec;
  int64_t versions = 0;
  int64_t newest_version = 0;  // 0: none
};

Result<std::optional<ModelRecord>> LookUpModel(Connection& connection, std::string_view name);
Result<std::vector<std::string>> ModelNames(Connection& connection);
// MODEL_EXISTS if there is one of that name. Returns its id.
Result<int64_t> InsertModel(Transaction& transaction, std::string_view name, const ModelSpec& spec,
                            double now);
// A model of that name whose version 1 was not trained here: its files are put in place by `publish`, which
// is given the model's id and returns their directory. MODEL_EXISTS. Returns the id.
Result<int64_t> InsertImportedModel(Transaction& transaction, std::string_view name, const ModelSpec& spec,
                                    double now,
                                    const std::function<Result<std::string>(int64_t model_id)>& publish);
// Its versions' rows go too; the files are the caller's.
Status DeleteModel(Transaction& transaction, int64_t model_id);

struct VersionRecord {
  int64_t version = 0;
  int64_t step = 0;
  int64_t tokens = 0;
  std::string path;
};
Result<std::optional<VersionRecord>> LookUpVersion(Connection& connection, int64_t model_id, int64_t version);

}  // namespace traind::daemon
