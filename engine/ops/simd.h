// Vectors for kernels: as many floats as the instruction set's registers hold, in the compiler's own vector
// types.
//
// For `<op>_cpu.cc` only. Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include <stdint.h>

#include "engine/tensor/bfloat16.h"

namespace traind::ops {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Vector __attribute__((vector_size(kLanes * 4)));
typedef int32_t VectorInt __attribute__((vector_size(kLanes * 4)));
typedef uint32_t VectorBits __attribute__((vector_size(kLanes * 4)));

inline Vector Load(const float* from) {
  Vector value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

inline void Store(float* to, Vector value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

inline Vector Broadcast(float value) {
  return value - Vector{};
}

// The first `count` < kLanes elements, and zeros.
inline Vector LoadPart(const float* from, int64_t count) {
  Vector value = {};
  for (int64_t i = 0; i < count; ++i) value[i] = from[i];
  return value;
}

inline void StorePart(float* to, Vector value, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = value[i];
}

typedef uint16_t VectorHalves __attribute__((vector_size(kLanes * 2)));

inline Vector Load(const Bfloat16* from) {
  VectorHalves halves;
  __builtin_memcpy(&halves, from, sizeof(halves));
  return (Vector)(__builtin_convertvector(halves, VectorBits) << 16);
}

// Rounded to the nearest, ties to even; not a number stays one.
inline VectorHalves Halves(Vector value) {
  const VectorBits bits = (VectorBits)value;
  const VectorBits rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  return __builtin_convertvector(value == value ? rounded : VectorBits{} + 0x7fc0U, VectorHalves);
}

inline void Store(Bfloat16* to, Vector value) {
  const VectorHalves halves = Halves(value);
  __builtin_memcpy(to, &halves, sizeof(halves));
}

inline Vector LoadPart(const Bfloat16* from, int64_t count) {
  VectorHalves halves = {};
  for (int64_t i = 0; i < count; ++i) halves[i] = from[i].bits;
  return (Vector)(__builtin_convertvector(halves, VectorBits) << 16);
}

inline void StorePart(Bfloat16* to, Vector value, int64_t count) {
  const VectorHalves halves = Halves(value);
  for (int64_t i = 0; i < count; ++i) to[i].bits = halves[i];
}

// Up to kLanes elements; one of them.
template <typename T>
inline Vector LoadUpTo(const T* from, int64_t count) {
  return count == kLanes ? Load(from) : LoadPart(from, count);
}

template <typename T>
inline void StoreUpTo(T* to, Vector value, int64_t count) {
  if (count == kLanes) {
    Store(to, value);
  } else {
    StorePart(to, value, count);
  }
}

inline float LoadOne(const float* from) {
  return *from;
}

inline float LoadOne(const Bfloat16* from) {
  return LoadPart(from, 1)[0];
}

template <typename T>
inline void StoreOne(T* to, float value) {
  StorePart(to, Broadcast(value), 1);
}

// f(c, lanes) for each vector of [0, count): all lanes but in the last.
template <typename Function>
inline void ForLanes(int64_t count, const Function& f) {
  int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes) f(c, (int64_t)kLanes);
  if (c < count) f(c, count - c);
}

// Sums in a fixed order: halves onto each other.
inline float Sum(Vector value) {
  float lane[kLanes];
  __builtin_memcpy(lane, &value, sizeof(value));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

inline float Max(Vector value) {
  float lane[kLanes];
  __builtin_memcpy(lane, &value, sizeof(value));
  float largest = lane[0];
  for (int i = 1; i < kLanes; ++i) largest = lane[i] > largest ? lane[i] : largest;
  return largest;
}

typedef float Quad __attribute__((vector_size(16)));

inline Quad LoadQuad(const float* from) {
  Quad value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

// Four rows of four elements, written as four columns; strides in elements.
inline void TransposeQuads(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  const Quad a = LoadQuad(from), b = LoadQuad(from + from_stride);
  const Quad c = LoadQuad(from + 2 * from_stride), d = LoadQuad(from + 3 * from_stride);
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Quad column[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                          __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                          __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) __builtin_memcpy(to + i * to_stride, &column[i], sizeof(Quad));
}

// exp(x) for x ≤ 88, within 2 units in the last place; 0 below −87.3, not a number for such.
//
// x = n·ln 2 + r with |r| ≤ ln 2 / 2. exp(r) = 1 + r + r²·q(r), q the polynomial of degree 4 with the least
// greatest relative error (3e-9). 2^n is put together from bits.
inline Vector Exp(Vector x) {
  // 1.5 · 2^23: adding it leaves the nearest integer in the low bits.
  const Vector round = Broadcast(12582912.0F);
  const Vector shifted = x * 1.44269504F + round;
  const Vector n = shifted - round;
  // ln 2 = 0x1.62e4p-1 + 1.42860682e-6, the first short enough that n times it is exact.
  const Vector r = (x - n * 0.693145751953125F) - n * 1.42860682e-6F;
  Vector q = Broadcast(1.3814596e-3F);
  q = q * r + 8.3687175e-3F;
  q = q * r + 4.166839e-2F;
  q = q * r + 1.6666521e-1F;
  q = q * r + 4.9999994e-1F;
  const Vector value = q * (r * r) + r + 1.0F;
  // Unsigned: where x is out of range it wraps around, and the value is not used or not a number.
  const Vector power = (Vector)(((VectorBits)shifted - (VectorBits)round + 127U) << 23);
  return x < -87.33654F ? Vector{} : value * power;
}

}  // namespace
}  // namespace traind::ops
