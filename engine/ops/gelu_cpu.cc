// GELU on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/parallel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

constexpr float kTwiceSqrt2OverPi = 1.5957691216F;
constexpr float kCubic = 0.044715F;

// Beyond ±16 the function is 0 or its argument to the last bit; within, cubes stay finite.
Vector Clamp(Vector x) {
  const Vector low = x < -16.0F ? Broadcast(-16.0F) : x;
  return low > 16.0F ? Broadcast(16.0F) : low;
}

// exp(−2u).
Vector ExpOf(Vector clamped) {
  const Vector twice_u = kTwiceSqrt2OverPi * clamped * (1.0F + kCubic * clamped * clamped);
  const Vector raised = twice_u < -88.0F ? Broadcast(-88.0F) : twice_u;
  return Exp(-raised);
}

Vector Gelu(Vector x) {
  return x / (1.0F + ExpOf(Clamp(x)));
}

// 1 − s = e·s, without a difference that would cancel.
Vector Slope(Vector x) {
  const Vector clamped = Clamp(x);
  const Vector e = ExpOf(clamped);
  const Vector s = 1.0F / (1.0F + e);
  const Vector twice_du = kTwiceSqrt2OverPi * (1.0F + 3.0F * kCubic * clamped * clamped);
  return s + clamped * s * (e * s) * twice_du;
}

template <typename T>
void ForwardPart(int64_t begin, int64_t end, const T* x, T* y) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) Store(y + i, Gelu(Load(x + i)));
  if (i < end) StorePart(y + i, Gelu(LoadPart(x + i, end - i)), end - i);
}

template <typename T>
void BackwardPart(int64_t begin, int64_t end, const T* x, const T* dy, T* dx) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) Store(dx + i, Load(dy + i) * Slope(Load(x + i)));
  if (i < end) StorePart(dx + i, LoadPart(dy + i, end - i) * Slope(LoadPart(x + i, end - i)), end - i);
}

template <typename T>
void Forward(int threads, int64_t elements, const T* x, T* y) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) { ForwardPart(begin, end, x, y); });
}

template <typename T>
void BackwardInput(int threads, int64_t elements, const T* x, const T* dy, T* dx) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) { BackwardPart(begin, end, x, dy, dx); });
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.gelu_forward = Forward<T>;
  table.gelu_backward_input = BackwardInput<T>;
}

}  // namespace

void InstallGelu(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
