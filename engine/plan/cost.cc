// The roofline, from one table of operators.
#include "engine/plan/cost.h"

#include <algorithm>

#include "engine/plan/saturating.h"

namespace traind::plan {
namespace {

double D(int64_t value) {
  return static_cast<double>(value);
}

// Arithmetic per element of the elementwise operators, counted with exp, log and division as several; and the
// share of the device's matrix rate that an operator's own code attains.
struct OpRate {
  OpKind kind;
  double flops_per_element;
  double share;
};
constexpr OpRate kRates[kOpKinds] = {
    {OpKind::kEmbedding, 1, 0.05},     {OpKind::kRmsNorm, 6, 0.10},   {OpKind::kLinear, 0, 1.00},
    {OpKind::kRope, 3, 0.05},          {OpKind::kAttention, 0, 0.45}, {OpKind::kSwiglu, 20, 0.10},
    {OpKind::kCrossEntropy, 20, 0.10}, {OpKind::kFill, 0, 0.10},      {OpKind::kAdd, 1, 0.10},
    {OpKind::kSquareNorm, 2, 0.10},    {OpKind::kAdamw, 16, 0.10},
};

// Waking the threads and entering the operator.
constexpr double kCallSeconds = 4e-6;

// Small matrices do not reach the rate of large ones: rows, inputs and outputs at which half of it is
// reached.
constexpr double kHalfRate = 6;

double LinearShare(const OpDimensions& size) {
  auto reached = [](int64_t extent) { return D(extent) / (D(extent) + kHalfRate); };
  return reached(size.rows) * reached(size.input) * reached(size.output);
}

// Causal attention skips half of its square. Forward makes two products of it, backward five.
double AttentionFlops(const OpCall& call) {
  const OpDimensions& size = call.dimensions;
  const double product = D(size.sequences) * D(size.heads) * D(size.sequence_length) *
                         (D(size.sequence_length) + 1) * D(size.head_size);
  return product * (call.pass == Pass::kForward ? 2 : 5);
}

double Flops(const OpCall& call) {
  const OpDimensions& size = call.dimensions;
  switch (call.kind) {
    case OpKind::kLinear:
      return 2 * D(size.rows) * D(size.input) * D(size.output);
    case OpKind::kAttention:
      return AttentionFlops(call);
    case OpKind::kEmbedding:
      return D(size.rows) * D(size.output);
    case OpKind::kSquareNorm:
    case OpKind::kAdamw:
      return D(size.rows) * kRates[static_cast<int>(call.kind)].flops_per_element;
    default:
      return D(size.rows) * D(std::max(size.input, size.output)) *
             kRates[static_cast<int>(call.kind)].flops_per_element;
  }
}

double Bytes(const OpCall& call) {
  double bytes = 0;
  for (const Operand& operand : call.operands) {
    double touched = D(operand.bytes);
    // Of an embedding's table only the tokens' rows are touched.
    const bool table = operand.role == Role::kWeight || operand.role == Role::kWeightGradient;
    if (call.kind == OpKind::kEmbedding && table) {
      touched = std::min(touched, 4 * D(call.dimensions.rows) * D(call.dimensions.output));
    }
    const bool twice = operand.access == Access::kUpdate || operand.access == Access::kAccumulate;
    if (operand.access != Access::kScratch) bytes += touched * (twice ? 2 : 1);
  }
  return bytes;
}

}  // namespace

OpCost CostOf(const OpCall& call, const DeviceSpec& device) {
  OpCost cost;
  cost.flops = Flops(call);
  cost.bytes = Bytes(call);
  double share = kRates[static_cast<int>(call.kind)].share;
  if (call.kind == OpKind::kLinear) share = LinearShare(call.dimensions);
  const double compute = cost.flops / std::max(1.0, device.matmul_flops_per_second * share);
  const double memory = cost.bytes / std::max(1.0, device.memory_bytes_per_second);
  cost.seconds = std::max(compute, memory) + kCallSeconds;
  return cost;
}

double InstructionSeconds(const MemoryTable& table, InstructionKind kind, const DeviceSpec& device) {
  const Program* program = table.FindProgram(kind);
  double seconds = 0;
  if (program != nullptr) {
    for (const OpCall& call : program->calls) seconds += CostOf(call, device).seconds;
  }
  return seconds;
}

double InstructionFlops(const MemoryTable& table, InstructionKind kind) {
  const Program* program = table.FindProgram(kind);
  double flops = 0;
  if (program != nullptr) {
    for (const OpCall& call : program->calls) flops += Flops(call);
  }
  return flops;
}

double StepSeconds(const MemoryTable& table, const DeviceSpec& device) {
  double micro_batch = 0;
  for (InstructionKind kind : {InstructionKind::kForward, InstructionKind::kLoss, InstructionKind::kBackward,
                               InstructionKind::kBackwardInput, InstructionKind::kBackwardWeight}) {
    micro_batch += InstructionSeconds(table, kind, device);
  }
  return micro_batch * D(table.micro_batches) + InstructionSeconds(table, InstructionKind::kNorm, device) +
         InstructionSeconds(table, InstructionKind::kOptimize, device);
}

int64_t CheckpointBytes(int64_t parameters) {
  constexpr int64_t kHeaders = 64 << 10;  // manifest, config.json, headers of tensors
  return SaturatingAdd(SaturatingMultiply(parameters, 12), kHeaders);
}

int64_t VersionBytes(int64_t parameters) {
  constexpr int64_t kHeaders = 16 << 10;
  return SaturatingAdd(SaturatingMultiply(parameters, 4), kHeaders);
}

double CheckpointSeconds(int64_t checkpoint_bytes) {
  constexpr double kDiskBytesPerSecond = 300e6;  // checksummed, written and synced
  constexpr double kSyncSeconds = 0.05;
  return kSyncSeconds + D(checkpoint_bytes) / kDiskBytesPerSecond;
}

double StartSeconds(int64_t arena_bytes, int64_t parameters) {
  constexpr double kProcessSeconds = 0.3;
  constexpr double kTouchedBytesPerSecond = 4e9;
  constexpr double kSecondsPerParameter = 10e-9;
  return kProcessSeconds + D(arena_bytes) / kTouchedBytesPerSecond + D(parameters) * kSecondsPerParameter;
}

}  // namespace traind::plan
