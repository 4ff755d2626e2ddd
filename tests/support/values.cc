// Values for numeric tests; see the header.
#include "tests/support/values.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace traind::testing {

namespace {

constexpr int64_t kGuard = 32, kAlignmentElements = 16;
constexpr uint32_t kGuardBits = 0x7FC0DEAD;  // not a number

uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

double Uniform(uint64_t seed, uint64_t counter) {
  return static_cast<double>(Mix(Mix(seed) + counter) >> 11) * 0x1p-53;
}

bool IsGuard(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits == kGuardBits;
}

}  // namespace

Values RandomValues(int64_t count, uint64_t seed, double deviation) {
  Values values(count);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;  // of four uniforms: variance 1/3
    for (uint64_t k = 0; k < 4; ++k) sum += Uniform(seed, static_cast<uint64_t>(i) * 4 + k) - 0.5;
    values[i] = static_cast<double>(static_cast<float>(sum * std::sqrt(3.0) * deviation));
  }
  return values;
}

std::vector<int32_t> RandomTokens(int64_t count, int64_t limit, uint64_t seed) {
  std::vector<int32_t> tokens(count);
  for (int64_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<int32_t>(Uniform(seed, static_cast<uint64_t>(i)) * static_cast<double>(limit));
  }
  return tokens;
}

Tensor::Tensor(int64_t elements) : elements_(elements) {
  float guard = 0;
  std::memcpy(&guard, &kGuardBits, sizeof(guard));
  storage_.assign(elements + 2 * kGuard + kAlignmentElements, guard);
  const auto address = reinterpret_cast<uintptr_t>(storage_.data() + kGuard);
  first_ = kGuard + static_cast<int64_t>((64 - address % 64) % 64 / sizeof(float));
  for (int64_t i = 0; i < elements; ++i) data()[i] = std::numeric_limits<float>::quiet_NaN();
}

Tensor::Tensor(const Values& values) : Tensor(static_cast<int64_t>(values.size())) {
  for (int64_t i = 0; i < elements_; ++i) data()[i] = static_cast<float>(values[i]);
}

bool Tensor::guards_intact() const {
  for (int64_t i = 0; i < first_; ++i) {
    if (!IsGuard(storage_[i])) return false;
  }
  for (size_t i = first_ + elements_; i < storage_.size(); ++i) {
    if (!IsGuard(storage_[i])) return false;
  }
  return true;
}

bool Tensor::operator==(const Tensor& other) const {
  return elements_ == other.elements_ && std::memcmp(data(), other.data(), elements_ * sizeof(float)) == 0;
}

std::string Difference(const Tensor& actual, const Values& expected, double tolerance) {
  if (actual.elements() != static_cast<int64_t>(expected.size())) return "other number of elements";
  if (!actual.guards_intact()) return "something was written beyond the tensor";
  const double mean_square =
      expected.empty() ? 0 : Dot(expected, expected) / static_cast<double>(expected.size());
  double worst = 0;
  int64_t worst_at = -1;
  for (int64_t i = 0; i < actual.elements(); ++i) {
    const double allowed = tolerance * (std::fabs(expected[i]) + std::sqrt(mean_square)) + 1e-37;
    const double excess = std::fabs(static_cast<double>(actual.data()[i]) - expected[i]) / allowed;
    if (!(excess <= 1) && (worst_at < 0 || !(excess <= worst))) {
      worst = excess;
      worst_at = i;
    }
  }
  if (worst_at < 0) return {};
  return "element " + std::to_string(worst_at) + " is " + std::to_string(actual.data()[worst_at]) +
         " instead of " + std::to_string(expected[worst_at]) + ": " + std::to_string(worst) +
         " times the tolerance";
}

std::string GradientDifference(const std::function<double(const Values&)>& loss, const Values& x,
                               const Values& gradient) {
  // The step balances truncation (h²) and rounding (1e-16 / h).
  constexpr double kStep = 1e-5, kTolerance = 1e-8;
  if (gradient.size() != x.size()) return "other number of elements";
  const double scale = std::sqrt(Dot(gradient, gradient) / static_cast<double>(gradient.size()));
  Values moved = x;
  for (size_t i = 0; i < x.size(); ++i) {
    moved[i] = x[i] + kStep;
    const double above = loss(moved);
    moved[i] = x[i] - kStep;
    const double below = loss(moved);
    moved[i] = x[i];
    const double slope = (above - below) / (2 * kStep);
    if (!(std::fabs(slope - gradient[i]) <= kTolerance * (1 + scale))) {
      return "element " + std::to_string(i) + ": gradient " + std::to_string(gradient[i]) + ", slope " +
             std::to_string(slope);
    }
  }
  return {};
}

double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace traind::testing
