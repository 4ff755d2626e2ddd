// What a trained model is asked: its loss on data (EVALUATE), and text that goes on from a prompt (GENERATE).
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/status.h"
#include "engine/spec/task.h"
#include "engine/train/run.h"

namespace traind::train {

struct Evaluation {
  double loss = 0;           // nats per token
  double perplexity = 0;     // e^loss
  double bits_per_byte = 0;  // of the data's bytes
  int64_t tokens = 0;        // predicted
};

// The loss over task.batches batches, or all of the data. `arena_bytes` is what was planned for. INTERRUPTED
// if the session asks to stop.
Result<Evaluation> Evaluate(const EvaluateTask& task, int64_t arena_bytes, const RunEnvironment& environment);

// Up to task.max_tokens tokens after the prompt, fewer if the model ends the text. What lies further back
// than the model's positions is forgotten. The same task gives the same text. INTERRUPTED as above.
Result<std::string> Generate(const GenerateTask& task, int64_t arena_bytes,
                             const RunEnvironment& environment);

}  // namespace traind::train
