// Quantities: what literals mean, what is refused, and printing as reading's inverse.
#include "engine/base/quantity.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/support/test.h"

namespace traind {
namespace {

struct Reading {
  const char* literal;
  double value;
  bool integral;
  Dimension dimension;
  const char* canonical;
};

constexpr double kGiB = 1073741824.0;

constexpr Reading kReadings[] = {
    {"0", 0, true, Dimension::kNumber, "0"},
    {"-0", 0, true, Dimension::kNumber, "0"},
    {"7", 7, true, Dimension::kNumber, "7"},
    {"007", 7, true, Dimension::kNumber, "7"},
    {"-5", -5, true, Dimension::kNumber, "-5"},
    {"1024", 1024, true, Dimension::kNumber, "1024"},
    {"99999", 99999, true, Dimension::kNumber, "99999"},
    {"100000", 100000, true, Dimension::kNumber, "100K"},
    {"123456", 123456, true, Dimension::kNumber, "123456"},
    {"0.5", 0.5, false, Dimension::kNumber, "0.5"},
    {".5", 0.5, false, Dimension::kNumber, "0.5"},
    {"1.0", 1, true, Dimension::kNumber, "1"},
    {"3e-4", 3e-4, false, Dimension::kNumber, "3e-4"},
    {"3E-4", 3e-4, false, Dimension::kNumber, "3e-4"},
    {"0.1", 0.1, false, Dimension::kNumber, "0.1"},
    {"0.01", 0.01, false, Dimension::kNumber, "0.01"},
    {"1e3", 1000, true, Dimension::kNumber, "1000"},
    {"1e19", 1e19, false, Dimension::kNumber, "1e19"},
    {"1e300", 1e300, false, Dimension::kNumber, "1e300"},
    {"5e-324", 5e-324, false, Dimension::kNumber, "5e-324"},
    {"1e-400", 0, true, Dimension::kNumber, "0"},
    {"1K", 1000, true, Dimension::kNumber, "1000"},
    {"1.5K", 1500, true, Dimension::kNumber, "1500"},
    {"1M", 1e6, true, Dimension::kNumber, "1M"},
    {"20B", 20e9, true, Dimension::kNumber, "20B"},
    {"8Ki", 8192, true, Dimension::kNumber, "8192"},
    {"512Ki", 524288, true, Dimension::kNumber, "512Ki"},
    {"3Mi", 3145728, true, Dimension::kNumber, "3Mi"},
    {"24GiB", 24 * kGiB, true, Dimension::kBytes, "24GiB"},
    {"1.5GiB", 1.5 * kGiB, true, Dimension::kBytes, "1.5GiB"},
    {"80GB", 80e9, true, Dimension::kBytes, "80GB"},
    {"0.1kB", 100, true, Dimension::kBytes, "0.1kB"},
    {"1KB", 1000, true, Dimension::kBytes, "1kB"},
    {"1TiB", 1024 * kGiB, true, Dimension::kBytes, "1TiB"},
    {"2TB", 2e12, true, Dimension::kBytes, "2TB"},
    {"512MiB", 512.0 * 1048576, true, Dimension::kBytes, "512MiB"},
    {"30m", 1800, true, Dimension::kSeconds, "30m"},
    {"90s", 90, true, Dimension::kSeconds, "90s"},
    {"1d12h", 129600, true, Dimension::kSeconds, "36h"},
    {"1d12h30m5s", 131405, true, Dimension::kSeconds, "131405s"},
    {"1h0.5s", 3600.5, false, Dimension::kSeconds, "3600.5s"},
    {"24h", 86400, true, Dimension::kSeconds, "1d"},
    {"0.1h", 360, true, Dimension::kSeconds, "6m"},
    {"2us", 2e-6, false, Dimension::kSeconds, "2us"},
    {"7ms", 7e-3, false, Dimension::kSeconds, "7ms"},
    {"1000ms", 1, true, Dimension::kSeconds, "1s"},
    {"0s", 0, true, Dimension::kSeconds, "0s"},
    {"500USD", 500, true, Dimension::kUSD, "500USD"},
    {"1.89USD", 1.89, false, Dimension::kUSD, "1.89USD"},
    {"40kWh", 40, true, Dimension::kKilowattHours, "40kWh"},
    {"8gpu_hours", 8, true, Dimension::kGpuHours, "8gpu_hours"},
    {"1gpu_hour", 1, true, Dimension::kGpuHours, "1gpu_hours"},
    {"0.5gpu_hours", 0.5, false, Dimension::kGpuHours, "0.5gpu_hours"},
    {"312TFLOPS", 312e12, true, Dimension::kFlopsPerSecond, "312TFLOPS"},
    {"9PFLOPS", 9e15, true, Dimension::kFlopsPerSecond, "9PFLOPS"},
    {"600GB/s", 600e9, true, Dimension::kBytesPerSecond, "600GB/s"},
    {"1GiB/s", kGiB, true, Dimension::kBytesPerSecond, "1GiB/s"},
    {"10%", 0.1, false, Dimension::kPercent, "10%"},
    {"12.5%", 0.125, false, Dimension::kPercent, "12.5%"},
    {"100%", 1, true, Dimension::kPercent, "100%"},
};

void literals_mean_what_the_language_says(void**) {
  for (const Reading& row : kReadings) {
    const auto quantity = ParseQuantity(row.literal);
    assert_ok(quantity);
    if (quantity->value != row.value || quantity->integral != row.integral ||
        quantity->dimension != row.dimension) {
      std::fprintf(stderr, "%s: %.17g\n", row.literal, quantity->value);
      fail();
    }
    if (row.integral) assert_true(static_cast<double>(quantity->integer) == row.value);
    assert_text(PrintQuantity(*quantity), row.canonical);
    const auto again = ParseQuantity(row.canonical);
    assert_ok(again);
    assert_true(*again == *quantity);
  }
}

void bad_literals_are_refused(void**) {
  for (const char* literal : {"",
                              "-",
                              "x",
                              "K",
                              "--1",
                              "+1",
                              "1.",
                              "1..2",
                              "1.2.3",
                              "1 K",
                              "1kb",
                              "1gb",
                              "1GIB",
                              "1gib",
                              "1k",
                              "1b",
                              "1H",
                              "1D",
                              "1S",
                              "1usd",
                              "1kwh",
                              "1KWH",
                              "1GPU_HOURS",
                              "1tflops",
                              "1gb/s",
                              "1GB/",
                              "1%%",
                              "1 %",
                              "1e",
                              "1e+",
                              "0x10",
                              "1_000",
                              "1,000",
                              "inf",
                              "nan",
                              "1h1h",
                              "1h2d",
                              "1m1h",
                              "1d12",
                              "1.5d12h",
                              "1d12GiB",
                              "1GiB1s",
                              "1K1K",
                              "1e999",
                              "-1e999",
                              "1e99999999999999999999",
                              "9223372036854775808",
                              "-9223372036854775808",
                              "99999999999999999999",
                              "10000000000B",
                              "9007199254740993TiB",
                              "1\xc3\xa9",
                              "12345678901234567890123456"}) {
    const auto quantity = ParseQuantity(literal);
    if (quantity.ok()) {
      std::fprintf(stderr, "%s is read as %.17g\n", literal, quantity->value);
      fail();
    }
    assert_int_equal(quantity.status().code(), ErrorCode::INVALID_NUMBER);
    assert_false(quantity.status().hint().empty());
  }
  assert_code(ParseQuantity(std::string(100000, '1')), ErrorCode::INVALID_NUMBER);
  assert_code(ParseQuantity(std::string_view("1\0", 2)), ErrorCode::INVALID_NUMBER);
}

void a_wrong_unit_names_the_right_one(void**) {
  assert_text(ParseQuantity("24gb").status().message(),
              "'24gb': unknown unit 'gb'; did you mean 'GB'? (units are case-sensitive)");
  assert_text(ParseQuantity("8gpu_hrs").status().message(),
              "'8gpu_hrs': unknown unit 'gpu_hrs'; did you mean 'gpu_hours'? (units are case-sensitive)");
}

void integers_are_exact_to_the_limit(void**) {
  const auto most = ParseQuantity("9223372036854775807");
  assert_ok(most);
  assert_true(most->integral && most->integer == std::numeric_limits<int64_t>::max());
  assert_text(PrintQuantity(*most), "9223372036854775807");
  const auto odd = ParseQuantity("9007199254740993");  // 2^53 + 1, which no double is
  assert_ok(odd);
  assert_true(odd->integral && odd->integer == 9007199254740993);
  assert_text(PrintQuantity(*odd), "9007199254740993");
  const auto least = ParseQuantity("-9223372036854775807");
  assert_ok(least);
  assert_true(least->integer == -std::numeric_limits<int64_t>::max());
}

void dimension_names(void**) {
  assert_text(DimensionName(Dimension::kBytes), "bytes");
  assert_text(DimensionName(Dimension::kSeconds), "a duration");
  assert_text(DimensionName(Dimension::kPercent), "a percentage");
}

// As a JSON number or an option's default may come: whole, but not said to be.
void whole_numbers_given_as_doubles_are_printed_whole(void**) {
  assert_text(PrintQuantity({5, false, 0, Dimension::kNumber}), "5");
  assert_text(PrintQuantity({-3, false, 0, Dimension::kNumber}), "-3");
  assert_text(PrintQuantity({0, false, 0, Dimension::kNumber}), "0");
  assert_text(PrintQuantity({5400, false, 0, Dimension::kSeconds}), "90m");
  assert_text(PrintQuantity({1e30, false, 0, Dimension::kNumber}), "1e30");
  assert_text(PrintQuantity({0.5, false, 0, Dimension::kNumber}), "0.5");
}

// Whatever is read is printed as something that is read as the same, and printing is stable.
void check_inverse(const Quantity& quantity, const std::string& from) {
  const std::string printed = PrintQuantity(quantity);
  const auto again = ParseQuantity(printed);
  if (!again.ok() || !(*again == quantity) || PrintQuantity(*again) != printed) {
    std::fprintf(stderr, "%s is printed as '%s'\n", from.c_str(), printed.c_str());
    fail();
  }
}

void printing_inverts_reading(void**) {
  std::mt19937_64 random(20261203);
  const char* units[] = {"",    "K",   "M",   "B",    "Ki",    "Mi",     "kB",     "MB",       "GB", "TB",
                         "KiB", "MiB", "GiB", "TiB",  "us",    "ms",     "s",      "m",        "h",  "d",
                         "USD", "kWh", "%",   "GB/s", "MiB/s", "GFLOPS", "TFLOPS", "gpu_hours"};
  int read = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string literal = random() % 4 == 0 ? "-" : "";
    const auto digits = random() % 22;
    for (uint64_t d = 0; d <= digits; ++d) literal += static_cast<char>('0' + random() % 10);
    if (random() % 2 == 0) {
      literal += '.';
      for (uint64_t d = 0; d <= random() % 6; ++d) literal += static_cast<char>('0' + random() % 10);
    }
    if (random() % 4 == 0) literal += "e" + std::to_string(static_cast<int>(random() % 60) - 30);
    literal += units[random() % std::size(units)];
    const auto quantity = ParseQuantity(literal);
    if (!quantity.ok()) continue;
    ++read;
    check_inverse(*quantity, literal);
  }
  assert_true(read > 100000);
}

void printing_inverts_every_double(void**) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const uint64_t bits = random();
    Quantity quantity;
    std::memcpy(&quantity.value, &bits, sizeof bits);
    const double size = std::fabs(quantity.value);
    if (!std::isfinite(quantity.value) || (size < 9.3e18 && size == std::floor(size))) continue;
    check_inverse(quantity, std::to_string(quantity.value));
  }
}

