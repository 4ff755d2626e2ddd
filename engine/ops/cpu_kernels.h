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

namespace traind::ops {

struct AdamwFactors;
struct AttentionShape;
struct MatmulShape;
struct RopeShape;

struct CpuKernels {
  void (*embedding_forward)(int threads, int64_t rows, int64_t channels, const int32_t* token,
                            const float* weight, float* y);
  void (*embedding_backward_weight)(int threads, int64_t rows, int64_t channels, const int32_t* token,
                                    const float* dy, float* dweight);
  void (*position_forward)(int threads, int64_t batch, int64_t sequence, int64_t channels,
                           const float* weight, float* x);
  void (*position_backward_weight)(int threads, int64_t batch, int64_t sequence, int64_t channels,
                                   const float* dx, float* dweight);
  // In both norms branch may be null: then sum is not written and x is residual.
  void (*rms_norm_forward)(int threads, int64_t rows, int64_t channels, float epsilon, const float* residual,
                           const float* branch, const float* weight, float* sum, float* y, float* rstd);
  void (*rms_norm_backward_input)(int threads, int64_t rows, int64_t channels, const float* x,
                                  const float* weight, const float* rstd, const float* dy, float* dx);
  void (*rms_norm_backward_weight)(int threads, int64_t rows, int64_t channels, const float* x,
                                   const float* rstd, const float* dy, float* dweight);
  void (*layer_norm_forward)(int threads, int64_t rows, int64_t channels, float epsilon,
                             const float* residual, const float* branch, const float* weight,
                             const float* bias, float* sum, float* y, float* statistic);
  void (*layer_norm_backward_input)(int threads, int64_t rows, int64_t channels, const float* x,
                                    const float* weight, const float* statistic, const float* dy, float* dx);
  void (*layer_norm_backward_weight)(int threads, int64_t rows, int64_t channels, const float* x,
                                     const float* statistic, const float* dy, float* dweight, float* dbias);
  // direction: 1 rotates forward, −1 back.
  void (*rope)(int threads, const RopeShape& shape, float direction, const float* table, float* qkv);
  void (*attention_forward)(int threads, const AttentionShape& shape, const float* qkv, float* out,
                            float* lse, char* workspace);
  void (*attention_backward_input)(int threads, const AttentionShape& shape, const float* qkv,
                                   const float* out, const float* lse, const float* dout, float* dqkv,
                                   char* workspace);
  // `workspace` has LinearWorkspaceBytes(threads).
  void (*matmul)(int threads, const MatmulShape& shape, const float* a, const float* b, float* c,
                 char* workspace);
  // y += bias in each row; dbias += the sum of dy's rows.
  void (*bias_forward)(int threads, int64_t rows, int64_t channels, const float* bias, float* y);
  void (*bias_backward_weight)(int threads, int64_t rows, int64_t channels, const float* dy, float* dbias);
  void (*gelu_forward)(int threads, int64_t elements, const float* x, float* y);
  void (*gelu_backward_input)(int threads, int64_t elements, const float* x, const float* dy, float* dx);
  void (*swiglu_forward)(int threads, int64_t rows, int64_t channels, const float* gate_up, float* y);
  void (*swiglu_backward_input)(int threads, int64_t rows, int64_t channels, const float* gate_up,
                                const float* dy, float* dgate_up);
  void (*add)(int threads, int64_t elements, const float* a, const float* b, float* y);
  void (*fill)(int threads, int64_t elements, float value, float* x);
  void (*scale)(int threads, int64_t elements, float factor, float* x);
  // Writes each row's loss; the logits become gradients if `backward`.
  void (*cross_entropy)(int threads, int64_t rows, int64_t vocab, const int32_t* target, bool backward,
                        float scale, float* logits, double* row_loss);
  double (*square_norm)(int threads, int64_t elements, const float* x);
  void (*adamw)(int threads, const AdamwFactors& factors, int64_t elements, const float* gradient,
                float* weight, float* m, float* v);
};

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
