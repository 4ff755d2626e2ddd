// Greedy sampling, and softmax sampling from all tokens or the likeliest.
#include "engine/train/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

// By their numbers, with cumulated weights.
int32_t TokenSampler::DrawFromAll(std::span<const float> logits, int32_t likeliest) {
  const double largest = logits[static_cast<size_t>(likeliest)];
  weights_.resize(logits.size());
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    sum += std::exp((static_cast<double>(logits[i]) - largest) / options_.temperature);
    weights_[i] = sum;
  }
  const double target = Draw() * sum;
  const auto chosen = std::ranges::upper_bound(weights_, target);
  return chosen == weights_.end() ? likeliest : static_cast<int32_t>(chosen - weights_.begin());
}

// The likeliest first; of equals the first.
int32_t TokenSampler::DrawFromLikeliest(std::span<const float> logits) {
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto likelier = [&](int32_t a, int32_t b) {
    const float left = logits[static_cast<size_t>(a)], right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  size_t kept = order_.size();
  if (options_.top_k > 0) kept = std::min(kept, static_cast<size_t>(options_.top_k));
  std::partial_sort(order_.begin(), order_.begin() + static_cast<int64_t>(kept), order_.end(), likelier);
  const double largest = logits[static_cast<size_t>(order_[0])];
  weights_.resize(kept);
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    const double logit = logits[static_cast<size_t>(order_[i])];
    sum += std::exp((logit - largest) / options_.temperature);
    weights_[i] = sum;
  }
  // Up to and with the one that reaches the share.
  const double wanted = options_.top_p * sum;
  const auto last = std::ranges::lower_bound(weights_, wanted);
  if (last != weights_.end()) weights_.resize(static_cast<size_t>(last - weights_.begin()) + 1);
  const double target = Draw() * weights_.back();
  const auto chosen = std::ranges::upper_bound(weights_, target);
  return chosen == weights_.end() ? order_[0] : order_[static_cast<size_t>(chosen - weights_.begin())];
}

Result<int32_t> TokenSampler::Next(std::span<const float> logits) {
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    return Status(ErrorCode::NON_FINITE, "a logit is NaN or infinite",
                  "the version's weights are of no use; train it again with a lower learning_rate");
  }
  const auto likeliest = static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
  if (options_.temperature <= 0) return likeliest;
  if (options_.top_k <= 0 && options_.top_p >= 1) return DrawFromAll(logits, likeliest);
  return DrawFromLikeliest(logits);
}

}  // namespace traind::train
