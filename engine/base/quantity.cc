// Quantities: exact decimal reading and canonical printing, from one table of units.
#include "engine/base/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/base/nearest.h"

namespace traind {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

__extension__ using Wide = __int128;

// One spelling of a unit: value · factor · 10^exponent base units.
struct Unit {
  std::string_view name;
  Dimension dimension;
  int64_t factor;
  int exponent;
  bool canonical;  // printed; the others are only read
};

constexpr int64_t kKi = 1024;
constexpr Unit kUnits[] = {
    {"", Dimension::kNumber, 1, 0, true},
    {"K", Dimension::kNumber, 1, 3, true},
    {"M", Dimension::kNumber, 1, 6, true},
    {"B", Dimension::kNumber, 1, 9, true},
    {"Ki", Dimension::kNumber, kKi, 0, true},
    {"Mi", Dimension::kNumber, kKi* kKi, 0, true},
    {"kB", Dimension::kBytes, 1, 3, true},
    {"KB", Dimension::kBytes, 1, 3, false},
    {"MB", Dimension::kBytes, 1, 6, true},
    {"GB", Dimension::kBytes, 1, 9, true},
    {"TB", Dimension::kBytes, 1, 12, true},
    {"KiB", Dimension::kBytes, kKi, 0, true},
    {"MiB", Dimension::kBytes, kKi* kKi, 0, true},
    {"GiB", Dimension::kBytes, kKi* kKi* kKi, 0, true},
    {"TiB", Dimension::kBytes, kKi* kKi* kKi* kKi, 0, true},
    {"us", Dimension::kSeconds, 1, -6, true},
    {"ms", Dimension::kSeconds, 1, -3, true},
    {"s", Dimension::kSeconds, 1, 0, true},
    {"m", Dimension::kSeconds, 60, 0, true},
    {"h", Dimension::kSeconds, 3600, 0, true},
    {"d", Dimension::kSeconds, 86400, 0, true},
    {"USD", Dimension::kUSD, 1, 0, true},
    {"kWh", Dimension::kKilowattHours, 1, 0, true},
    {"gpu_hours", Dimension::kGpuHours, 1, 0, true},
    {"gpu_hour", Dimension::kGpuHours, 1, 0, false},
    {"GFLOPS", Dimension::kFlopsPerSecond, 1, 9, true},
    {"TFLOPS", Dimension::kFlopsPerSecond, 1, 12, true},
    {"PFLOPS", Dimension::kFlopsPerSecond, 1, 15, true},
    {"kB/s", Dimension::kBytesPerSecond, 1, 3, true},
    {"KB/s", Dimension::kBytesPerSecond, 1, 3, false},
    {"MB/s", Dimension::kBytesPerSecond, 1, 6, true},
    {"GB/s", Dimension::kBytesPerSecond, 1, 9, true},
    {"TB/s", Dimension::kBytesPerSecond, 1, 12, true},
    {"KiB/s", Dimension::kBytesPerSecond, kKi, 0, true},
    {"MiB/s", Dimension::kBytesPerSecond, kKi* kKi, 0, true},
    {"GiB/s", Dimension::kBytesPerSecond, kKi* kKi* kKi, 0, true},
    {"TiB/s", Dimension::kBytesPerSecond, kKi* kKi* kKi* kKi, 0, true},
    {"%", Dimension::kPercent, 1, -2, true},
};

constexpr std::string_view kDimensionNames[] = {"a number",
                                                "bytes",
                                                "a duration",
                                                "an amount of money",
                                                "an amount of energy",
                                                "GPU hours",
                                                "a rate of FLOP/s",
                                                "a rate of B/s",
                                                "a percentage"};

// mantissa · 10^exponent, exactly.
struct Decimal {
  Wide mantissa = 0;
  int exponent = 0;
};

// Products with every unit's factor (< 2^41) stay far within 127 bits.
constexpr int kMaxDigits = 25;
// Exponents beyond it are zero or infinite for every double.
constexpr int kMaxExponent = 100000;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

Status Refuse(std::string_view literal, const std::string& reason) {
  return Status(
      ErrorCode::INVALID_NUMBER, "'" + std::string(literal) + "': " + reason,
      "Numbers look like 10, 0.5, 3e-4; quantities like 24GiB, 30m, 1d12h, 512Ki, 8gpu_hours, 10%.");
}

// One number and its unit within a literal.
struct Part {
  Decimal number;
  bool written_whole = false;  // no fraction, no exponent
  std::string_view unit;
};

// Cuts the digits of a number from the front. False if there is none, or one of more than kMaxDigits
// significant digits.
bool TakeDigits(std::string_view* rest, Decimal* number, bool fraction, bool* too_long) {
  bool any = false;
  while (!rest->empty() && IsDigit(rest->front())) {
    any = true;
    constexpr Wide kLimit = static_cast<Wide>(1'000'000'000'000) * 1'000'000'000'000;  // 10^24
    if (number->mantissa >= kLimit) *too_long = true;
    if (!*too_long) {
      number->mantissa = number->mantissa * 10 + (rest->front() - '0');
      if (fraction) --number->exponent;
    }
    rest->remove_prefix(1);
  }
  return any;
}

// The exponent "e-4" if one stands here; otherwise nothing is taken (an 'e' may begin a unit's name).
std::optional<int> TakeExponent(std::string_view* rest) {
  std::string_view ahead = *rest;
  if (ahead.empty() || (ahead.front() != 'e' && ahead.front() != 'E')) return std::nullopt;
  ahead.remove_prefix(1);
  bool negative = false;
  if (!ahead.empty() && (ahead.front() == '+' || ahead.front() == '-')) {
    negative = ahead.front() == '-';
    ahead.remove_prefix(1);
  }
  if (ahead.empty() || !IsDigit(ahead.front())) return std::nullopt;
  int exponent = 0;
  while (!ahead.empty() && IsDigit(ahead.front())) {
    exponent = std::min(exponent * 10 + (ahead.front() - '0'), kMaxExponent);
    ahead.remove_prefix(1);
  }
  *rest = ahead;
  return negative ? -exponent : exponent;
}

Result<Part> TakePart(std::string_view literal, std::string_view* rest) {
  Part part;
  bool too_long = false;
  bool any = TakeDigits(rest, &part.number, false, &too_long);
  part.written_whole = true;
  if (rest->size() > 1 && rest->front() == '.' && IsDigit((*rest)[1])) {
    rest->remove_prefix(1);
    any = TakeDigits(rest, &part.number, true, &too_long);
    part.written_whole = false;
  }
  if (!any) return Refuse(literal, "a number was expected");
  if (too_long) {
    return Refuse(literal, "a number has at most " + std::to_string(kMaxDigits) + " digits");
  }
  if (const std::optional<int> exponent = TakeExponent(rest)) {
    part.number.exponent += *exponent;
    part.written_whole = false;
  }
  size_t length = 0;
  while (length < rest->size() && !IsDigit((*rest)[length]) && (*rest)[length] != '.') ++length;
  part.unit = rest->substr(0, length);
  rest->remove_prefix(length);
  return part;
}

Result<const Unit*> FindUnit(std::string_view literal, std::string_view name) {
  const Unit* unit = std::ranges::find(kUnits, name, &Unit::name);
  if (unit != std::end(kUnits)) return unit;
  std::vector<std::string_view> names;
  for (const Unit& known : kUnits) {
    if (!known.name.empty()) names.push_back(known.name);
  }
  const std::string nearest = NearestWord(name, std::span<const std::string_view>(names));
  return Refuse(literal, "unknown unit '" + std::string(name) + "'" +
                             (nearest.empty() ? "" : "; did you mean '" + nearest + "'?") +
                             " (units are case-sensitive)");
}

// The whole number that `decimal` is, if it is one within ±(2^63 − 1).
std::optional<int64_t> WholeValue(Decimal decimal) {
  constexpr Wide kMax = std::numeric_limits<int64_t>::max();
  if (decimal.mantissa == 0) return 0;
  while (decimal.exponent < 0 && decimal.mantissa % 10 == 0) {
    decimal.mantissa /= 10;
    ++decimal.exponent;
  }
  if (decimal.exponent < 0 || decimal.exponent > 18) return std::nullopt;
  for (; decimal.exponent > 0; --decimal.exponent) {
    if (decimal.mantissa > kMax) return std::nullopt;
    decimal.mantissa *= 10;
  }
  if (decimal.mantissa > kMax) return std::nullopt;
  return static_cast<int64_t>(decimal.mantissa);
}

// The double nearest to `decimal`; infinity if it is beyond the largest.
double NearestDouble(const Decimal& decimal) {
  char digits[64];
  char* end = digits + sizeof digits;
  char* begin = end;
  Wide rest = decimal.mantissa;
  do {
    *--begin = static_cast<char>('0' + static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  const std::string text = std::string(begin, end) + "e" + std::to_string(decimal.exponent);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec == std::errc::result_out_of_range) {
    return decimal.exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  }
  return value;
}

Result<Quantity> MakeQuantity(std::string_view literal, const Decimal& decimal, Dimension dimension,
                              bool negative, bool written_whole) {
  Quantity quantity;
  quantity.dimension = dimension;
  if (const std::optional<int64_t> whole = WholeValue(decimal)) {
    quantity.integral = true;
    quantity.integer = negative ? -*whole : *whole;
    quantity.value = static_cast<double>(quantity.integer);
    return quantity;
  }
  const double magnitude = NearestDouble(decimal);
  if (written_whole && magnitude >= kTwoTo63) {
    return Refuse(literal, "a whole number may be at most 9223372036854775807");
  }
  if (!std::isfinite(magnitude)) return Refuse(literal, "the number is too large");
  quantity.value = negative ? -magnitude : magnitude;
  // A fraction below a double's precision is none.
  if (magnitude < kTwoTo63 && magnitude == std::floor(magnitude)) {
    quantity.integral = true;
    quantity.integer = static_cast<int64_t>(quantity.value);
    quantity.value = static_cast<double>(quantity.integer);
  }
  return quantity;
}

// a + b; false if the sum needs more digits than are exact.
bool Add(Decimal* a, Decimal b) {
  while (a->exponent > b.exponent) {
    if (a->mantissa > std::numeric_limits<int64_t>::max()) return false;
    a->mantissa *= 10;
    --a->exponent;
  }
  while (b.exponent > a->exponent) {
    if (b.mantissa > std::numeric_limits<int64_t>::max()) return false;
    b.mantissa *= 10;
    --b.exponent;
  }
  a->mantissa += b.mantissa;
  return true;
}

// Size of a unit relative to others of its dimension.
double Scale(const Unit& unit) {
  return static_cast<double>(unit.factor) * std::pow(10.0, unit.exponent);
}

// The parts behind the first of a joined duration: 1d|12h30m.
Status AddDurationParts(std::string_view literal, std::string_view rest, const Unit* previous, Decimal* sum,
                        bool* written_whole) {
  while (!rest.empty()) {
    TRAIND_ASSIGN(const Part part, TakePart(literal, &rest));
    TRAIND_ASSIGN(const Unit* unit, FindUnit(literal, part.unit));
    if (unit->dimension != Dimension::kSeconds || previous->dimension != Dimension::kSeconds) {
      return Refuse(literal, "only durations can be joined, like 1d12h");
    }
    if (Scale(*unit) >= Scale(*previous)) {
      return Refuse(literal, "the parts of a duration go from larger units to smaller ones, like 1d12h");
    }
    if (!*written_whole) return Refuse(literal, "only the last part of a duration may have a fraction");
    const Decimal scaled{part.number.mantissa * unit->factor, part.number.exponent + unit->exponent};
    if (!Add(sum, scaled)) return Refuse(literal, "the duration has too many digits");
    *written_whole = part.written_whole;
    previous = unit;
  }
  return Ok();
}

// The shortest decimal digits of a double: value = digits · 10^exponent.
struct Shortest {
  std::string digits;
  int exponent;
};

Shortest ShortestDigits(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  const std::string_view written(text, static_cast<size_t>(end - text));
  const size_t e = written.find('e');
  Shortest shortest{{}, 0};
  const std::string_view exponent = written.substr(e + (written[e + 1] == '+' ? 2 : 1));
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), shortest.exponent);
  for (const char c : written.substr(0, e)) {
    if (IsDigit(c)) shortest.digits += c;
  }
  shortest.exponent -= static_cast<int>(shortest.digits.size()) - 1;
  return shortest;
}

