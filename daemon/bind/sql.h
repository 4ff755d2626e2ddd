// A statement's pieces of SQL as queries: parameters bound, live tables filled, errors put back where they
// belong in the script.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// A query put together from our own text and the user's pieces.
class UserSql {
 public:
  explicit UserSql(SourcePosition position) : position_(position) {}
  UserSql& Add(std::string_view own_text);
  UserSql& Add(const grammar::Sql& piece);
  // A value for our own text, as the parameter $name.
  UserSql& Bind(std::string name, Cell value);

  // Runs it. At most max_rows rows. Errors stand at the token at fault, or at the statement.
  Result<Reader::Table> Run(const Context& context, int64_t max_rows) const;
  // Only whether it could run; the columns' names.
  Result<std::vector<std::string>> Check(const Context& context) const;

 private:
  struct Piece {
    size_t begin;  // in sql_
    const grammar::Sql* piece;
  };
  Result<Reader::Parameters> Parameters(const Context& context) const;
  Status Place(Status status) const;
  Status FillLive(const Context& context) const;

  std::string sql_;
  std::vector<Piece> pieces_;
  Reader::Parameters own_;
  SourcePosition position_;  // of the statement
};

// A table as a reply: columns typed by their names and values, at most output_rows rows (with a notice if
// there are more), TOO_MANY past the daemon's own limit. `position` is for that error.
Result<Reply> RunForReply(const UserSql& sql, const Context& context);

// The display hint of a column: "bytes", "seconds", "time" by its name, else by its first value.
std::string ColumnType(std::string_view name, const std::vector<std::vector<Cell>>& rows, size_t index);
std::vector<Column> ColumnsOf(const Reader::Table& table);

}  // namespace traind::daemon
