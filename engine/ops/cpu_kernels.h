// CpuKernels: the CPU's code for each operator, one table per instruction set.
//
// Every `<op>_cpu.cc` is compiled once per instruction set and fills its entries. So that no instruction
// beyond the set can reach another set's code, those files define nothing that the linker merges: all their
// functions have internal linkage but the one that fills the table, and they use no inline function of a
// library (tests/unit/ops/kernel_symbols.sh holds it).
//
// `threads` is 1 or all of the device's. Arguments have been checked; they mean what the operator's header
// says.
#pragma once

#include <stdint.h>

#include "engine/tensor/bfloat16.h"

namespace traind::ops {

struct AdamwFactors;
struct AttentionShape;
struct CachedAttentionShape;
struct MatmulOperands;
struct MatmulShape;
struct RopeShape;

// Of operators whose activations and weights are of type T: float, or Bfloat16 with arithmetic in fp32.
template <typename T>
struct TypedKernels {
  void (*embedding_forward)(int threads, int64_t rows, int64_t channels, const int32_t* token,
                            const T* weight, T* y);
  void (*embedding_backward_weight)(int threads, int64_t rows, int64_t channels, const int32_t* token,
                                    const T* dy, float* dweight);
  void (*position_forward)(int threads, int64_t batch, int64_t sequence, int64_t channels, const T* weight,
                           T* x);
  void (*position_backward_weight)(int threads, int64_t batch, int64_t sequence, int64_t channels,
                                   const T* dx, float* dweight);
  // In both norms branch may be null: then sum is not written and x is residual.
  void (*rms_norm_forward)(int threads, int64_t rows, int64_t channels, float epsilon, const T* residual,
                           const T* branch, const T* weight, T* sum, T* y, float* rstd);
  void (*rms_norm_backward_input)(int threads, int64_t rows, int64_t channels, const T* x, const T* weight,
                                  const float* rstd, const T* dy, T* dx);
  void (*rms_norm_backward_weight)(int threads, int64_t rows, int64_t channels, const T* x, const float* rstd,
                                   const T* dy, float* dweight);
  void (*layer_norm_forward)(int threads, int64_t rows, int64_t channels, float epsilon, const T* residual,
                             const T* branch, const T* weight, const T* bias, T* sum, T* y, float* statistic);
  void (*layer_norm_backward_input)(int threads, int64_t rows, int64_t channels, const T* x, const T* weight,
                                    const float* statistic, const T* dy, T* dx);
  void (*layer_norm_backward_weight)(int threads, int64_t rows, int64_t channels, const T* x,
                                     const float* statistic, const T* dy, float* dweight, float* dbias);
  // direction: 1 rotates forward, −1 back.
  void (*rope)(int threads, const RopeShape& shape, float direction, const float* table, T* qkv);
  void (*attention_forward)(int threads, const AttentionShape& shape, const T* qkv, T* out, float* lse,
                            char* workspace);
  void (*attention_backward_input)(int threads, const AttentionShape& shape, const T* qkv, const T* out,
                                   const float* lse, const T* dout, T* dqkv, char* workspace);
  // y += bias in each row; dbias += the sum of dy's rows.
  // y[r,c] = bias[c].
  void (*bias_rows)(int threads, int64_t rows, int64_t channels, const T* bias, T* y);
  void (*bias_backward_weight)(int threads, int64_t rows, int64_t channels, const T* dy, float* dbias);
  void (*gelu_forward)(int threads, int64_t elements, const T* x, T* y);
  void (*gelu_backward_input)(int threads, int64_t elements, const T* x, const T* dy, T* dx);
  void (*swiglu_forward)(int threads, int64_t rows, int64_t channels, const T* gate_up, T* y);
  void (*swiglu_backward_input)(int threads, int64_t rows, int64_t channels, const T* gate_up, const T* dy,
                                T* dgate_up);
  void (*add)(int threads, int64_t elements, const T* a, const T* b, T* y);
  void (*fill)(int threads, int64_t elements, float value, T* x);
  void (*scale)(int threads, int64_t elements, float factor, T* x);
  // Writes each row's loss; the logits become gradients if `backward`.
  void (*cross_entropy)(int threads, int64_t rows, int64_t vocab, const int32_t* target, bool backward,
                        float scale, T* logits, double* row_loss);
};

struct CpuKernels {
  TypedKernels<float> fp32;
  TypedKernels<Bfloat16> bf16;

  void (*cached_attention_forward)(int threads, const CachedAttentionShape& shape, const float* qkv,
                                   float* cache, float* out);
  // `workspace` has LinearWorkspaceBytes(threads).
  void (*matmul)(int threads, const MatmulShape& shape, const MatmulOperands& at, char* workspace);
  void (*matmul_bf16)(int threads, const MatmulShape& shape, const MatmulOperands& at, char* workspace);
  // to[column, row] = from[row, column]; rows of `from` are `stride` elements apart, those of `to` lie
  // together.
  void (*turn)(int threads, int64_t rows, int64_t columns, int64_t stride, const Bfloat16* from,
               Bfloat16* to);
  void (*round)(int threads, int64_t elements, const float* x, Bfloat16* y);
  double (*square_norm)(int threads, int64_t elements, const float* x);
  // `rounded` may be null.
  void (*adamw)(int threads, const AdamwFactors& factors, int64_t elements, const float* gradient,
                float* weight, float* m, float* v, Bfloat16* rounded);

  // Not for kernels' own files: it is merged by the linker.
  template <typename T>
  const TypedKernels<T>& Of() const;
};

template <>
inline const TypedKernels<float>& CpuKernels::Of<float>() const {
  return fp32;
}

template <>
inline const TypedKernels<Bfloat16>& CpuKernels::Of<Bfloat16>() const {
  return bf16;
}

// AdamwSettings as the kernel wants it: w = w·keep − step_size·m / (sqrt(v)·v_scale + epsilon).
struct AdamwFactors {
  float gradient_scale;
  float beta1, one_minus_beta1;
  float beta2, one_minus_beta2;
  float keep;
  float step_size;
  float v_scale;
  float epsilon;
};

}  // namespace traind::ops
