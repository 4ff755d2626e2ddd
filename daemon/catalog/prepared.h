// A prepared statement of SQLite, bound and stepped with our own values.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string_view>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/status.h"

namespace traind::daemon {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

Result<Prepared> PrepareSql(sqlite3* handle, std::string_view sql);
// Parameter `index` counts from 1. The cell must outlive the statement's run.
Status BindCell(sqlite3* handle, sqlite3_stmt* statement, int index, const Cell& cell);
Status BindCells(sqlite3* handle, sqlite3_stmt* statement, const std::vector<Cell>& cells);
// The value of a column of the current row; a blob becomes its hexadecimal literal, x'00ff'.
Cell ColumnCell(sqlite3_stmt* statement, int column);
std::vector<Cell> RowCells(sqlite3_stmt* statement);

}  // namespace traind::daemon
