// Looks for leftovers.
#include "daemon/leftovers.h"

#include <algorithm>
#include <set>
#include <variant>

#include "engine/base/log.h"

namespace traind::daemon {
namespace {

Result<std::vector<std::string>> ListIfThere(Io& io, const std::string& directory) {
  TRAIND_ASSIGN(const FileInfo info, io.Stat(directory));
  if (info.kind == FileKind::kMissing) return std::vector<std::string>();
  return io.List(directory);
}

// Only what is named as a model's folder is: digits.
bool IsNumber(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Result<std::vector<std::string>> FindLeftovers(Connection& connection, Io& io,
                                               const std::string& state_directory) {
  std::vector<std::string> found;
  const std::string models = state_directory + "/models", cache = state_directory + "/cache";
  TRAIND_ASSIGN(const auto rows, connection.Query("SELECT id FROM main._models"));
  std::set<std::string> known;
  for (const auto& row : rows) known.insert(std::to_string(std::get<int64_t>(row.at(0))));
  TRAIND_ASSIGN(const std::vector<std::string> folders, ListIfThere(io, models));
  for (const std::string& name : folders) {
    if (IsNumber(name) && !known.contains(name)) found.push_back(models + "/" + name);
  }
  TRAIND_ASSIGN(const std::vector<std::string> caches, ListIfThere(io, cache));
  for (const std::string& name : caches) {
    if (name.starts_with(".tmp-")) found.push_back(cache + "/" + name);
  }
  return found;
}

void RemoveLeftovers(Io& io, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const Status removed = io.RemoveTree(path);
    if (removed.ok()) {
      Log(LogLevel::kInfo, "{} was left by a crash and is removed", path);
    } else {
      Log(LogLevel::kWarning, "{} was left by a crash and stays: {}", path, removed.ToString());
    }
  }
}

}  // namespace traind::daemon
