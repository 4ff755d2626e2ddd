// SentencePiece models (tokenizer.model), through the library of that name.
//
// A document is encoded whole, as the library's own encode does. Bytes that are not UTF-8 become U+FFFD
// before they are encoded: that is the library's rule.
#pragma once

#include <memory>
#include <string_view>

#include "engine/base/status.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

// `model` is the file's content. DAMAGED_TOKENIZER if the library refuses it, or it names no end-of-sentence.
Result<std::unique_ptr<Tokenizer>> MakeSentencePiece(std::string_view model);

}  // namespace traind::data
