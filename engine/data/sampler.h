// The order in which sequences are trained on: a permutation per epoch that needs no memory.
//
// Sequence k of epoch e depends on the seed, e and k alone, never on the plan, so that any number of devices,
// and a run that was interrupted anywhere, sees the same data in the same order.
#pragma once

#include <array>
#include <cstdint>

namespace traind::data {

// A permutation of [0, size): a Feistel network over the next power of four, walked along its cycles until it
// lands inside (format-preserving encryption by Black and Rogaway, 2002).
class Permutation {
 public:
  // size ≥ 1.
  Permutation(int64_t size, uint64_t key);
  // index in [0, size).
  int64_t At(int64_t index) const;

 private:
  static constexpr int kRounds = 8;

  uint64_t Encrypt(uint64_t value) const;

  int64_t size_;
  int half_bits_ = 0;
  std::array<uint64_t, kRounds> round_keys_;
};

// The endless sequence of sequences: epoch after epoch, each a permutation of its own.
class Sampler {
 public:
  // `sequences` ≥ 1.
  Sampler(int64_t sequences, int64_t seed);

  int64_t sequences() const { return sequences_; }
  // The sequence at `position` ≥ 0; epoch position / sequences.
  int64_t SequenceAt(int64_t position) const;

 private:
  int64_t sequences_;
  uint64_t seed_;
};

// Updates that make `epochs` passes over the data: ceil(epochs · sequences / batch), where a product within
// rounding of a whole number counts as that.
int64_t StepsForEpochs(double epochs, int64_t sequences, int64_t batch_sequences);

}  // namespace traind::data
