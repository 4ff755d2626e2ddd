// Rotary position embedding (Su et al. 2021), in Hugging Face's layout for Llama: dimension i is paired with
// i + D/2, and the pair is rotated by the angle position · f_i.
#pragma once

#include <cstdint>

#include "engine/ops/context.h"

namespace traind::ops {

// A row of the fused buffer holds the queries of all heads, then the keys, then the values of all key-value
// heads: (heads + 2·kv_heads) · head_size elements. Row b·sequence + t has position t.
struct RopeShape {
  int64_t batch = 0;
  int64_t sequence = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;  // even
};

enum class RopeStretch { kNone, kLinear, kLlama3 };

// The angle that pair i turns by from one position to the next: f_i = theta^(−2i/D), and how models that were
// trained on short sequences reach further. Linear: f_i / factor. Llama 3, with the wavelength 2π/f_i:
// f_i / factor where it is above original/low, f_i where it is below original/high, and between them
// (1 − s)·f_i/factor + s·f_i with s = (original/wavelength − low) / (high − low).
struct RopeFrequencies {
  double theta = 10000;
  RopeStretch stretch = RopeStretch::kNone;
  double factor = 1;
  double low = 1;
  double high = 4;
  double original = 8192;  // positions
};

// Elements of a table: the cosines, then the sines, of D/2 angles, for each position.
constexpr int64_t RopeTableElements(int64_t sequence, int64_t head_size) {
  return sequence * head_size;
}

// table[t] = cos(t·f_0) … cos(t·f_{D/2−1}), sin(t·f_0) … sin(t·f_{D/2−1}); f_i and t·f_i are rounded to fp32
// as Hugging Face does, so that trained weights mean the same.
Status RopeTable(int64_t sequence, int64_t head_size, const RopeFrequencies& frequencies, float* table_TD);

// Rotates the queries and keys of qkv in place; the values stay. `table` covers at least `sequence`
// positions.
template <typename T>
Status RopeForward(Context& context, const RopeShape& shape, const float* table_TD, T* qkv);

// Rotates the gradients back, in place.
template <typename T>
Status RopeBackwardInput(Context& context, const RopeShape& shape, const float* table_TD, T* dqkv);

}  // namespace traind::ops
