// What an editor asks of a text: its tokens, and what may stand at its end.
#pragma once

#include <string>

#include "daemon/catalog/catalog.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

// The tokens and comments of `text` in order: {"tokens":[{"begin":0,"end":5,"kind":"keyword"},…]}, offsets in
// bytes. Kinds: keyword, name, string, number (with its unit), parameter, punctuation, comment, invalid. No
// text is an error but one that is too long.
Result<Json> LexText(const std::string& text);

// What may stand at the end of `text`, whose last word may be unfinished:
// {"begin":14,"words":[{"text":"MODEL", "kind":"keyword"},…]}; the word that is being completed begins at
// `begin`. Kinds: keyword, punctuation, placeholder ("a number"), and names that exist: model, dataset, job,
// view.
Result<Json> CompleteText(const std::string& text, Connection& reader);

}  // namespace traind::daemon
