// Values for numeric tests: seeded, exactly representable in fp32, and compared with a stated tolerance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace traind::testing {

using Values = std::vector<double>;

// Roughly normal, with this standard deviation; the same for the same seed everywhere.
Values RandomValues(int64_t count, uint64_t seed, double deviation = 1);

// Uniform in [0, limit).
std::vector<int32_t> RandomTokens(int64_t count, int64_t limit, uint64_t seed);

// A tensor in fp32 with guards around it, aligned like an arena's slot.
class Tensor {
 public:
  explicit Tensor(const Values& values);
  // Elements that an operator is to write: not a number until it does.
  explicit Tensor(int64_t elements);

  float* data() { return storage_.data() + first_; }
  const float* data() const { return storage_.data() + first_; }
  int64_t elements() const { return elements_; }
  Values values() const { return Values(data(), data() + elements_); }
  bool guards_intact() const;
  bool operator==(const Tensor& other) const;  // bit by bit

 private:
  std::vector<float> storage_;
  int64_t first_ = 0;
  int64_t elements_ = 0;
};

// Empty if |actual − expected| ≤ tolerance · (|expected| + root mean square of expected) everywhere and the
// guards are intact; otherwise says where the difference is largest.
std::string Difference(const Tensor& actual, const Values& expected, double tolerance);

// Empty if `gradient` is that of `loss` by `x`, by central differences; otherwise says where not.
std::string GradientDifference(const std::function<double(const Values&)>& loss, const Values& x,
                               const Values& gradient);

double Dot(const Values& a, const Values& b);

}  // namespace traind::testing

#define assert_close(actual, expected, tolerance) \
  assert_text(::traind::testing::Difference(actual, expected, tolerance), "")
