// Quantities: numbers with a unit, as the language writes them and as output shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

// What a quantity measures. Values are kept in the base unit named here. Units are case-sensitive; a bare B
// counts thousands of millions, so that bytes are written with a prefix.
enum class Dimension {
  kNumber,          // no unit, or a count: K M B decimal, Ki Mi binary
  kBytes,           // kB KB MB GB TB, KiB MiB GiB TiB             → bytes
  kSeconds,         // us ms s m h d, also joined: 1d12h           → seconds
  kUSD,             // USD                                          → USD
  kKilowattHours,   // kWh                                          → kWh
  kGpuHours,        // gpu_hours, gpu_hour                          → gpu_hours
  kFlopsPerSecond,  // GFLOPS TFLOPS PFLOPS                         → FLOP/s
  kBytesPerSecond,  // kB/s KB/s MB/s GB/s TB/s, KiB/s … TiB/s     → bytes/s
  kPercent,         // %                                            → 1/100
};

// Read as decimals, exactly: 1.5K is the integer 1500, 0.1 the nearest double, 10% the same double as 0.1.
struct Quantity {
  double value = 0;       // in the base unit
  bool integral = false;  // the value is a whole number within ±(2^63 − 1), exact in `integer`
  int64_t integer = 0;    // the value, when integral
  Dimension dimension = Dimension::kNumber;

  bool operator==(const Quantity&) const = default;
};

// "bytes", "a duration", … : for messages.
std::string_view DimensionName(Dimension dimension);

// Reads a whole literal: "24GiB", "1d12h", "512Ki", "3e-4", "8gpu_hours", and with a sign "-3". The parts of
// a joined duration go from larger units to smaller ones. INVALID_NUMBER says what was expected; it is also
// given for a whole number beyond ±(2^63 − 1) that is written out, and for what no double holds.
Result<Quantity> ParseQuantity(std::string_view literal);

// The canonical literal, which ParseQuantity reads back to an equal value: the shortest one, but whole
// numbers below 100,000 without a unit are written out ("1024", not "1Ki").
std::string PrintQuantity(const Quantity& quantity);

// For people, always with a unit: "1.50 GiB", "2h 05m", "12.3 s", "8,192", "1.20M". "unknown" for NaN and
// infinities.
std::string FormatBytes(double bytes);
std::string FormatDuration(double seconds);
std::string FormatCount(double count);

}  // namespace traind
