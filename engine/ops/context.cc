// Chooses the kernels for the device's instruction set, and the number of threads for a piece of work.
#include "engine/ops/context.h"

#include "engine/ops/cpu_kernels.h"
#include "engine/ops/matmul.h"

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

// Below this, one thread is done before the others are awake.
constexpr int64_t kOperationsWorthWaking = int64_t{1} << 18;

const CpuKernels& KernelsFor(InstructionSet set) {
#ifdef TRAIND_X86_KERNELS
  if (set == InstructionSet::kAvx512) return avx512::Kernels();
  if (set == InstructionSet::kAvx2) return avx2::Kernels();
#endif
  (void)set;
  return generic::Kernels();
}

}  // namespace

Context::Context(Device& device, const CpuKernels& kernels) : device_(device), kernels_(kernels) {}
Context::~Context() = default;

Result<std::unique_ptr<Context>> Context::Create(Device& device) {
  const Capability& capability = device.capability();
  std::unique_ptr<Context> context(new Context(device, KernelsFor(capability.instruction_set)));
  TRAIND_ASSIGN(context->matmuls_, MatmulCache::Create(capability));
  return context;
}

int Context::ThreadsFor(int64_t operations) const {
  return operations < kOperationsWorthWaking ? 1 : threads();
}

}  // namespace traind::ops
