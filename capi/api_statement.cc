// traind.h: scripts, statements and rows.
#include "capi/call.h"
#include "capi/rows.h"

using namespace traind;        // NOLINT(google-build-using-namespace)
using namespace traind::capi;  // NOLINT(google-build-using-namespace)

namespace {

// A statement's answer that is a pointer or a number; `fallback` on misuse.
template <typename Value, typename Body>
Value StatementPart(traind_stmt* handle, Value fallback, Body body) {
  Value value = fallback;
  int32_t code = OnStatement(handle, [&](StatementObject& statement, ConnectionObject&) {
    value = body(statement);
    return Ok();
  });
  return code == TRAIND_OK ? value : fallback;
}

template <typename Value, typename Body>
Value ScriptPart(const traind_script* handle, Value fallback, Body body) {
  Value value = fallback;
  OnScript(handle, [&](ScriptObject& object, ConnectionObject&) {
    value = body(object.script);
    return Ok();
  });
  return value;
}

template <typename List>
bool Inside(const List& list, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < list.size();
}

Status HandOutStatement(const ScriptStatement& parsed, traind_conn* conn, ConnectionObject* connection,
                        traind_stmt** out) {
  return HandOut(Kind::kStatement, std::make_unique<StatementObject>(conn, parsed), connection, out);
}

Status Prepare(std::string_view text, traind_conn* conn, ConnectionObject* connection, traind_stmt** out,
               size_t* tail) {
  TRAIND_ASSIGN(Script script, ParseScript(connection->client(), text));
  *tail = text.size();
  if (script.statements.empty()) return script.errors.empty() ? Ok() : script.errors.front();
  size_t next = static_cast<size_t>(script.statements.front().end);
  size_t semicolon = script.statements.size() > 1
                         ? text.rfind(';', static_cast<size_t>(script.statements[1].begin))
                         : text.find(';', next);
  if (semicolon != std::string_view::npos && semicolon >= next) *tail = semicolon + 1;
  TRAIND_TRY(ErrorOfStatement(script, 0));
  return HandOutStatement(script.statements.front(), conn, connection, out);
}

int32_t Bind(traind_stmt* stmt, int32_t index, Json value) {
  return OnStatement(stmt, [&](StatementObject& statement, ConnectionObject&) {
    return statement.Bind(index, std::move(value));
  });
}

int32_t Step(traind_stmt* handle, bool wait) {
  int32_t result = TRAIND_MISUSE;
  int32_t code = OnStatement(handle, [&](StatementObject& statement, ConnectionObject& connection) -> Status {
    TRAIND_ASSIGN(StepResult step, statement.Step(connection.client(), connection.config, wait));
    result = step == StepResult::kRow ? TRAIND_ROW : step == StepResult::kDone ? TRAIND_DONE : TRAIND_AGAIN;
    return Ok();
  });
  return code == TRAIND_OK ? result : code;
}

const ColumnInfo* ColumnOf(const StatementObject& statement, int32_t column) {
  const Execution* execution = statement.execution();
  if (execution == nullptr || !Inside(execution->columns, column)) return nullptr;
  return &execution->columns[static_cast<size_t>(column)];
}

// Gives the caller a text that lives until the next step.
Status GiveText(StatementObject* statement, std::string made, const char** text, int64_t* length) {
  const std::string& kept = statement->Keep(std::move(made));
  *text = kept.c_str();
  if (length != nullptr) *length = static_cast<int64_t>(kept.size());
  return Ok();
}

// A function of one cell that gives a text.
template <typename Body>
int32_t CellAsText(traind_stmt* handle, int32_t column, const char** text, int64_t* length, Body body) {
  if (text == nullptr) return TRAIND_MISUSE;
  *text = nullptr;
  if (length != nullptr) *length = 0;
  return OnStatement(handle, [&](StatementObject& statement, ConnectionObject&) -> Status {
    TRAIND_ASSIGN(const Json* cell, statement.Cell(column));
    return body(statement, *cell);
  });
}

template <typename Value, typename Body>
int32_t CellAsNumber(traind_stmt* handle, int32_t column, Value* out, Body body) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = 0;
  return OnStatement(handle, [&](StatementObject& statement, ConnectionObject&) -> Status {
    TRAIND_ASSIGN(const Json* cell, statement.Cell(column));
    *out = body(*cell);
    return Ok();
  });
}

}  // namespace

