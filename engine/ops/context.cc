// Chooses the kernels for the device's instruction set.
#include "engine/ops/context.h"

#include "engine/ops/cpu_kernels.h"
#include "engine/ops/onednn_matmul.h"

namespace traind::ops {

namespace generic {
const CpuKernels& Kernels();
}
#ifdef TRAIND_X86_KERNELS
namespace avx2 {
const CpuKernels& Kernels();
}
namespace avx512 {
const CpuKernels& Kernels();
}
#endif

namespace {

const CpuKernels& KernelsFor(InstructionSet set) {
#ifdef TRAIND_X86_KERNELS
  if (set == InstructionSet::kAvx512) return avx512::Kernels();
  if (set == InstructionSet::kAvx2) return avx2::Kernels();
#endif
  (void)set;
  return generic::Kernels();
}

}  // namespace

Context::Context(Device& device, const CpuKernels& kernels, int64_t operations_worth_waking)
    : device_(device), kernels_(kernels), operations_worth_waking_(operations_worth_waking) {}
Context::~Context() = default;

Result<std::unique_ptr<Context>> Context::Create(Device& device, int64_t operations_worth_waking) {
  const Capability& capability = device.capability();
  std::unique_ptr<Context> context(
      new Context(device, KernelsFor(capability.instruction_set), operations_worth_waking));
  TRAIND_ASSIGN(context->onednn_, OnednnMatmul::Create());
  return context;
}

}  // namespace traind::ops
