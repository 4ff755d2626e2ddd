// The catalog's tables, as numbered steps from an empty file to today's form.
//
// A step that has been released is never edited; a change is a new step. The raw tables' names begin with
// '_', which is how the authorizer of a user's SELECT tells them from the views.
#pragma once

#include <sqlite3.h>

#include <span>
#include <string_view>

#include "engine/base/status.h"

namespace traind::daemon {

struct Migration {
  int64_t version;  // user_version after it
  std::string_view sql;
};

std::span<const Migration> CatalogMigrations();
std::span<const Migration> MetricsMigrations();

// Applies what is missing, each step in its own transaction. STATE_UNUSABLE if the file was made by a newer
// traind, or is a database of something else; `path` is for the message.
Status Migrate(sqlite3* handle, std::span<const Migration> migrations, std::string_view path);

}  // namespace traind::daemon
