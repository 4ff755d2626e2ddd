// What CREATE TOKENIZER and TRAIN TOKENIZER share: a worker makes the files, then the catalog gets its row.
#pragma once

#include <string>

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/spec/task.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct WantedTokenizer {
  grammar::Name name;
  bool or_replace = false;
  bool if_not_exists = false;
  std::string statement;  // canonical, without OR REPLACE and IF NOT EXISTS
  TokenizerTask task;     // all but the directory
};

// Answers at once when there is nothing to do: it exists as wanted, or the statement is only checked.
// TOKENIZER_EXISTS, SPEC_DIFFERS, TOKENIZER_IN_USE at the name.
Result<Outcome> MakeTokenizer(WantedTokenizer wanted, const Context& context);

}  // namespace traind::daemon
