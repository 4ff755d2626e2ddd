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

void Forward(int threads, int64_t rows, int64_t channels, const float* gate_up, float* y) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* gate = gate_up + row * 2 * channels;
    const float* up = gate + channels;
    float* out = y + row * channels;
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

void BackwardInput(int threads, int64_t rows, int64_t channels, const float* gate_up, const float* dy,
                   float* dgate_up) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    const float* gate = gate_up + row * 2 * channels;
    const float* up = gate + channels;
    const float* gradient = dy + row * channels;
    float* dgate = dgate_up + row * 2 * channels;
    float* dup = dgate + channels;
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

}  // namespace

void InstallSwiglu(CpuKernels& table) {
  table.swiglu_forward = Forward;
  table.swiglu_backward_input = BackwardInput;
}

}  // namespace traind::ops::TRAIND_KERNELS
