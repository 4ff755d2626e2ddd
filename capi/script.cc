// What the parse operation answers is checked before it is used: offsets lie in the text and in order.
#include "capi/script.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/limits.h"

namespace traind::capi {
namespace {

Status Malformed(std::string_view what) {
  return Status(ErrorCode::MALFORMED_FRAME,
                fmt::format("the daemon's answer to parse is not understood: {}", what));
}

Result<ScriptStatement> StatementFrom(const Json& object, std::string_view text) {
  ScriptStatement statement;
  TRAIND_ASSIGN(statement.begin, GetInt(object, "begin"));
  TRAIND_ASSIGN(statement.end, GetInt(object, "end"));
  TRAIND_ASSIGN(int64_t line, GetInt(object, "line"));
  TRAIND_ASSIGN(int64_t column, GetInt(object, "column"));
  TRAIND_ASSIGN(statement.kind, GetStringOr(object, "kind", ""));
  if (statement.begin < 0 || statement.begin > statement.end ||
      statement.end > static_cast<int64_t>(text.size())) {
    return Malformed("a statement outside the text");
  }
  statement.position = {statement.begin, static_cast<int32_t>(line), static_cast<int32_t>(column)};
  statement.text =
      text.substr(static_cast<size_t>(statement.begin), static_cast<size_t>(statement.end - statement.begin));
  if (auto parameters = object.find("parameters"); parameters != object.end() && parameters->is_array()) {
    for (const Json& name : *parameters) {
      if (!name.is_string()) return Malformed("a parameter without a name");
      statement.parameters.push_back(name.get<std::string>());
    }
  }
  return statement;
}

}  // namespace

Result<Script> ParseScript(Client* client, std::string_view text) {
  if (text.size() > static_cast<size_t>(kMaxScriptBytes)) {
    return Status(
        ErrorCode::STATEMENT_TOO_LONG,
        fmt::format("the script has {} bytes, at most {} are possible", text.size(), kMaxScriptBytes),
        "cut it into several, and run them one after the other");
  }
  TRAIND_ASSIGN(Json reply, client->Call({{"op", "parse"}, {"text", text}}));
  Script script;
  TRAIND_ASSIGN(script.open, GetStringOr(reply, "open", "nothing"));
  auto statements = reply.find("statements"), errors = reply.find("errors");
  if (statements == reply.end() || !statements->is_array()) return Malformed("no list of statements");
  for (const Json& object : *statements) {
    TRAIND_ASSIGN(ScriptStatement statement, StatementFrom(object, text));
    script.statements.push_back(std::move(statement));
  }
  if (errors != reply.end() && errors->is_array()) {
    for (const Json& error : *errors) script.errors.push_back(StatusFromJson(error));
  }
  return script;
}

Status ErrorOfStatement(const Script& script, size_t index) {
  const ScriptStatement& statement = script.statements[index];
  bool last = index + 1 == script.statements.size();
  int64_t next = last ? INT64_MAX : script.statements[index + 1].begin;
  for (const Status& error : script.errors) {
    int64_t offset = error.position().offset;
    if (offset >= statement.begin && offset < next) return error;
  }
  return Ok();
}

}  // namespace traind::capi
