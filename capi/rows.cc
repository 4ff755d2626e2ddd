// Numbers are printed with the fewest digits that read back equal, independent of the host's locale.
#include "capi/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>
#include <set>

#include "engine/base/quantity.h"

namespace traind::capi {
namespace {

constexpr int kDisplayDigits = 6;

std::string PrintReal(double value) {
  std::string text = fmt::format("{}", value);
  bool plain = text.find_first_not_of("-0123456789") == std::string::npos;
  return plain ? text + ".0" : text;
}

int64_t Clamp(double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= kLimit) return std::numeric_limits<int64_t>::max();
  if (value < -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

std::string_view TrimLeft(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

template <typename T>
T LeadingNumber(std::string_view text) {
  T value{};
  text = TrimLeft(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Local time, the form that statements take without a zone.
std::string DisplayTime(double seconds) {
  std::time_t whole = static_cast<std::time_t>(std::floor(seconds));
  std::tm parts{};
  if (!std::isfinite(seconds) || std::abs(seconds) > 1e12 || localtime_r(&whole, &parts) == nullptr) {
    return PrintReal(seconds);
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

const std::string* TextIn(const Json& cell) {
  return cell.get_ptr<const std::string*>();
}

}  // namespace

CellType TypeOf(const Json& cell) {
  if (cell.is_null()) return CellType::kNull;
  if (cell.is_number_float()) return CellType::kReal;
  if (cell.is_number_integer() || cell.is_boolean()) return CellType::kInteger;
  return CellType::kText;
}

int64_t CellInteger(const Json& cell) {
  if (cell.is_boolean()) return cell.get<bool>() ? 1 : 0;
  if (cell.is_number_unsigned()) {
    return static_cast<int64_t>(
        std::min<uint64_t>(cell.get<uint64_t>(), std::numeric_limits<int64_t>::max()));
  }
  if (cell.is_number_integer()) return cell.get<int64_t>();
  if (cell.is_number_float()) return Clamp(cell.get<double>());
  if (const std::string* text = TextIn(cell)) {
    int64_t whole = LeadingNumber<int64_t>(*text);
    double real = LeadingNumber<double>(*text);
    return std::trunc(real) == static_cast<double>(whole) ? whole : Clamp(real);
  }
  return 0;
}

double CellReal(const Json& cell) {
  if (cell.is_boolean()) return cell.get<bool>() ? 1 : 0;
  if (cell.is_number()) return cell.get<double>();
  if (const std::string* text = TextIn(cell)) return LeadingNumber<double>(*text);
  return 0;
}

std::string CellText(const Json& cell) {
  if (const std::string* text = TextIn(cell)) return *text;
  if (cell.is_number_float()) return PrintReal(cell.get<double>());
  if (TypeOf(cell) == CellType::kInteger && !cell.is_number_unsigned())
    return fmt::to_string(CellInteger(cell));
  return DumpJson(cell);
}

std::string CellDisplay(const Json& cell, std::string_view declared) {
  if (cell.is_null()) return {};
  bool number = cell.is_number();
  if (number && declared == "bytes") return FormatBytes(CellReal(cell));
  if (number && declared == "seconds") return FormatDuration(CellReal(cell));
  if (number && declared == "time") return DisplayTime(CellReal(cell));
  if (cell.is_number_float()) return fmt::format("{:.{}g}", cell.get<double>(), kDisplayDigits);
  return CellText(cell);
}

std::string CellAsJson(const Json& cell, std::string_view declared) {
  if (cell.is_number_float()) return PrintReal(cell.get<double>());
  const std::string* text = TextIn(cell);
  if (text != nullptr && declared == "json") {
    if (Result<Json> value = ParseJson(*text); value.ok()) return DumpJson(*value);
  }
  return DumpJson(cell);
}

std::string RowAsJson(const std::vector<ColumnInfo>& columns, const Json& row) {
  std::set<std::string> seen;
  std::string text = "{";
  for (size_t i = 0; i < columns.size(); ++i) {
    std::string name = columns[i].name;
    for (int copy = 2; !seen.insert(name).second; ++copy) name = fmt::format("{}_{}", columns[i].name, copy);
    text += i == 0 ? "" : ", ";
    text += DumpJson(Json(name)) + ": " + CellAsJson(row[i], columns[i].type);
  }
  return text + "}";
}

}  // namespace traind::capi
