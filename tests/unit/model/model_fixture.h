// A model with its device, arena and batches of repeatable tokens, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/model/model.h"
#include "engine/ops/context.h"
#include "engine/plan/memory.h"
#include "engine/plan/schedule.h"
#include "engine/plan/strategy.h"

namespace traind::model {

// Two layers, grouped queries, untied.
inline ModelSpec SmallLlama() {
  ModelSpec model;
  model.hidden_size = 64;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 2;
  model.intermediate_size = 192;
  model.vocab_size = 256;
  model.max_position_embeddings = 64;
  return model;
}

// Two layers, tied, more positions than are used.
inline ModelSpec SmallGpt2() {
  ModelSpec model = SmallLlama();
  model.architecture = Architecture::kGpt2;
  model.num_key_value_heads = 4;
  model.intermediate_size = 256;
  model.tie_word_embeddings = true;
  return model;
}

// SmallLlama with biases of queries, keys and values.
inline ModelSpec SmallQwen2() {
  ModelSpec model = SmallLlama();
  model.architecture = Architecture::kQwen2;
  return model;
}

inline std::vector<ModelSpec> SmallModels() {
  return {SmallLlama(), SmallGpt2(), SmallQwen2()};
}

struct FixtureOptions {
  int64_t sequence_length = 32;
  int threads = 0;  // 0: all
  bool reuse = true;
  bool poison = false;
  bool validates = true;
  plan::BackwardForm backward = plan::BackwardForm::kJoint;
  Precision precision = Precision::kFp32;
};

// Aborts the test program if anything cannot be made.
class ModelFixture {
 public:
  ModelFixture(const ModelSpec& spec, const plan::Strategy& strategy, const FixtureOptions& options = {});
  ~ModelFixture();

  // Puts the tokens of a micro-batch, which depend on `batch`, `micro_batch` and each sequence's place in the
  // step alone.
  void Fill(int64_t batch, int64_t micro_batch);
  // All of a step up to norm.
  LossSum Gradients(int64_t batch);
  // A whole step with AdamW.
  LossSum Step(int64_t step, double learning_rate, int64_t batch);

  std::unique_ptr<Device> device;
  std::unique_ptr<ops::Context> context;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Model> model;

 private:
  const plan::Strategy strategy_;
  const plan::BackwardForm backward_;
};

}  // namespace traind::model
