// A counter-based generator, so that any thread can make any value.
#include "engine/model/initialize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

namespace traind::model {
namespace {

using Block = std::array<uint32_t, 4>;

Block Philox(Block counter, uint32_t key_low, uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key_low, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key_high, static_cast<uint32_t>(a)};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return counter;
}

// FNV-1a, 64 bits: the stream of a parameter.
uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char character : name) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3;
  return hash;
}

// Uniform in (0, 1).
double Uniform(uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) * 0x1p-32;
}

// Four independent standard normal values.
std::array<double, 4> Normals(const Block& bits) {
  std::array<double, 4> values{};
  for (size_t pair = 0; pair < 4; pair += 2) {
    const double radius = std::sqrt(-2 * std::log(Uniform(bits[pair])));
    const double angle = 2 * std::numbers::pi * Uniform(bits[pair + 1]);
    values[pair] = radius * std::cos(angle);
    values[pair + 1] = radius * std::sin(angle);
  }
  return values;
}

}  // namespace

void InitializeParameter(const plan::Parameter& parameter, int64_t seed, double standard_deviation,
                         std::span<float> weights) {
  if (parameter.initializer == plan::Initializer::kOnes) {
    std::ranges::fill(weights, 1.0F);
    return;
  }
  if (parameter.initializer == plan::Initializer::kZeros) {
    std::ranges::fill(weights, 0.0F);
    return;
  }
  const uint64_t stream = HashName(parameter.name);
  const auto key = static_cast<uint64_t>(seed);
  const auto elements = static_cast<int64_t>(weights.size());
#pragma omp parallel for schedule(static)
  for (int64_t block = 0; block < (elements + 3) / 4; ++block) {
    const Block counter = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                           static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
    const std::array<double, 4> normals =
        Normals(Philox(counter, static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)));
    const int64_t count = std::min<int64_t>(4, elements - 4 * block);
    for (int64_t i = 0; i < count; ++i) {
      weights[static_cast<size_t>(4 * block + i)] =
          static_cast<float>(normals[static_cast<size_t>(i)] * standard_deviation);
    }
  }
}

}  // namespace traind::model
