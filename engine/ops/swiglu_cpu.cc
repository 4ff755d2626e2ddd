// SwiGLU on the CPU.
#include "engine/ops/cpu_kernel.h"
#include "engine/ops/simd.h"

namespace traind::ops::TRAIND_KERNELS {
namespace {

// Below −88 it is below 1e-38.
Vector Sigmoid(Vector x) {
  const Vector raised = x < -88.0F ? Broadcast(-88.0F) : x;
  return 1.0F / (1.0F + Exp(-raised));
}

template <typename T>
void Forward(int threads, int64_t rows, int64_t channels, const T* gate_up, T* y) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const T* gate = gate_up + row * 2 * channels;
    const T* up = gate + channels;
    T* out = y + row * channels;
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      const Vector g = Load(gate + c);
      Store(out + c, g * Sigmoid(g) * Load(up + c));
    }
    if (c < channels) {
      const int64_t left = channels - c;
      const Vector g = LoadPart(gate + c, left);
      StorePart(out + c, g * Sigmoid(g) * LoadPart(up + c, left), left);
    }
  }
}

struct GateUp {
  Vector gate, up;
};

GateUp Gradient(Vector gate, Vector up, Vector dy) {
  const Vector s = Sigmoid(gate);
  return {dy * up * s * (1.0F + gate * (1.0F - s)), dy * gate * s};
}

template <typename T>
void BackwardInput(int threads, int64_t rows, int64_t channels, const T* gate_up, const T* dy, T* dgate_up) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const T* gate = gate_up + row * 2 * channels;
    const T* up = gate + channels;
    const T* gradient = dy + row * channels;
    T* dgate = dgate_up + row * 2 * channels;
    T* dup = dgate + channels;
    int64_t c = 0;
    for (; c + kLanes <= channels; c += kLanes) {
      const GateUp d = Gradient(Load(gate + c), Load(up + c), Load(gradient + c));
      Store(dgate + c, d.gate);
      Store(dup + c, d.up);
    }
    if (c < channels) {
      const int64_t left = channels - c;
      const GateUp d =
          Gradient(LoadPart(gate + c, left), LoadPart(up + c, left), LoadPart(gradient + c, left));
      StorePart(dgate + c, d.gate, left);
      StorePart(dup + c, d.up, left);
    }
  }
}

template <typename T>
void Fill(TypedKernels<T>& table) {
  table.swiglu_forward = Forward<T>;
  table.swiglu_backward_input = BackwardInput<T>;
}

}  // namespace

void InstallSwiglu(CpuKernels& table) {
  Fill(table.fp32);
  Fill(table.bf16);
}

}  // namespace traind::ops::TRAIND_KERNELS
