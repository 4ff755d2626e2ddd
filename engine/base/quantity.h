// Quantities: numbers with a unit, as the language writes them and as output shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

// What a quantity measures. Values are kept in the base unit named here.
enum class Dimension {
  kNumber,          // no unit, or a count: K M B decimal, Ki Mi binary
  kBytes,           // B kB KB MB GB TB, KiB MiB GiB TiB          → bytes
  kSeconds,         // us ms s m h d, also joined: 1d12h           → seconds
  kUSD,             // USD                                          → USD
  kKilowattHours,   // kWh                                          → kWh
  kGpuHours,        // gpu_hours, gpu_hour                          → gpu_hours
  kFlopsPerSecond,  // GFLOPS TFLOPS PFLOPS                         → FLOP/s
  kBytesPerSecond,  // MB/s GB/s, GiB/s                             → bytes/s
  kPercent,         // %                                            → 1/100
};

struct Quantity {
  double value = 0;       // in the base unit
  bool integral = false;  // written without a fraction, exact in `integer`
  int64_t integer = 0;    // the value, when integral
  Dimension dimension = Dimension::kNumber;

  bool operator==(const Quantity&) const = default;
};

// "bytes", "a duration", … : for messages.
std::string_view DimensionName(Dimension dimension);

// Reads a whole literal: "24GiB", "1d12h", "512Ki", "3e-4", "8gpu_hours". INVALID_NUMBER says what was
// expected.
Result<Quantity> ParseQuantity(std::string_view literal);

// The canonical literal: the shortest text that ParseQuantity reads back to an equal value.
std::string PrintQuantity(const Quantity& quantity);

// For people, always with a unit: "1.50 GiB", "2h 05m", "12.3 s", "8,192", "1.2M".
std::string FormatBytes(double bytes);
std::string FormatDuration(double seconds);
std::string FormatCount(double count);

}  // namespace traind
