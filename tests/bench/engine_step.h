// The engine's training step in this process, timed as a whole or operator by operator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/device/device.h"
#include "engine/model/model.h"
#include "engine/ops/context.h"
#include "engine/plan/memory.h"
#include "engine/plan/program.h"
#include "engine/spec/model.h"
#include "engine/spec/training.h"

namespace traind::bench {

struct StepShape {
  ModelSpec model;
  int64_t sequences = 4;
  int64_t sequence_length = 256;
  int threads = 1;
  Precision precision = Precision::kFp32;

  int64_t tokens() const { return sequences * sequence_length; }
};

// GPT-2 124M, the model of `traind-bench train`.
ModelSpec BenchModel();

// The arithmetic of a training step: of all matrix products, and of attention's below the diagonal.
double StepFlops(const plan::MemoryTable& table);

// All calls of one operator in one pass; of matrix products, those of one width.
struct OperatorTime {
  plan::OpKind kind;
  plan::Pass pass;
  int64_t input = 0, output = 0;  // kLinear
  int64_t calls = 0;
  double flops = 0, bytes = 0, seconds = 0;
};

class EngineStep {
 public:
  static Result<std::unique_ptr<EngineStep>> Create(const StepShape& shape);

  // Executes one whole step: forward, loss, backward, norm, update. Its seconds.
  Result<double> Run();
  // The same, each operator timed: the least seconds of `repetitions` steps for each call.
  Result<std::vector<OperatorTime>> Profile(int repetitions);

  const plan::MemoryTable& table() const { return model_->table(); }

 private:
  EngineStep() = default;
  void FillBatch();

  std::unique_ptr<Device> device_;
  std::unique_ptr<ops::Context> context_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<model::Model> model_;
  int64_t steps_ = 0;
};

}  // namespace traind::bench
