// Measures the CPU.
#include "engine/worker/probe.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/checksum.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/machine.h"
#include "engine/model/model.h"
#include "engine/ops/context.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/libraries.h"
#include "engine/ops/linear.h"
#include "engine/plan/memory.h"
#include "engine/plan/schedule.h"
#include "engine/tensor/workspace.h"
#include "engine/worker/exit_codes.h"

namespace traind::worker {
namespace {

constexpr double kMeasureSeconds = 0.1;

// The best of the repetitions that fit into the time: others were disturbed. 0 if one fails.
Result<double> BestSeconds(const std::function<Status()>& work) {
  TRAIND_TRY(work());  // prepares
  const Clock& clock = SystemClock();
  const double end = clock.MonotonicSeconds() + kMeasureSeconds;
  double best = kMeasureSeconds;
  for (double begin = clock.MonotonicSeconds(); begin < end; begin = clock.MonotonicSeconds()) {
    TRAIND_TRY(work());
    best = std::min(best, clock.MonotonicSeconds() - begin);
  }
  return best;
}

template <typename T>
Result<double> MatmulFlopsPerSecond(Device& device, ops::Context& context) {
  constexpr int64_t kExtent = 1024;
  constexpr int64_t kMatrixBytes = kExtent * kExtent * static_cast<int64_t>(sizeof(T));
  const int64_t scratch = LinearWorkspaceBytes(context.threads());
  TRAIND_ASSIGN(const std::unique_ptr<Arena> arena, device.AllocateArena(3 * kMatrixBytes + scratch));
  auto* const x = reinterpret_cast<T*>(arena->data());
  T* const weight = x + kExtent * kExtent;
  T* const y = weight + kExtent * kExtent;
  TRAIND_TRY(ops::Fill(context, 2 * kExtent * kExtent, 1.0F, x));
  const Workspace workspace{arena->data() + 3 * kMatrixBytes, scratch};
  TRAIND_ASSIGN(
      const double seconds, BestSeconds([&] {
        return ops::LinearForward(context, {kExtent, kExtent, kExtent}, x, weight, nullptr, y, workspace);
      }));
  return 2.0 * kExtent * kExtent * kExtent / seconds;
}

Result<double> MemoryBytesPerSecond(Device& device, ops::Context& context) {
  constexpr int64_t kElements = int64_t{8} << 20;  // three arrays of 32 MiB: beyond most caches
  TRAIND_ASSIGN(const std::unique_ptr<Arena> arena, device.AllocateArena(3 * 4 * kElements));
  auto* const a = reinterpret_cast<float*>(arena->data());
  TRAIND_ASSIGN(const double seconds, BestSeconds([&] {
                  return ops::Add(context, kElements, a, a + kElements, a + 2 * kElements);
                }));
  return 3.0 * 4 * static_cast<double>(kElements) / seconds;
}

// What a worker has resident besides its arena once it has trained: a step of a tiny model, and the highest
// watermark so far. Must come before anything larger is allocated.
Result<int64_t> ContextBytes(Device& device, ops::Context& context) {
  ModelSpec spec;
  spec.hidden_size = 64;
  spec.num_hidden_layers = 2;
  spec.num_attention_heads = spec.num_key_value_heads = 4;
  spec.intermediate_size = 192;
  spec.max_position_embeddings = 64;
  TrainingSpec training;
  training.sequence_length = 64;
  training.batch_tokens = 256;
  const plan::Strategy strategy{4, 1};
  plan::TableOptions options;
  options.threads = context.threads();
  TRAIND_ASSIGN(plan::MemoryTable table, plan::BuildTrainingTable(spec, training, strategy, options));
  TRAIND_ASSIGN(const std::unique_ptr<Arena> arena, device.AllocateArena(table.arena_bytes));
  TRAIND_ASSIGN(
      const std::unique_ptr<model::Model> model,
      model::Model::Create(std::move(table), {arena->data(), static_cast<size_t>(arena->bytes())}, context));
  model->Initialize(1);
  for (const plan::Instruction& instruction : plan::GenerateStep(strategy)) {
    const bool optimizes = instruction.kind == plan::InstructionKind::kOptimize;
    TRAIND_TRY(optimizes ? model->Optimize({}) : model->Run(instruction));
  }
  return Machine().PeakResidentBytes() - arena->bytes();
}

}  // namespace

Result<DeviceSpec> ProbeCpu() {
  const Machine machine;
  TRAIND_ASSIGN(const std::unique_ptr<Device> device, OpenCpuDevice());
  TRAIND_ASSIGN(const std::unique_ptr<ops::Context> context, ops::Context::Create(*device));
  const Capability& capability = device->capability();
  DeviceSpec spec;
  // The machine's id itself is for the machine only.
  spec.uuid = "CPU-" + Checksum("traind " + machine.MachineId());
  spec.type = "cpu";
  spec.kind = "cpu";
  spec.name = capability.name;
  spec.threads = capability.threads;
  spec.instruction_set = InstructionSetName(capability.instruction_set);
  spec.libraries = ops::LibraryVersions();
  TRAIND_ASSIGN(spec.context_bytes, ContextBytes(*device, *context));
  TRAIND_ASSIGN(spec.matmul_flops_per_second, MatmulFlopsPerSecond<float>(*device, *context));
  if (capability.native_bf16) {
    TRAIND_ASSIGN(spec.bf16_flops_per_second, MatmulFlopsPerSecond<Bfloat16>(*device, *context));
  }
  TRAIND_ASSIGN(spec.memory_bytes_per_second, MemoryBytesPerSecond(*device, *context));
  spec.memory_bytes = machine.InstalledMemoryBytes();
  spec.free_bytes = machine.FreeMemoryBytes();
  return spec;
}

int PrintProbe() {
  const Result<DeviceSpec> spec = ProbeCpu();
  if (!spec.ok()) {
    std::fprintf(stderr, "traind-worker: %s\n", spec.status().ToString().c_str());
    return kExitFailed;
  }
  std::printf("%s\n", DumpJson(DeviceToJson(*spec)).c_str());
  return std::fflush(stdout) == 0 ? kExitDone : kExitUnheard;
}

}  // namespace traind::worker
