// The variants every operator is tested in.
#include "tests/unit/ops/harness.h"

#include <algorithm>

#include "engine/device/cpu/cpu_device.h"

namespace traind::testing {

namespace {

// ThreadSanitizer does not see the barriers of GCC's OpenMP: what they order would be reported as races.
#if defined(__SANITIZE_THREAD__)
constexpr int kMostThreads = 1;
#else
constexpr int kMostThreads = 64;
#endif

constexpr int64_t kWorkspaceBytes = int64_t{16} << 20;

Workspace AlignedWorkspace(std::vector<std::byte>& storage) {
  storage.resize(kWorkspaceBytes + 64);
  const auto address = reinterpret_cast<uintptr_t>(storage.data());
  return {storage.data() + (64 - address % 64) % 64, kWorkspaceBytes};
}

}  // namespace

OpRun OpenOpRun(InstructionSet set, int threads, bool spread) {
  OpRun run;
  CpuOptions options;
  options.instruction_set = set;
  options.threads = std::min(threads, kMostThreads);
  auto device = OpenCpuDevice(options);
  assert_ok(device);
  run.device = *std::move(device);
  auto context = spread ? ops::Context::Create(*run.device, 0) : ops::Context::Create(*run.device);
  assert_ok(context);
  run.context = *std::move(context);
  run.workspace = AlignedWorkspace(run.storage);
  return run;
}

void ForEachVariant(const std::function<void(OpRun& run)>& test) {
  for (InstructionSet set : {InstructionSet::kGeneric, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set > WidestInstructionSet()) continue;
    for (int threads : {1, 2}) {
      OpRun run = OpenOpRun(set, threads, true);
      test(run);
    }
  }
}

}  // namespace traind::testing
