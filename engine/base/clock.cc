// The machine's clock, and times as text.
#include "engine/base/clock.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <optional>

namespace traind {
namespace {

double ReadClock(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class MachineClock : public Clock {
 public:
  double WallSeconds() const override { return ReadClock(CLOCK_REALTIME); }
  double MonotonicSeconds() const override { return ReadClock(CLOCK_MONOTONIC); }
};

// Takes exactly `digits` digits from the front of `text`.
std::optional<int> TakeNumber(std::string_view* text, size_t digits) {
  if (text->size() < digits) return std::nullopt;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    const char c = (*text)[i];
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return value;
}

bool TakeChar(std::string_view* text, std::string_view choices) {
  if (text->empty() || choices.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

bool IsDate(int year, int month, int day) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 1970 || month < 1 || month > 12 || day < 1) return false;
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// Reads the parts; nullopt if the text has another form or names no date.
std::optional<std::tm> TakeDate(std::string_view* text) {
  const auto year = TakeNumber(text, 4);
  if (!year || !TakeChar(text, "-")) return std::nullopt;
  const auto month = TakeNumber(text, 2);
  if (!month || !TakeChar(text, "-")) return std::nullopt;
  const auto day = TakeNumber(text, 2);
  if (!day || !IsDate(*year, *month, *day)) return std::nullopt;
  std::tm parts{};
  parts.tm_year = *year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  return parts;
}

bool TakeTimeOfDay(std::string_view* text, std::tm* parts) {
  const auto hour = TakeNumber(text, 2);
  if (!hour || *hour > 23 || !TakeChar(text, ":")) return false;
  const auto minute = TakeNumber(text, 2);
  if (!minute || *minute > 59) return false;
  parts->tm_hour = *hour;
  parts->tm_min = *minute;
  if (!TakeChar(text, ":")) return true;
  const auto second = TakeNumber(text, 2);
  if (!second || *second > 59) return false;
  parts->tm_sec = *second;
  return true;
}

}  // namespace

const Clock& SystemClock() {
  static const MachineClock clock;
  return clock;
}

std::string FormatTime(double wall_seconds) {
  constexpr double kLatest = 253402300799.0;  // 9999-12-31T23:59:59Z
  if (!(wall_seconds >= 0 && wall_seconds <= kLatest)) return "(no time)";
  const auto seconds = static_cast<std::time_t>(wall_seconds);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Result<double> ParseTime(std::string_view text) {
  const auto refuse = [&] {
    return Status(ErrorCode::INVALID_OPTION, "'" + std::string(text) + "' is not a time",
                  "Write it as '2026-12-03 08:00', '2026-12-03 08:00:05', or with a final Z for UTC.");
  };
  std::string_view rest = text;
  std::optional<std::tm> parts = TakeDate(&rest);
  if (!parts) return refuse();
  bool utc = false;
  if (!rest.empty()) {
    if (!TakeChar(&rest, " T") || !TakeTimeOfDay(&rest, &*parts)) return refuse();
    utc = TakeChar(&rest, "Zz");
    if (!rest.empty()) return refuse();
  }
  parts->tm_isdst = -1;
  const std::time_t seconds = utc ? timegm(&*parts) : mktime(&*parts);
  if (seconds < 0) return refuse();
  return static_cast<double>(seconds);
}

}  // namespace traind
