// Tokenizers of statements: by name, and what a model takes over from one.
#pragma once

#include <optional>
#include <string>

#include "daemon/bind/options.h"
#include "daemon/catalog/tokenizers.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/spec/model.h"
#include "grammar/ast.h"

namespace traind::daemon {

// The tokenizer of that name: NO_SUCH_TOKENIZER at the name, with the nearest one. When a script is only
// checked, what it has made before counts.
Result<TokenizerRecord> FindTokenizer(const std::string& name, SourcePosition position,
                                      const Context& context);
// The same, where it may be missing.
Result<std::optional<TokenizerRecord>> FindTokenizerIfAny(const std::string& name, const Context& context);

// Looks up model->tokenizer and takes over its id and end-of-text; its vocab_size too, if the option is not
// given. INVALID_OPTION at vocab_size if that is smaller than the tokenizer's.
Status TakeTokenizer(const BoundOptions& options, SourcePosition position, const Context& context,
                     ModelSpec* model);

}  // namespace traind::daemon