void random_bytes_never_break_it(void**) {
  std::mt19937_64 random(11);
  const std::string_view alphabet("0123456789.eE+-KMBGTikmsdhu%/USDgpu_hours \0\xff", 44);
  for (int i = 0; i < 300000; ++i) {
    std::string literal;
    for (uint64_t d = 0; d < random() % 12; ++d) literal += alphabet[random() % alphabet.size()];
    const auto quantity = ParseQuantity(literal);
    if (quantity.ok()) check_inverse(*quantity, literal);
  }
}

void bytes_for_people(void**) {
  assert_text(FormatBytes(0), "0 B");
  assert_text(FormatBytes(1023), "1023 B");
  assert_text(FormatBytes(1024), "1.00 KiB");
  assert_text(FormatBytes(1.5 * kGiB), "1.50 GiB");
  assert_text(FormatBytes(123.4 * 1048576), "123 MiB");
  assert_text(FormatBytes(1023.9 * 1024), "1.00 MiB");
  assert_text(FormatBytes(-2048), "-2.00 KiB");
  assert_text(FormatBytes(std::nan("")), "unknown");
  assert_text(FormatBytes(HUGE_VAL), "unknown");
  assert_text(FormatBytes(9.2e18), "7.98 EiB");
}

void durations_for_people(void**) {
  assert_text(FormatDuration(0), "0 s");
  assert_text(FormatDuration(2e-6), "2.00 us");
  assert_text(FormatDuration(0.0123), "12.3 ms");
  assert_text(FormatDuration(0.9999), "1.0 s");
  assert_text(FormatDuration(12.34), "12.3 s");
  assert_text(FormatDuration(59.97), "1m 00s");
  assert_text(FormatDuration(630), "10m 30s");
  assert_text(FormatDuration(3599.7), "1h 00m");
  assert_text(FormatDuration(7500), "2h 05m");
  assert_text(FormatDuration(86399), "1d 00h");
  assert_text(FormatDuration(129600), "1d 12h");
  assert_text(FormatDuration(-630), "-10m 30s");
  assert_text(FormatDuration(std::nan("")), "unknown");
  assert_text(FormatDuration(1e300), "1.16e+295 d");
}

