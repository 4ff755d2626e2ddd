// The pipeline: parse → bind, plan, execute → encode.
#include "daemon/dispatch.h"

#include <fmt/format.h>

#include <utility>

#include "daemon/reply.h"
#include "engine/base/fault.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

constexpr size_t kMaxReportedErrors = 100;

Reply& ReplyOf(Outcome* outcome) {
  if (auto* wait = std::get_if<WaitOutcome>(outcome)) return wait->reply;
  if (auto* follow = std::get_if<FollowOutcome>(outcome)) return follow->reply;
  return std::get<Reply>(*outcome);
}

// Encodes the outcome's rows and frees them.
Status EncodeOutcome(int64_t id, Dispatched* dispatched) {
  if (std::holds_alternative<WorkerOutcome>(dispatched->outcome)) return Ok();
  Reply& reply = ReplyOf(&dispatched->outcome);
  dispatched->rows = static_cast<int64_t>(reply.rows.size());
  TRAIND_ASSIGN(dispatched->frames, EncodeReply(id, dispatched->kind, reply));
  reply.rows.clear();
  return Ok();
}

std::string_view OpenEndName(grammar::OpenEnd open) {
  switch (open) {
    case grammar::OpenEnd::kNothing:
      return "nothing";
    case grammar::OpenEnd::kStatement:
      return "statement";
    case grammar::OpenEnd::kString:
      return "string";
    case grammar::OpenEnd::kName:
      return "name";
    case grammar::OpenEnd::kComment:
      return "comment";
    case grammar::OpenEnd::kParenthesis:
      return "parenthesis";
  }
  return "nothing";
}

Json ParsedStatementToJson(const grammar::ParsedStatement& statement) {
  Json parameters = Json::array();
  for (const grammar::Parameter& parameter : statement.parameters) parameters.push_back(parameter.name);
  return Json{{"begin", statement.begin},        {"end", statement.end},
              {"line", statement.position.line}, {"column", statement.position.column},
              {"kind", statement.kind},          {"parameters", std::move(parameters)}};
}

grammar::Value TextValue(std::string text) {
  grammar::Value value;
  value.kind = grammar::Value::Kind::kString;
  value.text = std::move(text);
  return value;
}

grammar::Value WordValue(std::string word) {
  grammar::Value value;
  value.kind = grammar::Value::Kind::kWord;
  value.text = std::move(word);
  return value;
}

grammar::Value QuantityValue(Quantity quantity) {
  grammar::Value value;
  value.kind = grammar::Value::Kind::kQuantity;
  value.quantity = quantity;
  return value;
}

Result<grammar::Value> ParameterFromJson(const std::string& name, const Json& json) {
  if (json.is_string()) return TextValue(json.get<std::string>());
  if (json.is_boolean()) return WordValue(json.get<bool>() ? "true" : "false");
  if (json.is_null()) return WordValue("null");
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
    return Status(ErrorCode::INVALID_OPTION, fmt::format("parameter ${} is larger than 2^63 - 1", name));
  }
  if (json.is_number_integer()) {
    const auto number = json.get<int64_t>();
    return QuantityValue({static_cast<double>(number), true, number, Dimension::kNumber});
  }
  if (json.is_number()) return QuantityValue({json.get<double>(), false, 0, Dimension::kNumber});
  if (json.is_object() && json.size() == 1 && json.contains("quantity")) {
    TRAIND_ASSIGN(const std::string literal, GetString(json, "quantity"));
    TRAIND_ASSIGN(const Quantity quantity, ParseQuantity(literal));
    return QuantityValue(quantity);
  }
  return Status(ErrorCode::MALFORMED_FRAME,
                fmt::format("parameter \"{}\" must be a string, number, true, false, null or "
                            "{{\"quantity\":\"4h\"}}, not a JSON {}",
                            name, json.type_name()));
}

}  // namespace

Status CheckTextLength(const std::string& text) {
  if (static_cast<int64_t>(text.size()) <= kMaxScriptBytes) return Ok();
  return {ErrorCode::STATEMENT_TOO_LONG,
          fmt::format("the text has {} bytes; the limit is {}", text.size(), kMaxScriptBytes),
          "split it into several scripts"};
}

Result<StatementRequest> StatementRequestFromJson(int64_t id, const Json& message) {
  StatementRequest request;
  request.id = id;
  TRAIND_ASSIGN(request.text, GetString(message, "text"));
  TRAIND_TRY(CheckTextLength(request.text));
  TRAIND_ASSIGN(request.origin.offset, GetIntOr(message, "offset", 0));
  TRAIND_ASSIGN(const int64_t line, GetIntOr(message, "line", 1));
  TRAIND_ASSIGN(const int64_t column, GetIntOr(message, "column", 1));
  if (request.origin.offset < 0 || line < 1 || line > INT32_MAX / 2 || column < 1 || column > INT32_MAX / 2) {
    return Status(ErrorCode::MALFORMED_FRAME, "\"offset\", \"line\" or \"column\" is no place in a text");
  }
  request.origin.line = static_cast<int32_t>(line);
  request.origin.column = static_cast<int32_t>(column);
  if (const auto parameters = message.find("parameters"); parameters != message.end()) {
    if (!parameters->is_object()) {
      return Status(ErrorCode::MALFORMED_FRAME, "\"parameters\" must be an object");
    }
    for (const auto& [name, value] : parameters->items()) {
      TRAIND_ASSIGN(request.parameters[name], ParameterFromJson(name, value));
    }
  }
  TRAIND_ASSIGN(request.token, GetStringOr(message, "token", ""));
  TRAIND_ASSIGN(request.check, GetBoolOr(message, "check", false));
  TRAIND_ASSIGN(request.progress, GetBoolOr(message, "progress", false));
  TRAIND_ASSIGN(request.stop_on_paused, GetBoolOr(message, "stop_on_paused", false));
  return request;
}

Result<Dispatched> Dispatch(const StatementRequest& request, const SessionState& session,
                            const DaemonState& daemon, Reader& reader) {
  TRAIND_ASSIGN(const grammar::ParsedStatement parsed, grammar::ParseOne(request.text, request.origin));

  const std::string written =
      request.text.substr(static_cast<size_t>(parsed.begin), static_cast<size_t>(parsed.end - parsed.begin));
  const Context context{session, daemon, reader, written, request.token, request.check, request.parameters};

  Dispatched dispatched;
  dispatched.kind = parsed.kind;
  TRAIND_ASSIGN(dispatched.outcome, Execute(*parsed.statement, context));
  TRAIND_TRY(EncodeOutcome(request.id, &dispatched));
  if (parsed.kind == "TRAIN") TRAIND_TRY(PassFaultPoint(FaultPoint::job_submitted));
  return dispatched;
}

Result<Json> ParseScript(const std::string& text) {
  TRAIND_TRY(CheckTextLength(text));
  const grammar::ParsedScript script = grammar::Parse(text);
  Json statements = Json::array();
  for (const auto& statement : script.statements) statements.push_back(ParsedStatementToJson(statement));
  Json errors = Json::array();
  for (const Status& error : script.errors) {
    if (errors.size() == kMaxReportedErrors) break;
    errors.push_back(StatusToJson(error));
  }
  return Json{{"statements", std::move(statements)},
              {"errors", std::move(errors)},
              {"open", OpenEndName(script.open)}};
}

}  // namespace traind::daemon
