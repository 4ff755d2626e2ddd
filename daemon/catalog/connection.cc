// Running prepared statements on a connection.
#include <fmt/format.h>

#include "daemon/catalog/prepared.h"
#include "daemon/catalog/sqlite_status.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kWhat = "the catalog";

// Prepares, binds and steps; `take` gets each row and says whether to go on.
template <typename Take>
Status EachRow(sqlite3* handle, std::string_view sql, const std::vector<Cell>& arguments, const Take& take) {
  TRAIND_ASSIGN(Prepared statement, PrepareSql(handle, sql));
  TRAIND_TRY(BindCells(handle, statement.get(), arguments));
  int code = sqlite3_step(statement.get());
  while (code == SQLITE_ROW && take(statement.get())) code = sqlite3_step(statement.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) return SqliteStatus(handle, code, kWhat);
  return {};
}

std::string BlobLiteral(const unsigned char* bytes, int count) {
  std::string text = "x'";
  for (int i = 0; i < count; ++i) fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
  text += "'";
  return text;
}

}  // namespace

Result<Prepared> PrepareSql(sqlite3* handle, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(handle, sql.data(), static_cast<int>(sql.size()), 0, &statement, nullptr);
  Prepared prepared(statement);
  if (code != SQLITE_OK) return SqliteStatus(handle, code, kWhat);
  return prepared;
}

Status BindCell(sqlite3* handle, sqlite3_stmt* statement, int index, const Cell& cell) {
  int code = SQLITE_OK;
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    code = sqlite3_bind_int64(statement, index, *integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    code = sqlite3_bind_double(statement, index, *real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    code = sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  } else {
    code = sqlite3_bind_null(statement, index);
  }
  if (code == SQLITE_OK) return {};
  return SqliteStatus(handle, code, kWhat);
}

Status BindCells(sqlite3* handle, sqlite3_stmt* statement, const std::vector<Cell>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    TRAIND_TRY(BindCell(handle, statement, static_cast<int>(i) + 1, cells[i]));
  }
  return {};
}

Cell ColumnCell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return static_cast<int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      if (text == nullptr) return std::monostate{};  // no memory; the next step reports it
      return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
      return BlobLiteral(bytes, sqlite3_column_bytes(statement, column));
    }
    default:
      return std::monostate{};
  }
}

std::vector<Cell> RowCells(sqlite3_stmt* statement) {
  std::vector<Cell> row;
  const int columns = sqlite3_column_count(statement);
  row.reserve(static_cast<size_t>(columns));
  for (int i = 0; i < columns; ++i) row.push_back(ColumnCell(statement, i));
  return row;
}

Status Connection::Run(std::string_view sql, const std::vector<Cell>& arguments) {
  return EachRow(handle_, sql, arguments, [](sqlite3_stmt*) { return true; });
}

Result<std::vector<std::vector<Cell>>> Connection::Query(std::string_view sql,
                                                         const std::vector<Cell>& arguments) {
  std::vector<std::vector<Cell>> rows;
  TRAIND_TRY(EachRow(handle_, sql, arguments, [&rows](sqlite3_stmt* statement) {
    rows.push_back(RowCells(statement));
    return true;
  }));
  return rows;
}

Result<std::optional<std::vector<Cell>>> Connection::QueryRow(std::string_view sql,
                                                              const std::vector<Cell>& arguments) {
  std::optional<std::vector<Cell>> row;
  TRAIND_TRY(EachRow(handle_, sql, arguments, [&row](sqlite3_stmt* statement) {
    row = RowCells(statement);
    return false;
  }));
  return row;
}

int64_t Transaction::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_);
}

void Transaction::AfterCommit(std::function<void()> action) {
  actions_.push_back(std::move(action));
}

std::vector<std::function<void()>> Transaction::TakeActions() {
  return std::exchange(actions_, {});
}

}  // namespace traind::daemon