// digits · 10^exponent in exponent notation.
std::string WriteScientific(const std::string& digits, int exponent) {
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) text += "." + digits.substr(1);
  const int power = exponent + static_cast<int>(digits.size()) - 1;
  if (power != 0) text += "e" + std::to_string(power);
  return text;
}

std::string WritePlain(const std::string& digits, int exponent) {
  const int whole_digits = exponent + static_cast<int>(digits.size());
  if (exponent >= 0) return digits + std::string(static_cast<size_t>(exponent), '0');
  if (whole_digits <= 0) return "0." + std::string(static_cast<size_t>(-whole_digits), '0') + digits;
  const auto split = static_cast<size_t>(whole_digits);
  return digits.substr(0, split) + "." + digits.substr(split);
}

// A whole number that came as a double is the whole number that its literal reads back as.
Quantity WithInteger(Quantity quantity) {
  const bool whole = std::fabs(quantity.value) < kTwoTo63 && quantity.value == std::trunc(quantity.value);
  if (quantity.integral || !whole) return quantity;
  quantity.integral = true;
  quantity.integer = static_cast<int64_t>(quantity.value);
  return quantity;
}

bool ReadsBack(const std::string& literal, const Quantity& quantity) {
  const Result<Quantity> read = ParseQuantity(literal);
  return read.ok() && *read == quantity;
}

