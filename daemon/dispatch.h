// One statement's way through the daemon, on a pool thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "daemon/statement.h"
#include "engine/base/json.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// The protocol's "execute".
struct StatementRequest {
  int64_t id = 0;
  std::string text;  // one statement
  SourcePosition origin{0, 1, 1};
  std::map<std::string, grammar::Value> parameters;
  std::string token;
  bool check = false;
  bool progress = false;
  bool stop_on_paused = false;
};
// MALFORMED_FRAME or INVALID_OPTION say what is wrong with the message.
Result<StatementRequest> StatementRequestFromJson(int64_t id, const Json& message);

struct Dispatched {
  std::string kind;                // "TRAIN"
  Outcome outcome;                 // its rows already encoded and taken out
  std::deque<std::string> frames;  // columns and rows, encoded
  int64_t rows = 0;
};

// parse → bind, plan, execute → encode the reply. Positions in errors are those of the request's origin.
Result<Dispatched> Dispatch(const StatementRequest& request, const SessionState& session,
                            const DaemonState& daemon, Reader& reader);

// STATEMENT_TOO_LONG for a text beyond kMaxScriptBytes.
Status CheckTextLength(const std::string& text);

// The protocol's "parse": {"statements":[…],"errors":[…],"open":…}. STATEMENT_TOO_LONG for a script that is
// too long or has more statements than one message can name.
Result<Json> ParseScript(const std::string& text);

}  // namespace traind::daemon
