// Elementwise operators on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/parallel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

template <typename T>
void Add(int threads, int64_t elements, const T* a, const T* b, T* y) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
    ForLanes(end - begin, [=](int64_t i, int64_t lanes) {
      StoreUpTo(y + begin + i, LoadUpTo(a + begin + i, lanes) + LoadUpTo(b + begin + i, lanes), lanes);
    });
  });
}

template <typename T>
void FillWith(int threads, int64_t elements, float value, T* x) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
    const Vector all = Broadcast(value);
    ForLanes(end - begin, [=](int64_t i, int64_t lanes) { StoreUpTo(x + begin + i, all, lanes); });
  });
}

template <typename T>
void Scale(int threads, int64_t elements, float factor, T* x) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
    ForLanes(end - begin, [=](int64_t i, int64_t lanes) {
      StoreUpTo(x + begin + i, LoadUpTo(x + begin + i, lanes) * factor, lanes);
    });
  });
}

void Round(int threads, int64_t elements, const float* x, Bfloat16* y) {
  ForParts(threads, elements, [=](int64_t begin, int64_t end) {
    ForLanes(end - begin, [=](int64_t i, int64_t lanes) {
      StoreUpTo(y + begin + i, LoadUpTo(x + begin + i, lanes), lanes);
    });
  });
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.add = Add<T>;
  table.fill = FillWith<T>;
  table.scale = Scale<T>;
}

}  // namespace

void InstallElementwise(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
  table.round = Round;
}

}  // namespace traind::ops::TRAIND_KERNELS