// The number in front of the unit's name, as digits · 10^exponent; where the unit does not divide the value,
// only nearly.
Shortest NumberIn(const Quantity& quantity, const Unit& unit) {
  Shortest number{"0", 0};
  const Wide magnitude = quantity.integer < 0 ? -static_cast<Wide>(quantity.integer) : quantity.integer;
  if (quantity.integral && magnitude % unit.factor == 0) {
    number.digits = std::to_string(static_cast<uint64_t>(magnitude / unit.factor));
  } else {
    number = ShortestDigits(std::fabs(quantity.value) / static_cast<double>(unit.factor));
  }
  number.exponent -= unit.exponent;
  while (number.digits.size() > 1 && number.digits.back() == '0') {
    number.digits.pop_back();
    ++number.exponent;
  }
  if (number.digits == "0") number.exponent = 0;
  return number;
}

// The shortest literal in this unit that reads back equal, if there is one. Whole numbers get no exponent.
std::optional<std::string> LiteralIn(const Quantity& quantity, const Unit& unit) {
  const Shortest number = NumberIn(quantity, unit);
  std::vector<std::string> numbers;
  constexpr int kMaxPlain = 30;
  if (number.exponent <= kMaxPlain &&
      number.exponent + static_cast<int>(number.digits.size()) >= -kMaxPlain) {
    numbers.push_back(WritePlain(number.digits, number.exponent));
  }
  if (!quantity.integral) numbers.push_back(WriteScientific(number.digits, number.exponent));
  std::optional<std::string> best;
  for (const std::string& text : numbers) {
    const std::string literal = (quantity.value < 0 ? "-" : "") + text + std::string(unit.name);
    if ((!best || literal.size() < best->size()) && ReadsBack(literal, quantity)) best = literal;
  }
  return best;
}

}  // namespace

