// Sizes, durations and counts for people.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "engine/base/quantity.h"

namespace traind {
namespace {

constexpr std::string_view kUnknown = "unknown";

// "1,234,567"
std::string Grouped(int64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

// `value` with three significant digits.
std::string ThreeDigits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// Scales by `step` until the figure is below it, then appends the unit reached.
std::string Scaled(double value, double step, std::span<const std::string_view> units) {
  size_t unit = 0;
  while (unit + 1 < units.size() && value >= step - 0.5) {
    value /= step;
    ++unit;
  }
  return ThreeDigits(value) + std::string(units[unit]);
}

}  // namespace

std::string FormatBytes(double bytes) {
  if (!std::isfinite(bytes)) return std::string(kUnknown);
  if (bytes < 0) return "-" + FormatBytes(-bytes);
  if (bytes < 1023.5) return fmt::format("{:.0f} B", bytes);
  constexpr std::string_view kUnits[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  return Scaled(bytes / 1024, 1024, kUnits);
}

std::string FormatDuration(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kUnknown);
  if (seconds < 0) return "-" + FormatDuration(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return ThreeDigits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return ThreeDigits(seconds * 1e3) + " ms";
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  if (seconds >= 1e15) return fmt::format("{:.3g} d", seconds / 86400);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  const int64_t minutes = std::llround(static_cast<double>(whole) / 60.0);
  if (minutes < 24 * 60) return fmt::format("{}h {:02}m", minutes / 60, minutes % 60);
  const int64_t hours = std::llround(static_cast<double>(minutes) / 60.0);
  return fmt::format("{}d {:02}h", hours / 24, hours % 24);
}

std::string FormatCount(double count) {
  if (!std::isfinite(count)) return std::string(kUnknown);
  if (count < 0) return "-" + FormatCount(-count);
  if (count < 999999.5) {
    const auto whole = static_cast<int64_t>(std::llround(count));
    if (count < 999.5 && count != static_cast<double>(whole)) return ThreeDigits(count);
    return Grouped(whole);
  }
  constexpr std::string_view kUnits[] = {"M", "B", "T"};
  return Scaled(count / 1e6, 1000, kUnits);
}

}  // namespace traind
