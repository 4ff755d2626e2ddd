// One instruction set's table of kernels; compiled once per set, like the kernels.
#include "engine/ops/cpu_kernels.h"

#include "engine/ops/cpu_kernel.h"

namespace traind::ops::TRAIND_KERNELS {

const CpuKernels& Kernels() {
  static const CpuKernels table = [] {
    CpuKernels filled = {};
    InstallAdamw(filled);
    InstallAttention(filled);
    InstallBias(filled);
    InstallCachedAttention(filled);
    InstallCrossEntropy(filled);
    InstallElementwise(filled);
    InstallEmbedding(filled);
    InstallGelu(filled);
    InstallLayerNorm(filled);
    InstallMatmul(filled);
    InstallMatmulBf16(filled);
    InstallPosition(filled);
    InstallRmsNorm(filled);
    InstallRope(filled);
    InstallSquareNorm(filled);
    InstallSwiglu(filled);
    return filled;
  }();
  return table;
}

}  // namespace traind::ops::TRAIND_KERNELS
