// The logits of a Hugging Face directory, as our engine computes them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/model/model.h"
#include "engine/ops/context.h"
#include "engine/plan/memory.h"
#include "engine/train/model_directory.h"
#include "engine/train/model_state.h"
#include "tests/support/scratch.h"
#include "tests/unit/train/tiny_run.h"

namespace traind::testing {

// Imports the directory, then gives the tokens one by one; a row of vocab_size logits for each.
inline Result<std::vector<std::vector<float>>> LogitsOf(const std::string& directory,
                                                        const std::vector<int32_t>& tokens) {
  const Scratch scratch;
  ScriptedSession session;
  TRAIND_ASSIGN(const train::MovedModel moved,
                train::ImportModel({directory, scratch / "version"}, PosixIo(), "test", &session));
  CpuOptions options;
  options.threads = 1;
  TRAIND_ASSIGN(const std::unique_ptr<Device> device, OpenCpuDevice(options));
  TRAIND_ASSIGN(const std::unique_ptr<ops::Context> context, ops::Context::Create(*device));
  TRAIND_ASSIGN(plan::MemoryTable table,
                plan::BuildGenerationTable(moved.spec, std::ssize(tokens), {.threads = 1}));
  TRAIND_ASSIGN(const std::unique_ptr<Arena> arena, device->AllocateArena(table.arena_bytes));
  TRAIND_ASSIGN(
      const std::unique_ptr<model::Model> made,
      model::Model::Create(std::move(table), {arena->data(), static_cast<size_t>(arena->bytes())}, *context));
  const train::ModelState state{moved.spec, made->table().parameters, made->weights(), {}, {}};
  TRAIND_TRY(train::ReadWeights(PosixIo(), scratch / "version", state, [] {}));
  std::vector<std::vector<float>> rows;
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const int32_t token[] = {tokens[static_cast<size_t>(i)]};
    TRAIND_ASSIGN(const std::span<const float> logits, made->Predict(token, i));
    rows.emplace_back(logits.begin(), logits.end());
  }
  return rows;
}

}  // namespace traind::testing
