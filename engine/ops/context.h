// Context: what every operator call is given: the device, its kernels and the matrix products prepared so
// far.
//
// How operators are written here, all of them:
// - `<op>.h` is the contract, `<op>.cc` checks the arguments and dispatches, `<op>_cpu.cc` computes on the
// CPU.
// - Tensors are raw pointers in row-major order, borrowed for the call: T* to fp32 or bf16 (Bfloat16), of
//   which arithmetic is done in fp32; statistics, losses and gradients of weights are always fp32. A suffix
//   gives the shape:
//   B sequences, T positions, R rows (B·T), C channels (hidden size), I/O input/output features, V
//   vocabulary, H heads, G key-value heads (groups), D head size. Distinct arguments do not overlap unless
//   the contract says so.
// - `backward_input` writes the gradient of the operator's input, `backward_weight` *adds* to that of its
// weight.
// - Nothing is allocated during a call, but for preparing a matrix product when its shape is first seen (a
// few
//   KiB, kept; see linear.h). Scratch comes as a Workspace (engine/tensor/workspace.h).
// - The same arguments give the same bits, for the same instruction set and number of threads.
// - INTERNAL for dimensions, pointers or workspaces that the contract forbids; nothing is written then.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "engine/device/device.h"
#include "engine/tensor/bfloat16.h"

namespace traind::ops {

struct CpuKernels;
class OnednnMatmul;

// Owned by one worker, used by one thread.
class Context {
 public:
  // Below this many operations (a quarter of a millisecond), waking the others, which sleep (50 µs), wins
  // little on an idle machine and loses much on a busy one. An operation is what it takes to read and write
  // an element: about 0.06 ns of a core with AVX-512.
  static constexpr int64_t kOperationsWorthWaking = int64_t{1} << 22;

  // `device` is borrowed and outlives the context.
  static Result<std::unique_ptr<Context>> Create(Device& device,
                                                 int64_t operations_worth_waking = kOperationsWorthWaking);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Device& device() const { return device_; }
  const CpuKernels& kernels() const { return kernels_; }
  OnednnMatmul& onednn() const { return *onednn_; }
  int threads() const { return device_.capability().threads; }

  // How many threads to spread `operations` over: all, or one where waking the others would take longer.
  int ThreadsFor(int64_t operations) const { return operations < operations_worth_waking_ ? 1 : threads(); }

 private:
  Context(Device& device, const CpuKernels& kernels, int64_t operations_worth_waking);

  Device& device_;
  const CpuKernels& kernels_;
  const int64_t operations_worth_waking_;
  std::unique_ptr<OnednnMatmul> onednn_;
};

}  // namespace traind::ops
