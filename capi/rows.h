// Cells of a row, converted to what the caller asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capi/client.h"
#include "engine/base/json.h"

namespace traind::capi {

enum class CellType { kNull = 0, kInteger = 1, kReal = 2, kText = 3 };  // as TRAIND_TYPE_…

CellType TypeOf(const Json& cell);

// As SQLite converts: see traind_column_int64.
int64_t CellInteger(const Json& cell);
double CellReal(const Json& cell);
// Not for NULL. Reads back equal; a real always shows that it is one ("5.0"); JSON values as JSON text.
std::string CellText(const Json& cell);

// For people: by the column's declared type ("bytes", "seconds", "time", …). "" for NULL.
std::string CellDisplay(const Json& cell, std::string_view declared);

// As a JSON value; text in a column declared "json" as the value it holds.
std::string CellAsJson(const Json& cell, std::string_view declared);

// The row as a JSON object in the order of the columns. A name that stands twice gets "_2", "_3", …
std::string RowAsJson(const std::vector<ColumnInfo>& columns, const Json& row);

}  // namespace traind::capi
