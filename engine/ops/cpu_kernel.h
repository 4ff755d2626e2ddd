// What every `<op>_cpu.cc` includes: the namespace of the instruction set it is compiled for.
//
// CMakeLists.txt compiles these files with TRAIND_KERNELS = generic, avx2 or avx512.
#pragma once

#include <stdint.h>

#include "engine/ops/cpu_kernels.h"

#ifndef TRAIND_KERNELS
#error "kernels are compiled once per instruction set, with TRAIND_KERNELS naming it"
#endif

namespace traind::ops::TRAIND_KERNELS {

void InstallAdamw(CpuKernels& table);
void InstallAttention(CpuKernels& table);
void InstallBias(CpuKernels& table);
void InstallCachedAttention(CpuKernels& table);
void InstallCrossEntropy(CpuKernels& table);
void InstallElementwise(CpuKernels& table);
void InstallEmbedding(CpuKernels& table);
void InstallGelu(CpuKernels& table);
void InstallLayerNorm(CpuKernels& table);
void InstallMatmul(CpuKernels& table);
void InstallMatmulBf16(CpuKernels& table);
void InstallPosition(CpuKernels& table);
void InstallRmsNorm(CpuKernels& table);
void InstallRope(CpuKernels& table);
void InstallSquareNorm(CpuKernels& table);
void InstallSwiglu(CpuKernels& table);

}  // namespace traind::ops::TRAIND_KERNELS
