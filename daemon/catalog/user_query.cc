// What a user's SELECT may do: the authorizer's rules and SQLite's limits.
#include "daemon/catalog/user_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/base/limits.h"

namespace traind::daemon {
namespace {

struct SqliteLimit {
  int id;
  int value;
};
// LENGTH bounds each string a function can make; it must hold a worker's log as JSON.
constexpr SqliteLimit kSqliteLimits[] = {
    {SQLITE_LIMIT_LENGTH, 64 << 20},
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 500},
    {SQLITE_LIMIT_EXPR_DEPTH, 200},
    {SQLITE_LIMIT_COMPOUND_SELECT, 100},
    {SQLITE_LIMIT_VDBE_OP, 1'000'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 100},
    {SQLITE_LIMIT_ATTACHED, 1},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1024},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 1000},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

// Functions of SQLite that reach outside the query.
constexpr std::string_view kForbiddenFunctions[] = {"load_extension", "fts3_tokenizer", "readfile",
                                                    "writefile",      "edit",           "zipfile"};
constexpr std::string_view kTableFunctions[] = {"json_each", "json_tree"};

const char* ActionName(int action) {
  switch (action) {
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return "a change of rows";
    case SQLITE_PRAGMA:
      return "a PRAGMA";
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "ATTACH and DETACH";
    default:
      return "a change of tables";
  }
}

bool Contains(const auto& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string Lower(const char* text) {
  std::string lower(text ? text : "");
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

}  // namespace

void LimitConnection(sqlite3* handle) {
  for (const SqliteLimit& limit : kSqliteLimits) sqlite3_limit(handle, limit.id, limit.value);
}

UserAuthorizer::UserAuthorizer(sqlite3* handle, std::string inner_prefix)
    : handle_(handle), inner_prefix_(std::move(inner_prefix)) {
  sqlite3_set_authorizer(handle_, &UserAuthorizer::Decide, this);
}

UserAuthorizer::~UserAuthorizer() {
  sqlite3_set_authorizer(handle_, nullptr, nullptr);
}

int UserAuthorizer::Refuse(std::string what) {
  if (refused_.empty()) refused_ = std::move(what);
  return SQLITE_DENY;
}

// Names that begin with '_', "sqlite_" or "pragma_" are never a user's; everything else that SQLite asks
// about is a view or a common table expression. When a view has been folded into the query around it, SQLite
// asks again for its tables of which no column is used (column ""), without naming the view.
bool UserAuthorizer::MayRead(const std::string& table, const std::string& column, const std::string& view) {
  if (view.starts_with(inner_prefix_)) {
    read_by_views_.insert(table);
    return true;
  }
  if (table.starts_with(inner_prefix_)) return view.starts_with("sys_") || column.empty();
  if (table.starts_with("sys_") || Contains(kTableFunctions, table)) return true;
  if (column.empty() && read_by_views_.contains(table)) return true;
  return !table.starts_with("_") && !table.starts_with("sqlite_") && !table.starts_with("pragma_");
}

int UserAuthorizer::Decide(void* self_pointer, int action, const char* first, const char* second, const char*,
                           const char* view) {
  auto* self = static_cast<UserAuthorizer*>(self_pointer);
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      if (!Contains(kForbiddenFunctions, Lower(second))) return SQLITE_OK;
      return self->Refuse(fmt::format("the function {}", second));
    case SQLITE_READ:
      if (self->MayRead(Lower(first), Lower(second), Lower(view))) return SQLITE_OK;
      return self->Refuse(fmt::format("the table {}", first ? first : ""));
    default:
      return self->Refuse(ActionName(action));
  }
}

}  // namespace traind::daemon
