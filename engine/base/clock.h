// Time as a parameter: code that needs the time takes a Clock, so that tests and simulations can turn it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

class Clock {
 public:
  virtual ~Clock() = default;
  // Seconds since 1970-01-01 UTC, for what people read and for DEADLINE.
  virtual double WallSeconds() const = 0;
  // Seconds from an arbitrary start, never going back, for durations.
  virtual double MonotonicSeconds() const = 0;
};

// The machine's clock; lives for ever.
const Clock& SystemClock();

// "2026-12-03T08:00:05Z", UTC, whole seconds.
std::string FormatTime(double wall_seconds);

// "2026-12-03 08:00", "2026-12-03 08:00:05", with 'T' for the space, with a final 'Z' for UTC, local time
// otherwise; a date alone is its midnight. INVALID_OPTION says the expected form.
Result<double> ParseTime(std::string_view text);

}  // namespace traind