void counts_for_people(void**) {
  assert_text(FormatCount(0), "0");
  assert_text(FormatCount(8192), "8,192");
  assert_text(FormatCount(999999), "999,999");
  assert_text(FormatCount(1.2e6), "1.20M");
  assert_text(FormatCount(999.9e6), "1.00B");
  assert_text(FormatCount(20e9), "20.0B");
  assert_text(FormatCount(3.5e12), "3.50T");
  assert_text(FormatCount(12.34), "12.3");
  assert_text(FormatCount(-8192), "-8,192");
  assert_text(FormatCount(HUGE_VAL), "unknown");
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(literals_mean_what_the_language_says),
      cmocka_unit_test(bad_literals_are_refused),
      cmocka_unit_test(a_wrong_unit_names_the_right_one),
      cmocka_unit_test(integers_are_exact_to_the_limit),
      cmocka_unit_test(dimension_names),
      cmocka_unit_test(whole_numbers_given_as_doubles_are_printed_whole),
      cmocka_unit_test(printing_inverts_reading),
      cmocka_unit_test(printing_inverts_every_double),
      cmocka_unit_test(random_bytes_never_break_it),
      cmocka_unit_test(bytes_for_people),
      cmocka_unit_test(durations_for_people),
      cmocka_unit_test(counts_for_people),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
