// Walks held-out data once.
#include "engine/train/evaluation.h"

#include <algorithm>

#include "engine/train/batches.h"

namespace traind::train {

Result<std::optional<model::LossSum>> MeanLoss(
    data::Sequences sequences, int64_t max_sequences,
    const std::function<Result<bool>(int64_t micro_batch)>& at_border, model::Model* model) {
  const int64_t end = max_sequences > 0 ? std::min(max_sequences, sequences.count()) : sequences.count();
  const int64_t micro_batch = model->table().sequences;
  model->TakeLoss();
  for (int64_t begin = 0; begin < end; begin += micro_batch) {
    TRAIND_ASSIGN(const bool go_on, at_border(begin / micro_batch));
    if (!go_on) return std::optional<model::LossSum>();
    const int64_t count = std::min(micro_batch, end - begin);
    for (int64_t i = 0; i < count; ++i) Batches::LoadSequence(&sequences, begin + i, i, model);
    TRAIND_TRY(model->Validate(count));
  }
  return std::optional(model->TakeLoss());
}

}  // namespace traind::train
