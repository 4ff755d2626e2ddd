// traind.h: a whole script in one call.
#include "capi/call.h"
#include "capi/rows.h"

using namespace traind;        // NOLINT(google-build-using-namespace)
using namespace traind::capi;  // NOLINT(google-build-using-namespace)

namespace {

Result<Json> ParametersFrom(const char* text) {
  if (text == nullptr) return Json::object();
  Result<Json> parameters = ParseJson(text);
  if (!parameters.ok() || !parameters->is_object()) {
    return Misuse("the parameters are no JSON object",
                  "for example: {\"name\": \"nightly\", \"steps\": 100}");
  }
  return parameters;
}

Status BindAll(const Json& parameters, StatementObject* statement) {
  const std::vector<std::string>& names = statement->parsed().parameters;
  for (size_t i = 0; i < names.size(); ++i) {
    auto value = parameters.find(names[i]);
    if (value != parameters.end()) TRAIND_TRY(statement->Bind(static_cast<int32_t>(i) + 1, *value));
  }
  return Ok();
}

// Runs one statement to its end and gives its part of the result.
Result<std::string> RunOne(StatementObject* statement, ConnectionObject* connection) {
  std::string rows;
  while (true) {
    TRAIND_ASSIGN(StepResult step, statement->Step(connection->client(), connection->config, true));
    if (step == StepResult::kDone) break;
    TRAIND_ASSIGN(const Json* row, statement->Row());
    std::string cells;
    for (size_t i = 0; i < row->size(); ++i) {
      cells += (i == 0 ? "" : ",") + CellAsJson((*row)[i], statement->execution()->columns[i].type);
    }
    rows += (rows.empty() ? "[" : ",[") + cells + "]";
  }
  Json columns = Json::array();
  for (const ColumnInfo& column : statement->execution()->columns) {
    columns.push_back({{"name", column.name}, {"type", column.type}});
  }
  return "{\"kind\":" + DumpJson(Json(statement->parsed().kind)) + ",\"columns\":" + DumpJson(columns) +
         ",\"rows\":[" + rows + "],\"notices\":" + DumpJson(Json(statement->execution()->notices)) + "}";
}

// Runs all statements; `json` holds those that ended well whatever is returned.
Status RunAll(const Script& script, const Json& parameters, ConnectionObject* connection, std::string* json) {
  for (const ScriptStatement& parsed : script.statements) {
    StatementObject statement(nullptr, parsed);
    TRAIND_TRY(BindAll(parameters, &statement));
    TRAIND_ASSIGN(std::string part, RunOne(&statement, connection));
    *json += (json->empty() ? "" : ",\n") + part;
  }
  return Ok();
}

}  // namespace

extern "C" {

int32_t traind_execute(traind_conn* conn, const char* text, int64_t length, const char* parameters,
                       traind_result** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return OnClient(conn, [&](ConnectionObject& connection) -> Status {
    std::string_view script_text;
    if (!TakeText(text, length, &script_text)) return Misuse("the text is NULL, or its length negative");
    TRAIND_ASSIGN(Json values, ParametersFrom(parameters));
    TRAIND_ASSIGN(Script script, ParseScript(connection.client(), script_text));
    if (!script.errors.empty()) return script.errors.front();
    auto result = std::make_unique<ResultObject>();
    Status ran = RunAll(script, values, &connection, &result->json);
    result->json = "[" + result->json + "]";
    TRAIND_TRY(HandOut(Kind::kResult, std::move(result), out));
    return ran;
  });
}

const char* traind_result_json(const traind_result* result, int64_t* length) {
  if (length != nullptr) *length = 0;
  return Part<ResultObject, Kind::kResult>(result, static_cast<const char*>(nullptr),
                                           [&](const ResultObject& object) {
                                             if (length != nullptr)
                                               *length = static_cast<int64_t>(object.json.size());
                                             return object.json.c_str();
                                           });
}

void traind_result_free(traind_result* result) {
  Release(Kind::kResult, result);
}

}  // extern "C"
