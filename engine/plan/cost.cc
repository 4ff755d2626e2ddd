// The roofline, from one table of operators.
#include "engine/plan/cost.h"

#include <algorithm>
#include <cmath>

#include "engine/plan/saturating.h"

namespace traind::plan {
namespace {

double D(int64_t value) {
  return static_cast<double>(value);
}

// Arithmetic per element of the elementwise operators, counted with exp, log and division as several; and the
// share of the device's matrix rate that an operator's own code attains on data in the caches.
struct OpRate {
  OpKind kind;
  double flops_per_element;
  double share;
};
constexpr OpRate kRates[kOpKinds] = {
    {OpKind::kEmbedding, 1, 0.06}, {OpKind::kPosition, 1, 0.06},        {OpKind::kRmsNorm, 6, 0.17},
    {OpKind::kLayerNorm, 8, 0.17}, {OpKind::kLinear, 0, 0.97},          {OpKind::kRope, 3, 0.25},
    {OpKind::kAttention, 0, 0.55}, {OpKind::kCachedAttention, 0, 0.25}, {OpKind::kSwiglu, 20, 0.70},
    {OpKind::kGelu, 20, 0.70},     {OpKind::kCrossEntropy, 20, 0.33},   {OpKind::kFill, 0, 0.10},
    {OpKind::kAdd, 1, 0.06},       {OpKind::kSquareNorm, 2, 0.12},      {OpKind::kAdamw, 16, 0.43},
};

// Entering an operator.
constexpr double kCallSeconds = 0.6e-6;

// An operator that takes one thread less than the first is left to one thread (engine/ops' Context decides
// so); others pay the second for waking the rest.
constexpr double kSecondsWorthWaking = 0.25e-3;
constexpr double kWakeSeconds = 20e-6;

// Small extents do not reach the rate of large ones; the extent at which half of it is reached.
constexpr double kHalfOfLinear = 1;  // each of rows, inputs and outputs
constexpr double kHalfOfHead = 8;    // a head of attention

double Reached(int64_t extent, double half) {
  return D(extent) / (D(extent) + half);
}

double Share(const OpCall& call) {
  const OpDimensions& size = call.dimensions;
  const double share = kRates[static_cast<int>(call.kind)].share;
  const bool attends = call.kind == OpKind::kAttention || call.kind == OpKind::kCachedAttention;
  if (attends) return share * Reached(size.head_size, kHalfOfHead);
  if (call.kind != OpKind::kLinear) return share;
  return share * Reached(size.rows, kHalfOfLinear) * Reached(size.input, kHalfOfLinear) *
         Reached(size.output, kHalfOfLinear);
}

// What a call touches was mostly just touched by the call before: as long as it is little, it comes from the
// caches, several times as fast as from memory.
double Speedup(double bytes) {
  constexpr double kCached = 8e6, kUncached = 64e6, kMost = 5;
  if (bytes <= kCached) return kMost;
  if (bytes >= kUncached) return 1;
  return kMost - (kMost - 1) * std::log(bytes / kCached) / std::log(kUncached / kCached);
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
    case OpKind::kCachedAttention:  // each new position over the whole cache
      return 4 * D(size.rows) * D(size.heads) * D(size.sequence_length) * D(size.head_size);
    case OpKind::kAttention:
      return AttentionFlops(call);
    case OpKind::kEmbedding:
    case OpKind::kPosition:
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
    // Of a table only the rows of tokens and positions are touched.
    const bool weight = operand.role == Role::kWeight || operand.role == Role::kWeightGradient;
    const bool looked_up = call.kind == OpKind::kEmbedding || call.kind == OpKind::kPosition;
    if (looked_up && weight) {
      const int64_t size = DTypeBytes(operand.role == Role::kWeight ? call.type : DType::kFloat32);
      touched = std::min(touched, D(size) * D(call.dimensions.rows) * D(call.dimensions.output));
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
  const double threads = std::max(1.0, D(device.threads));
  const bool bf16 = call.kind == OpKind::kLinear && call.type == DType::kBFloat16;
  const double rate = bf16 && device.bf16_flops_per_second > 0 ? device.bf16_flops_per_second
                                                               : device.matmul_flops_per_second;
  const double compute = cost.flops / std::max(1.0, rate / threads * Share(call));
  const double memory =
      cost.bytes / std::max(1.0, device.memory_bytes_per_second / threads * Speedup(cost.bytes));
  const double alone = std::max(compute, memory);
  const bool spread = threads > 1 && alone >= kSecondsWorthWaking;
  cost.seconds = kCallSeconds + (spread ? alone / threads + kWakeSeconds : alone);
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
