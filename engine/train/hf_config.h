// A model's config.json, as Hugging Face's LlamaForCausalLM reads it.
#pragma once

#include <string>

#include "engine/spec/model.h"

namespace traind::train {

// Every field that the architecture has, so that no default of another library's version matters. Beginning
// and end of text are token 0 of the byte tokenizer.
std::string HuggingFaceConfig(const ModelSpec& model);

}  // namespace traind::train
