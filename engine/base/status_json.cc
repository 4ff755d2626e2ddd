// A Status as JSON and back.
#include "engine/base/json.h"

namespace traind {
namespace {

// Names of what the grammar expected; anything that is no list of strings is left out.
std::vector<std::string> ExpectedFrom(const Json& object) {
  std::vector<std::string> expected;
  const auto field = object.find("expected");
  if (field == object.end() || !field->is_array()) return expected;
  for (const Json& item : *field) {
    if (item.is_string()) expected.push_back(item.get<std::string>());
  }
  return expected;
}

SourcePosition PositionFrom(const Json& object) {
  const auto offset = GetIntOr(object, "offset", 0);
  const auto line = GetIntOr(object, "line", 0);
  const auto column = GetIntOr(object, "column", 0);
  if (!offset.ok() || !line.ok() || !column.ok()) return {};
  constexpr int64_t kMax = INT32_MAX;
  if (*line < 0 || *line > kMax || *column < 0 || *column > kMax) return {};
  return {*offset, static_cast<int32_t>(*line), static_cast<int32_t>(*column)};
}

}  // namespace

Json StatusToJson(const Status& status) {
  const ErrorInfo& info = status.info();
  Json object = {{"code", static_cast<int32_t>(status.code())},
                 {"name", status.ok() ? std::string("OK") : std::string(info.name)},
                 {"class", status.ok() ? std::string() : std::string(info.error_class)},
                 {"message", status.message()},
                 {"retryable", !status.ok() && info.retryable}};
  if (!status.hint().empty()) object["hint"] = status.hint();
  if (status.position().known()) {
    object["offset"] = status.position().offset;
    object["line"] = status.position().line;
    object["column"] = status.position().column;
  }
  if (!status.expected().empty()) object["expected"] = status.expected();
  if (!status.detail_json().empty()) {
    Result<Json> detail = ParseJson(status.detail_json());
    object["detail"] = detail.ok() ? *std::move(detail) : Json(status.detail_json());
  }
  return object;
}

Status StatusFromJson(const Json& object) {
  TRAIND_ASSIGN(const int64_t number, GetInt(object, "code"));
  TRAIND_ASSIGN(std::string message, GetStringOr(object, "message", ""));
  TRAIND_ASSIGN(std::string hint, GetStringOr(object, "hint", ""));
  if (number <= 0 || number > INT32_MAX) {
    return Status(ErrorCode::MALFORMED_FRAME,
                  "an error with the number " + std::to_string(number) + ", which is none: " + message);
  }
  const auto code = static_cast<ErrorCode>(number);
  if (InfoOf(code).code != code) {  // of a newer peer: keep its words
    message += " (error " + std::to_string(number) + ", unknown here)";
    return Status(ErrorCode::INTERNAL, std::move(message), std::move(hint));
  }
  const auto detail = object.find("detail");
  return Status(code, std::move(message), std::move(hint))
      .At(PositionFrom(object))
      .Expecting(ExpectedFrom(object))
      .With(detail == object.end() || detail->is_null() ? std::string() : DumpJson(*detail));
}

}  // namespace traind
