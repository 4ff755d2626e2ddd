// A text cut into statements by the daemon, which alone knows the language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capi/client.h"
#include "engine/base/status.h"

namespace traind::capi {

struct ScriptStatement {
  int64_t begin = 0;  // bytes [begin, end) of the text, without the ';'
  int64_t end = 0;
  SourcePosition position;
  std::string kind;
  std::vector<std::string> parameters;
  std::string text;
};

struct Script {
  std::vector<ScriptStatement> statements;
  std::vector<Status> errors;
  std::string open = "nothing";
};

// Asks the daemon to parse `text`. STATEMENT_TOO_LONG beyond kMaxScriptBytes, INVALID_UTF8, or what Call
// gives.
Result<Script> ParseScript(Client* client, std::string_view text);

// The error of statement `index`, or OK: the first one that lies in it.
Status ErrorOfStatement(const Script& script, size_t index);

}  // namespace traind::capi