extern "C" {

int32_t traind_check(traind_conn* conn, const char* text, int64_t length, traind_script** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return OnClient(conn, [&](ConnectionObject& connection) -> Status {
    std::string_view script_text;
    if (!TakeText(text, length, &script_text)) return Misuse("the text is NULL, or its length negative");
    TRAIND_ASSIGN(Script script, ParseScript(connection.client(), script_text));
    return HandOut(Kind::kScript, std::make_unique<ScriptObject>(conn, std::move(script)), &connection, out);
  });
}

int32_t traind_script_error_count(const traind_script* script) {
  return ScriptPart<int32_t>(script, 0,
                             [](const Script& s) { return static_cast<int32_t>(s.errors.size()); });
}

int32_t traind_script_error(const traind_script* script, int32_t index, traind_error** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return OnScript(script, [&](ScriptObject& object, ConnectionObject&) -> Status {
    if (!Inside(object.script.errors, index)) return Misuse("the script has no error of this index");
    return HandOutError(object.script.errors[static_cast<size_t>(index)], out);
  });
}

int32_t traind_script_statement_count(const traind_script* script) {
  return ScriptPart<int32_t>(script, 0,
                             [](const Script& s) { return static_cast<int32_t>(s.statements.size()); });
}

int32_t traind_script_statement(const traind_script* script, int32_t index, int64_t* begin, int64_t* end) {
  if (begin == nullptr || end == nullptr) return TRAIND_MISUSE;
  return OnScript(script, [&](ScriptObject& object, ConnectionObject&) -> Status {
    if (!Inside(object.script.statements, index)) return Misuse("the script has no statement of this index");
    *begin = object.script.statements[static_cast<size_t>(index)].begin;
    *end = object.script.statements[static_cast<size_t>(index)].end;
    return Ok();
  });
}

const char* traind_script_open(const traind_script* script) {
  return ScriptPart<const char*>(script, "nothing", [](const Script& s) { return s.open.c_str(); });
}

int32_t traind_script_prepare(traind_script* script, int32_t index, traind_stmt** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return OnScript(script, [&](ScriptObject& object, ConnectionObject& connection) -> Status {
    if (!Inside(object.script.statements, index)) return Misuse("the script has no statement of this index");
    TRAIND_TRY(ErrorOfStatement(object.script, static_cast<size_t>(index)));
    return HandOutStatement(object.script.statements[static_cast<size_t>(index)],
                            static_cast<traind_conn*>(object.connection()), &connection, out);
  });
}

void traind_script_free(traind_script* script) {
  FreeDependent(Kind::kScript, script);
}

int32_t traind_prepare(traind_conn* conn, const char* text, int64_t length, traind_stmt** out,
                       const char** tail) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  if (tail != nullptr) *tail = text;
  return OnClient(conn, [&](ConnectionObject& connection) -> Status {
    std::string_view script_text;
    if (!TakeText(text, length, &script_text)) return Misuse("the text is NULL, or its length negative");
    size_t rest = 0;
    Status prepared = Prepare(script_text, conn, &connection, out, &rest);
    if (tail != nullptr) *tail = text + rest;
    return prepared;
  });
}

const char* traind_stmt_kind(traind_stmt* stmt) {
  return StatementPart<const char*>(stmt, nullptr,
                                    [](StatementObject& s) { return s.parsed().kind.c_str(); });
}

const char* traind_stmt_text(traind_stmt* stmt) {
  return StatementPart<const char*>(stmt, nullptr,
                                    [](StatementObject& s) { return s.parsed().text.c_str(); });
}

int32_t traind_parameter_count(traind_stmt* stmt) {
  return StatementPart<int32_t>(
      stmt, 0, [](StatementObject& s) { return static_cast<int32_t>(s.parsed().parameters.size()); });
}

const char* traind_parameter_name(traind_stmt* stmt, int32_t index) {
  return StatementPart<const char*>(stmt, nullptr, [&](StatementObject& s) -> const char* {
    const auto& names = s.parsed().parameters;
    return index >= 1 && Inside(names, index - 1) ? names[static_cast<size_t>(index) - 1].c_str() : nullptr;
  });
}

int32_t traind_parameter_index(traind_stmt* stmt, const char* name) {
  if (name == nullptr) return 0;
  std::string_view wanted(name);
  if (wanted.starts_with('$')) wanted.remove_prefix(1);
  return StatementPart<int32_t>(stmt, 0, [&](StatementObject& s) {
    const auto& names = s.parsed().parameters;
    auto found = std::find(names.begin(), names.end(), wanted);
    return found == names.end() ? 0 : static_cast<int32_t>(found - names.begin()) + 1;
  });
}

int32_t traind_bind_text(traind_stmt* stmt, int32_t index, const char* text, int64_t length) {
  std::string_view value;
  if (!TakeText(text, length, &value)) return TRAIND_MISUSE;
  return Bind(stmt, index, Json(value));
}

int32_t traind_bind_quantity(traind_stmt* stmt, int32_t index, const char* text, int64_t length) {
  std::string_view value;
  if (!TakeText(text, length, &value)) return TRAIND_MISUSE;
  return Bind(stmt, index, Json{{"quantity", value}});
}

