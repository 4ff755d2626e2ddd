// Greedy and softmax sampling.
#include "engine/train/sampling.h"

#include <algorithm>
#include <cmath>

namespace traind::train {

double TokenSampler::Draw() {
  // SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t value = state_ += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  value ^= value >> 31;
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(value >> 11) * kUnit;
}

Result<int32_t> TokenSampler::Next(std::span<const float> logits) {
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    return Status(ErrorCode::NON_FINITE, "a logit is NaN or infinite",
                  "the version's weights are of no use; train it again with a lower learning_rate");
  }
  const auto likeliest = std::ranges::max_element(logits);
  const auto greedy = static_cast<int32_t>(likeliest - logits.begin());
  if (temperature_ <= 0) return greedy;
  weights_.resize(logits.size());
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    sum += std::exp((static_cast<double>(logits[i]) - static_cast<double>(*likeliest)) / temperature_);
    weights_[i] = sum;  // cumulated
  }
  const double target = Draw() * sum;
  const auto chosen = std::ranges::upper_bound(weights_, target);
  if (chosen == weights_.end()) return greedy;
  return static_cast<int32_t>(chosen - weights_.begin());
}

}  // namespace traind::train
