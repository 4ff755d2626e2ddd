// The counter-based permutation.
#include "engine/data/sampler.h"

#include <algorithm>
#include <cmath>

namespace traind::data {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection that mixes every bit into every
// other.
uint64_t Mix(uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

uint64_t EpochKey(uint64_t seed, uint64_t epoch) {
  return Mix(Mix(seed + kGolden) ^ (epoch + 1) * kGolden);
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t key) : size_(size) {
  while (half_bits_ < 31 && int64_t{1} << (2 * half_bits_) < size) ++half_bits_;
  for (size_t round = 0; round < round_keys_.size(); ++round)
    round_keys_[round] = Mix(key + (round + 1) * kGolden);
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (const uint64_t round_key : round_keys_) {
    const uint64_t next = left ^ (Mix(right ^ round_key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::At(int64_t index) const {
  auto value = static_cast<uint64_t>(index);
  do {
    value = Encrypt(value);
  } while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

Sampler::Sampler(int64_t sequences, int64_t seed)
    : sequences_(sequences), seed_(static_cast<uint64_t>(seed)) {}

int64_t Sampler::SequenceAt(int64_t position) const {
  const auto epoch = static_cast<uint64_t>(position / sequences_);
  return Permutation(sequences_, EpochKey(seed_, epoch)).At(position % sequences_);
}

int64_t StepsForEpochs(double epochs, int64_t sequences, int64_t batch_sequences) {
  const double batches = epochs * static_cast<double>(sequences) / static_cast<double>(batch_sequences);
  const double tolerance = batches * 1e-12;
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(batches - tolerance)));
}

}  // namespace traind::data
