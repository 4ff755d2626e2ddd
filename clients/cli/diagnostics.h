// Errors as people read them: where, what, the line with a mark below it, what was expected, what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capi/traind.h"

namespace traind::cli {

// A copy of an error's parts.
struct Diagnostic {
  int32_t code = TRAIND_OK;
  std::string name;
  std::string message;
  std::string hint;
  int64_t offset = 0;
  int32_t line = 0;  // 0: no place
  int32_t column = 0;
  std::vector<std::string> expected;
};

// The parts of `error`, which is freed. A NULL error gives MISUSE.
Diagnostic TakeDiagnostic(traind_error* error);

// The last error of a connection or statement.
Diagnostic LastDiagnostic(const void* handle);

// A text that statements came from.
struct SourceText {
  std::string name;  // "night.tql", "-c", "stdin"; empty: not shown
  std::string text;
};

struct DiagnosticStyle {
  bool colour = false;
  int width = 80;
};

// The error's text, with line feeds. `source` is the text that its place is in; a place in another text
// (detail) is not looked up.
std::string FormatDiagnostic(const Diagnostic& diagnostic, const SourceText& source,
                             const DiagnosticStyle& style);

}  // namespace traind::cli
