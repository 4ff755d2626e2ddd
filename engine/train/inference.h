// What a trained model is asked: its loss on data (EVALUATE), and text that goes on from a prompt (GENERATE).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/spec/task.h"
#include "engine/train/run.h"

namespace traind::train {

struct Evaluation {
  double loss = 0;           // nats per token
  double perplexity = 0;     // e^loss
  double bits_per_byte = 0;  // of the data's bytes
  int64_t tokens = 0;        // predicted
  int64_t sequences = 0;
};

struct Generation {
  std::string text;
  std::vector<std::string> notices;  // that not all of the text so far counted
};

// The loss over task.batches batches, or all of the data. `arena_bytes` is what was planned for. INTERRUPTED
// if the session asks to stop.
Result<Evaluation> Evaluate(const EvaluateTask& task, int64_t arena_bytes, const RunEnvironment& environment);

// Up to task.max_tokens tokens after the prompt, fewer if the model or task.stop ends the text. Keys and
// values of task.context positions are kept, so that each token costs one position. Of a prompt that is
// longer, only its end counts; where the text outgrows them, its older half is forgotten, and again and
// again. The same task gives the same text. INTERRUPTED as above.
Result<Generation> Generate(const GenerateTask& task, int64_t arena_bytes, const RunEnvironment& environment);

}  // namespace traind::train
