// Choosing the next token from its logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"

namespace traind::train {

// In this order: logits / temperature, the top_k likeliest of them, the fewest of those whose probabilities
// add up to top_p.
struct SamplingOptions {
  double temperature = 1;  // ≤ 0 takes the likeliest token, the first of equals
  int64_t top_k = 0;       // 0: all
  double top_p = 1;        // at least the likeliest token is kept
  int64_t seed = 0;
};

// A sequence of choices that depends on the options and the logits alone.
class TokenSampler {
 public:
  explicit TokenSampler(const SamplingOptions& options)
      : options_(options), state_(static_cast<uint64_t>(options.seed)) {}

  // An index into `logits`. NON_FINITE if one is NaN or infinite.
  Result<int32_t> Next(std::span<const float> logits);

 private:
  // Uniform in [0, 1), 53 bits.
  double Draw();
  int32_t DrawFromAll(std::span<const float> logits, int32_t likeliest);
  int32_t DrawFromLikeliest(std::span<const float> logits);

  const SamplingOptions options_;
  uint64_t state_;
  std::vector<double> weights_;
  std::vector<int32_t> order_;
};

}  // namespace traind::train
