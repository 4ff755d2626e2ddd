// Execute: one operator call of a program, handed to engine/ops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/ops/adamw.h"
#include "engine/ops/context.h"
#include "engine/plan/memory.h"

namespace traind::model {

// What a call needs beyond itself, and the scalars that calls leave.
struct Execution {
  ops::Context& context;
  const plan::MemoryTable& table;
  std::byte* arena;
  bool first_micro_batch = true;  // gradients begin anew
  int64_t sequences = 0;          // rows that are in use: at most the table's
  int64_t sequence_length = 0;
  int64_t last_row = 0;        // whose logits `predict` wants
  int64_t first_position = 0;  // of the rows of `predict`
  float gradient_scale = 1;    // of the loss: 1 / tokens of the step
  const ops::AdamwSettings* update = nullptr;
  double loss_sum = 0;
  double square_sum = 0;

  int64_t rows() const { return sequences * sequence_length; }
};

Status Execute(const plan::OpCall& call, Execution* execution);

}  // namespace traind::model
