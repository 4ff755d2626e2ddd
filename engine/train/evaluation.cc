// Walks held-out data once.
#include "engine/train/evaluation.h"

#include <algorithm>
#include <numeric>

#include "engine/train/batches.h"

namespace traind::train {
namespace {

using BorderCheck = std::function<Result<bool>(int64_t micro_batch)>;

// Over sequences [begin, end). Counts micro-batches on from *micro_batches.
Result<std::optional<model::LossSum>> LossOver(data::Sequences* sequences, int64_t begin, int64_t end,
                                               const BorderCheck& at_border, int64_t* micro_batches,
                                               model::Model* model) {
  const int64_t micro_batch = model->table().sequences;
  model->TakeLoss();
  for (; begin < end; begin += micro_batch) {
    TRAIND_ASSIGN(const bool go_on, at_border((*micro_batches)++));
    if (!go_on) return std::optional<model::LossSum>();
    const int64_t count = std::min(micro_batch, end - begin);
    for (int64_t i = 0; i < count; ++i) Batches::LoadSequence(sequences, begin + i, i, model);
    TRAIND_TRY(model->Validate(count));
  }
  return std::optional(model->TakeLoss());
}

}  // namespace

Result<std::optional<model::LossSum>> MeanLoss(data::Sequences sequences, const std::vector<double>& weights,
                                               int64_t max_sequences, const BorderCheck& at_border,
                                               model::Model* model) {
  int64_t micro_batches = 0;
  if (weights.empty() || max_sequences > 0) {
    const int64_t end = max_sequences > 0 ? std::min(max_sequences, sequences.count()) : sequences.count();
    return LossOver(&sequences, 0, end, at_border, &micro_batches, model);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double mean = 0;
  int64_t tokens = 0, begin = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t end = begin + sequences.counts()[i];
    TRAIND_ASSIGN(const std::optional<model::LossSum> part,
                  LossOver(&sequences, begin, end, at_border, &micro_batches, model));
    if (!part) return part;
    mean += weights[i] / sum * part->mean();
    tokens += part->tokens;
    begin = end;
  }
  return std::optional(model::LossSum{mean * static_cast<double>(tokens), tokens});
}

}  // namespace traind::train