int32_t traind_bind_int64(traind_stmt* stmt, int32_t index, int64_t value) {
  return Bind(stmt, index, Json(value));
}

int32_t traind_bind_double(traind_stmt* stmt, int32_t index, double value) {
  return Bind(stmt, index, Json(value));
}

int32_t traind_bind_null(traind_stmt* stmt, int32_t index) {
  return Bind(stmt, index, Json());
}

int32_t traind_clear_bindings(traind_stmt* stmt) {
  return OnStatement(stmt,
                     [](StatementObject& statement, ConnectionObject&) { return statement.ClearBindings(); });
}

int32_t traind_stmt_set_token(traind_stmt* stmt, const char* token) {
  return OnStatement(stmt, [&](StatementObject& statement, ConnectionObject&) {
    return statement.SetToken(token == nullptr ? "" : token);
  });
}

int32_t traind_step(traind_stmt* stmt) {
  return Step(stmt, true);
}

int32_t traind_step_nonblocking(traind_stmt* stmt) {
  return Step(stmt, false);
}

int32_t traind_reset(traind_stmt* stmt) {
  return OnStatement(stmt, [](StatementObject& statement, ConnectionObject& connection) {
    statement.Reset(connection.client());
    return Ok();
  });
}

void traind_stmt_free(traind_stmt* stmt) {
  FreeDependent(Kind::kStatement, stmt);
}

int32_t traind_notice_count(traind_stmt* stmt) {
  return StatementPart<int32_t>(stmt, 0, [](StatementObject& s) {
    return s.execution() == nullptr ? 0 : static_cast<int32_t>(s.execution()->notices.size());
  });
}

const char* traind_notice(traind_stmt* stmt, int32_t index) {
  return StatementPart<const char*>(stmt, nullptr, [&](StatementObject& s) -> const char* {
    const Execution* execution = s.execution();
    if (execution == nullptr || !Inside(execution->notices, index)) return nullptr;
    return s.Keep(execution->notices[static_cast<size_t>(index)]).c_str();
  });
}

int32_t traind_column_count(traind_stmt* stmt) {
  return StatementPart<int32_t>(stmt, 0, [](StatementObject& s) {
    return s.execution() == nullptr ? 0 : static_cast<int32_t>(s.execution()->columns.size());
  });
}

const char* traind_column_name(traind_stmt* stmt, int32_t column) {
  return StatementPart<const char*>(stmt, nullptr, [&](StatementObject& s) {
    const ColumnInfo* info = ColumnOf(s, column);
    return info == nullptr ? nullptr : info->name.c_str();
  });
}

const char* traind_column_declared(traind_stmt* stmt, int32_t column) {
  return StatementPart<const char*>(stmt, nullptr, [&](StatementObject& s) {
    const ColumnInfo* info = ColumnOf(s, column);
    return info == nullptr ? nullptr : info->type.c_str();
  });
}

int32_t traind_column_type(traind_stmt* stmt, int32_t column) {
  int32_t type = TRAIND_TYPE_NULL;
  OnStatement(stmt, [&](StatementObject& statement, ConnectionObject&) -> Status {
    TRAIND_ASSIGN(const Json* cell, statement.Cell(column));
    type = static_cast<int32_t>(TypeOf(*cell));
    return Ok();
  });
  return type;
}

int32_t traind_column_int64(traind_stmt* stmt, int32_t column, int64_t* out) {
  return CellAsNumber(stmt, column, out, CellInteger);
}

int32_t traind_column_double(traind_stmt* stmt, int32_t column, double* out) {
  return CellAsNumber(stmt, column, out, CellReal);
}

int32_t traind_column_text(traind_stmt* stmt, int32_t column, const char** text, int64_t* length) {
  return CellAsText(stmt, column, text, length, [&](StatementObject& statement, const Json& cell) {
    return cell.is_null() ? Ok() : GiveText(&statement, CellText(cell), text, length);
  });
}

int32_t traind_column_display(traind_stmt* stmt, int32_t column, const char** text, int64_t* length) {
  return CellAsText(stmt, column, text, length, [&](StatementObject& statement, const Json& cell) {
    return GiveText(&statement, CellDisplay(cell, ColumnOf(statement, column)->type), text, length);
  });
}

int32_t traind_row_json(traind_stmt* stmt, const char** text, int64_t* length) {
  if (text == nullptr) return TRAIND_MISUSE;
  *text = nullptr;
  return OnStatement(stmt, [&](StatementObject& statement, ConnectionObject&) -> Status {
    TRAIND_ASSIGN(const Json* row, statement.Row());
    return GiveText(&statement, RowAsJson(statement.execution()->columns, *row), text, length);
  });
}

}  // extern "C"
