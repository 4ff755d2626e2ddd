// Data sets in the catalog.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/spec/data.h"

namespace traind::daemon {

struct DatasetRecord {
  int64_t id = 0;
  DataSpec spec;
  std::optional<int64_t> tokens;  // once a job has prepared it
  std::optional<int64_t> documents;
  std::optional<int64_t> bytes;
  std::optional<int64_t> files;
  std::optional<int64_t> largest_token;
};

Result<std::optional<DatasetRecord>> LookUpDataset(Connection& connection, std::string_view name);
Result<std::vector<std::string>> DatasetNames(Connection& connection);
// DATASET_EXISTS if there is one of that name.
Status InsertDataset(Transaction& transaction, const DataSpec& spec, int64_t files, int64_t bytes,
                     double now);
Status DeleteDataset(Transaction& transaction, std::string_view name);

}  // namespace traind::daemon
