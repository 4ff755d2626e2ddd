// The parts of tokenizer.json that are lists of typed objects, and how its fields are read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/data/tokenizers/hf_tokenizer.h"

namespace traind::data {

// DAMAGED_TOKENIZER: "model.vocab is a list; it must be an object".
Status Wrong(std::string_view path, std::string_view expected, const Json& found);
Status Malformed(std::string_view path, std::string_view what);

// null if it is missing.
const Json& FieldOf(const Json& object, std::string_view key);
Result<std::string> StringField(const Json& object, std::string_view key, std::string_view path);
Result<bool> FlagField(const Json& object, std::string_view key, std::string_view path, bool otherwise);
Result<TokenId> IdField(const Json& object, std::string_view key, std::string_view path);
// Its "type"; `otherwise` (if not empty) where there is none.
Result<std::string> TypeOf(const Json& object, std::string_view path, std::string_view otherwise = {});

Result<Normalizer> ParseNormalizer(const Json& object);

struct PreTokenizerParts {
  std::vector<SplitStep> steps;
  bool byte_level = false;
};
Result<PreTokenizerParts> ParsePreTokenizer(const Json& object);
Result<Decoder> ParseDecoder(const Json& object);
// The names of the special tokens that a post-processor puts before a text.
Result<std::vector<std::string>> ParsePrefix(const Json& object);

}  // namespace traind::data
