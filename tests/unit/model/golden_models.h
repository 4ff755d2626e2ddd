// The models that the golden values of tests/data/golden/make_model_golden.py,
// make_gpt2_golden.py and make_bf16_golden.py belong to.
#pragma once

#include <cstdint>

#include "engine/spec/model.h"

namespace traind::model {

inline constexpr int64_t kGoldenLength = 24;

inline ModelSpec GoldenLlama(bool tied) {
  ModelSpec model;
  model.hidden_size = 32;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 2;
  model.intermediate_size = 48;
  model.vocab_size = 96;
  model.max_position_embeddings = kGoldenLength;
  model.tie_word_embeddings = tied;
  return model;
}

inline ModelSpec GoldenGpt2() {
  ModelSpec model;
  model.architecture = Architecture::kGpt2;
  model.hidden_size = 32;
  model.num_hidden_layers = 2;
  model.num_attention_heads = model.num_key_value_heads = 4;
  model.intermediate_size = 128;
  model.vocab_size = 96;
  model.max_position_embeddings = 32;  // more than are used
  model.tie_word_embeddings = true;
  return model;
}

}  // namespace traind::model