std::string_view DimensionName(Dimension dimension) {
  return kDimensionNames[static_cast<size_t>(dimension)];
}

Result<Quantity> ParseQuantity(std::string_view literal) {
  constexpr size_t kMaxLiteral = 256;
  if (literal.size() > kMaxLiteral) {
    return Refuse(literal.substr(0, 32), "a number of " + std::to_string(literal.size()) + " characters");
  }
  std::string_view rest = literal;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  TRAIND_ASSIGN(const Part first, TakePart(literal, &rest));
  TRAIND_ASSIGN(const Unit* unit, FindUnit(literal, first.unit));
  Decimal sum{first.number.mantissa * unit->factor, first.number.exponent + unit->exponent};
  bool written_whole = first.written_whole;
  TRAIND_TRY(AddDurationParts(literal, rest, unit, &sum, &written_whole));
  return MakeQuantity(literal, sum, unit->dimension, negative, written_whole);
}

std::string PrintQuantity(const Quantity& given) {
  const Quantity quantity = WithInteger(given);
  constexpr int64_t kWrittenOut = 100000;
  const bool plain = quantity.integral && quantity.dimension == Dimension::kNumber &&
                     quantity.integer > -kWrittenOut && quantity.integer < kWrittenOut;
  // The shortest literal wins, of equals that with the larger unit (1d, not 24h), but what is a fraction of a
  // unit is written in the smallest: 600GB/s, not 0.6TB/s.
  std::string best;
  bool best_below_one = true;
  for (const Unit& unit : kUnits) {
    if (!unit.canonical || unit.dimension != quantity.dimension) continue;
    if (plain && !unit.name.empty()) continue;
    const std::optional<std::string> literal = LiteralIn(quantity, unit);
    if (!literal) continue;
    const bool below_one = std::fabs(quantity.value) < Scale(unit);
    const bool better = below_one ? best_below_one && literal->size() < best.size()
                                  : best_below_one || literal->size() <= best.size();
    if (!best.empty() && !better) continue;
    best = *literal;
    best_below_one = below_one;
  }
  return best;
}

}  // namespace traind
