// The fixed terms, measured on real workers (tests/unit/worker/peak_test.cc holds them).
#include "engine/plan/process_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/limits.h"
#include "engine/plan/saturating.h"

namespace traind::plan {
namespace {

// Beyond the context that --probe measured with a tiny model: task and plan, table, buffers of messages; and
// buffers of files, which small models do not fill.
constexpr int64_t kProcessBytes = 2388 << 10;
constexpr int64_t kMostFileBytes = 320 << 10;
constexpr int64_t kFileShare = 128;  // of the arena

// Code that is generated for a matrix product grows with each of its extents that is no multiple of the
// kernels' tiles.
struct TailCode {
  int64_t unit;
  int64_t bytes;
};
constexpr TailCode kTailCode[] = {{16, 64 << 10}, {64, 20 << 10}};

// A weight's gradient is prepared twice where there are several micro-batches: to write and to add.
constexpr int64_t kAddingCodeBytes = 64 << 10;

int64_t TailCodeBytes(int64_t extent) {
  for (const TailCode& code : kTailCode) {
    if (extent % code.unit != 0) return code.bytes;
  }
  return 0;
}

// Of a token in a token file: no wider than the model's vocabulary needs.
int64_t TokenBytes(int64_t vocab_size) {
  if (vocab_size <= 1 << 8) return 1;
  return vocab_size <= 1 << 16 ? 2 : 4;
}

// Of all products, each prepared once.
int64_t TailCodeBytes(const MemoryTable& table) {
  std::vector<std::pair<Pass, OpDimensions>> seen;
  int64_t bytes = 0;
  for (const Program& program : table.programs) {
    for (const OpCall& call : program.calls) {
      const std::pair product(call.pass, call.dimensions);
      if (call.kind != OpKind::kLinear || std::ranges::count(seen, product) > 0) continue;
      seen.push_back(product);
      for (int64_t extent : {call.dimensions.rows, call.dimensions.input, call.dimensions.output}) {
        bytes += TailCodeBytes(extent);
      }
      if (call.pass == Pass::kBackwardWeight && table.micro_batches > 1) bytes += kAddingCodeBytes;
    }
  }
  return bytes;
}

int64_t ProcessBytes(const MemoryTable& table) {
  return kProcessBytes + std::min(kMostFileBytes, table.arena_bytes / kFileShare) + TailCodeBytes(table);
}

// Of one data set. A worker gives its pages back when it may have made half of kMaxResidentDataBytes
// resident, with what faults bring in around the pages that it touches (engine/data/sequences.cc); its index
// comes on top.
constexpr int64_t kMostMappedBytes = kMaxResidentDataBytes / 2 + (128 << 10);

int64_t MappedBytes(std::optional<int64_t> tokens, int64_t vocab_size) {
  return tokens ? std::min(kMostMappedBytes, SaturatingMultiply(*tokens, TokenBytes(vocab_size)))
                : kMostMappedBytes;
}

void Add(std::vector<ClassBytes>* rows, const char* name, int64_t bytes) {
  if (bytes > 0) rows->push_back({name, bytes});
}

}  // namespace

std::vector<ClassBytes> TrainingProcess(const PlanRequest& request, const DeviceSpec& device,
                                        const MemoryTable& table) {
  int64_t mapped = request.data_bytes > 0 ? std::min(request.data_bytes, kMostMappedBytes)
                                          : MappedBytes(request.data_tokens, request.model.vocab_size);
  if (request.validates) mapped += MappedBytes(request.validation_tokens, request.model.vocab_size);
  std::vector<ClassBytes> rows;
  Add(&rows, "context", device.context_bytes);
  Add(&rows, "process", ProcessBytes(table));
  Add(&rows, "mapped data", mapped);
  return rows;
}

std::vector<ClassBytes> InferenceProcess(const DeviceSpec& device, const MemoryTable& table) {
  std::vector<ClassBytes> rows;
  Add(&rows, "context", device.context_bytes);
  Add(&rows, "process", ProcessBytes(table));
  Add(&rows, "mapped data", kMostMappedBytes);
  return rows;
}

}  // namespace traind::plan
