// Choosing the next token from its logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"

namespace traind::train {

// A sequence of choices that depends on the seed and the logits alone.
class TokenSampler {
 public:
  // temperature ≤ 0 takes the likeliest token, the first of equals.
  TokenSampler(double temperature, int64_t seed)
      : temperature_(temperature), state_(static_cast<uint64_t>(seed)) {}

  // An index into `logits`, drawn from softmax(logits / temperature). NON_FINITE if one is NaN or infinite.
  Result<int32_t> Next(std::span<const float> logits);

 private:
  // Uniform in [0, 1), 53 bits.
  double Draw();

  double temperature_;
  uint64_t state_;
  std::vector<double> weights_;
};

}  // namespace traind::train
