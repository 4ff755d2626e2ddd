// Batches: the sequences of a step, in the sampler's order, put where the model reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/mixture.h"
#include "engine/data/sequences.h"
#include "engine/model/model.h"

namespace traind::train {

// The training data's endless sequence, cut into batches. The position is the data cursor of checkpoints.
class Batches {
 public:
  static constexpr int64_t kNamedSequences = 8;

  // `weights` of the sequences' sources, or empty: by size. `position` sequences have been taken already; a
  // batch has batch_sequences.
  Batches(const data::Sequences& sequences, const std::vector<double>& weights, int64_t seed,
          int64_t position, int64_t batch_sequences)
      : sequences_(sequences),
        weighted_(!weights.empty()),
        sampler_(sequences.counts(), weights, seed),
        position_(position),
        batch_sequences_(batch_sequences) {}

  int64_t position() const { return position_; }
  int64_t batch_sequences() const { return batch_sequences_; }
  int64_t sequence_length() const { return sequences_.length(); }

  // Puts micro-batch `index` of the current batch into the model's token and target slots.
  void Load(int64_t index, model::Model* model) {
    const int64_t micro_batch = model->table().sequences;
    for (int64_t i = 0; i < micro_batch; ++i) {
      LoadSequence(&sequences_, sampler_.SequenceAt(position_ + index * micro_batch + i), i, model);
    }
  }

  // Which data the positions [first, end) are, for messages: "epoch 1, sequences 17, 4, 96 of 120 (token 4352
  // of /data/a.txt, …)"; a weighted mixture has no epochs, but a place in the run. At most kNamedSequences
  // are named.
  std::string Describe(int64_t first, int64_t end);

  // The batch has been trained on.
  void Advance() { position_ += batch_sequences_; }

  // Puts sequence `index` into place `place` of the model's micro-batch.
  static void LoadSequence(data::Sequences* sequences, int64_t index, int64_t place, model::Model* model) {
    const auto length = static_cast<size_t>(sequences->length());
    const size_t begin = static_cast<size_t>(place) * length;
    sequences->Read(index, model->tokens().subspan(begin, length), model->targets().subspan(begin, length));
  }

 private:
  data::Sequences sequences_;
  bool weighted_;
  data::MixtureSampler sampler_;
  int64_t position_;
  int64_t batch_sequences_;
};

}  // namespace traind::train
