// Runs one prepared statement: binds, steps, prints rows, shows progress.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "clients/cli/session.h"

namespace traind::cli {

// Runs `stmt` to its end and prints its result, notices and error; the exit code. A statement that submits a
// job is waited for when the session says so.
int RunStatement(Session& session, traind_stmt* stmt, const SourceText& source);

// The same, but `row` gets the rows instead of the output.
using RowReader = std::function<void(traind_stmt*)>;
int CollectRows(Session& session, traind_stmt* stmt, const SourceText& source, const RowReader& row);

// A statement of the shell's own. `row` is called for each row and may read columns; its result is not
// printed. Errors are reported.
int RunQuery(Session& session, const std::string& text, const std::map<std::string, std::string>& parameters,
             const RowReader& row);

// The text of a column of the current row.
std::string ColumnText(traind_stmt* stmt, int32_t column);

// Gives a parameter the value that `text` reads as: a number, 'a quoted text', or a text.
int32_t BindText(traind_stmt* stmt, int32_t index, const std::string& text);

}  // namespace traind::cli
