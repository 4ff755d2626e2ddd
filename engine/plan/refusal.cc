// Finds the largest model or sequence that would fit, so that a refusal helps.
#include "engine/plan/refusal.h"

#include <algorithm>
#include <functional>

#include "engine/base/quantity.h"
#include "engine/plan/candidates.h"
#include "engine/plan/memory.h"
#include "engine/plan/process_memory.h"
#include "engine/plan/saturating.h"
#include "engine/tensor/tensor.h"

namespace traind::plan {
namespace {

std::string Bytes(int64_t bytes) {
  if (bytes == kTooLarge) return "more than 8 EiB";
  return FormatBytes(static_cast<double>(bytes));
}

std::string DeviceName(const DeviceSpec& device) {
  return device.node + ":" + std::to_string(device.index);
}

int64_t PeakBytes(const PlanRequest& request, const DeviceSpec& device, const ModelSpec& model,
                  const TrainingSpec& training) {
  TableOptions options;
  options.threads = device.threads;
  options.validates = request.validates;
  Strategy smallest{1, training.sequences_per_batch()};
  int64_t least = kTooLarge;
  for (const Recompute recompute : kRecomputes) {
    smallest.recompute = recompute;
    least = std::min(least, ArenaBytes(model, training, smallest, options));
  }
  const int64_t arena = RoundUp(least, kArenaGranularity);
  ModelSpec shallow = model;  // has the same matrix products
  shallow.num_hidden_layers = 1;
  const Result<MemoryTable> table = BuildTrainingTable(shallow, training, smallest, options);
  if (!table.ok()) return kTooLarge;
  int64_t peak = arena;
  for (const ClassBytes& term : TrainingProcess(request, device, *table)) {
    peak = SaturatingAdd(peak, term.bytes);
  }
  return peak;
}

// The largest value in [1, most) for which `fits` holds, which is monotone; 0 if none.
int64_t Largest(int64_t most, const std::function<bool(int64_t)>& fits) {
  int64_t good = 0;
  while (most - good > 1) {
    const int64_t middle = good + (most - good) / 2;
    (fits(middle) ? good : most) = middle;
  }
  return good;
}

// What would make the smallest plan fit the device.
std::string WhatHelps(const PlanRequest& request, const DeviceSpec& device, int64_t peak) {
  const int64_t usable = UsableBytes(device);
  std::string help;
  auto add = [&](const std::string& remedy) {
    help += (help.empty() ? "It would fit with " : ", or with ") + remedy;
  };
  const int64_t sequence_length = Largest(request.training.sequence_length, [&](int64_t length) {
    TrainingSpec training = request.training;
    training.sequence_length = length;
    training.batch_tokens = length;
    return PeakBytes(request, device, request.model, training) <= usable;
  });
  if (sequence_length > 0) add("sequence_length = " + std::to_string(sequence_length) + " or less");
  const int64_t most_layers = std::min(request.model.num_hidden_layers, kMaxTableLayers + 1);
  const int64_t layers = Largest(most_layers, [&](int64_t count) {
    ModelSpec model = request.model;
    model.num_hidden_layers = count;
    return PeakBytes(request, device, model, request.training) <= usable;
  });
  if (layers > 0) add("num_hidden_layers = " + std::to_string(layers) + " or less");
  if (help.empty()) {
    help =
        "Not even one layer fits at this sequence_length: a smaller hidden_size, intermediate_size or "
        "vocab_size is needed";
  }
  const int64_t free = SaturatingAdd(peak, ReserveBytes(device));
  if (free > device.memory_bytes) return help + "; or a device with " + Bytes(free) + ".";
  add(Bytes(peak - usable) + " more free memory");
  return help + ".";
}

std::string DeviceMemory(const DeviceSpec& device) {
  return DeviceName(device) + " has " + Bytes(device.free_bytes) + " free of " + Bytes(device.memory_bytes) +
         ", " + Bytes(std::min(device.free_bytes, ReserveBytes(device))) + " of it kept in reserve";
}

Status Refuse(std::string message, std::string hint, int64_t peak, const DeviceSpec& device) {
  const Json detail = {
      {"peak_bytes", peak}, {"free_bytes", device.free_bytes}, {"usable_bytes", UsableBytes(device)}};
  return Status(ErrorCode::NO_FEASIBLE_PLAN, std::move(message), std::move(hint)).With(DumpJson(detail));
}

}  // namespace

Status RefuseMemory(const PlanRequest& request, const std::vector<Candidate>& candidates) {
  if (request.devices.empty()) {
    return Status(ErrorCode::NO_FEASIBLE_PLAN, "no device is left to train on",
                  "SHOW GPUS lists the inventory; ON names devices of it.");
  }
  // The device that comes nearest, and what it lacks.
  const DeviceSpec* nearest = &request.devices.front();
  for (const DeviceSpec& device : request.devices) {
    if (UsableBytes(device) > UsableBytes(*nearest)) nearest = &device;
  }
  int64_t peak = kTooLarge;
  Strategy strategy;
  for (const auto& [plan, nominal_seconds] : candidates) {
    if (plan.device != *nearest || plan.predicted_peak_bytes >= peak) continue;
    peak = plan.predicted_peak_bytes;
    strategy = plan.strategy;
  }
  if (candidates.empty()) peak = PeakBytes(request, *nearest, request.model, request.training);
  const int64_t parameters = ParameterCount(request.model);
  if (peak <= UsableBytes(*nearest)) {
    return Refuse("num_hidden_layers is " + std::to_string(request.model.num_hidden_layers) +
                      "; a plan holds at most " + std::to_string(kMaxTableLayers),
                  "Use fewer layers.", peak, *nearest);
  }
  return Refuse("training " + FormatCount(static_cast<double>(parameters)) + " parameters needs at least " +
                    Bytes(peak) + " (micro_batch " + std::to_string(strategy.micro_batch) + ", recompute " +
                    std::string(RecomputeName(strategy.recompute)) +
                    "; weights, gradients and moments alone " + Bytes(SaturatingMultiply(parameters, 16)) +
                    "), but " + DeviceMemory(*nearest),
                WhatHelps(request, *nearest, peak), peak, *nearest);
}

Status RefuseInference(const Plan& plan, int64_t parameters) {
  return Refuse("a model of " + FormatCount(static_cast<double>(parameters)) + " parameters needs " +
                    Bytes(plan.predicted_peak_bytes) + " here, but " + DeviceMemory(plan.device),
                "Free memory on this machine, or use a smaller model.", plan.predicted_peak_bytes,
                plan.device);
}

}  // namespace traind::plan
