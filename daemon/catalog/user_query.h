// What a user's SELECT may do: the authorizer's rules and SQLite's limits.
#pragma once

#include <sqlite3.h>

#include <set>
#include <string>

namespace traind::daemon {

// Sets the limits of a reader's connection; after it has attached its files.
void LimitConnection(sqlite3* handle);

// Allows reads of the views alone while it lives. Views' inner parts are recognised by `inner_prefix`.
class UserAuthorizer {
 public:
  UserAuthorizer(sqlite3* handle, std::string inner_prefix);
  ~UserAuthorizer();
  UserAuthorizer(const UserAuthorizer&) = delete;
  UserAuthorizer& operator=(const UserAuthorizer&) = delete;

  // What was refused first, for the message; empty if nothing was.
  const std::string& refused() const { return refused_; }

 private:
  static int Decide(void* self, int action, const char* first, const char* second, const char* database,
                    const char* view);
  bool MayRead(const std::string& table, const std::string& column, const std::string& view);
  int Refuse(std::string what);

  sqlite3* handle_;
  std::string inner_prefix_;
  std::string refused_;
  std::set<std::string> read_by_views_;  // raw tables that a view has read in this query
};

}  // namespace traind::daemon
