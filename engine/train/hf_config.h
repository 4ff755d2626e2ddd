// A model's config.json, as Hugging Face's transformers writes and reads it.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/spec/model.h"

namespace traind::train {

// Every field that the architecture has, so that no default of another library's version matters. Beginning
// and end of text are token 0 of the byte tokenizer.
std::string HuggingFaceConfig(const ModelSpec& model);

// The model that a config.json describes: model_type gpt2, llama or qwen2, by transformers before or since
// version 5. A field that is absent has transformers' default, but for sizes, which must be there; the
// tokenizer is "bytes" unless the file says otherwise. INVALID_OPTION, naming the field, for what the engine
// does not compute (another activation, sliding windows, scaled positions of another kind, biases where the
// family has none) and for what ValidateModel refuses; UNKNOWN_ARCHITECTURE for another model_type;
// MALFORMED_FRAME for what is no JSON or has a field of another type. `name` is the file, for messages.
Result<ModelSpec> ModelFromHuggingFaceConfig(std::string_view text, const std::string& name);

}  // namespace traind::train
