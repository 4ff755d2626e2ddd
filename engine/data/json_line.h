// One line of JSONL: finds a string field of a JSON object, checking all of the line strictly, without
// building a tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace traind::data {

// What is wrong with a line, and at which of its bytes (from 0).
struct JsonProblem {
  enum class Kind {
    kSyntax,     // not one JSON object by RFC 8259, or nested deeper than kMaxJsonDepth
    kCutShort,   // the line ends before the object does
    kSurrogate,  // an escaped surrogate without its other half: no text holds it
    kField,      // the field is missing, is no string, or stands twice
  };
  Kind kind = Kind::kSyntax;
  int64_t offset = 0;
  std::string what;
};

struct JsonField {
  std::string text;                   // the field's value, unescaped
  std::optional<int64_t> nul_offset;  // where a NUL is escaped in it first
};

// Reads the string under `field` in the object that `line` is; `line` is valid UTF-8. `value->text` keeps its
// memory from one line to the next.
std::optional<JsonProblem> ReadJsonField(std::string_view line, std::string_view field, JsonField* value);

}  // namespace traind::data
