// JSONL: each line a JSON object, a document the string under one of its fields.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/data/json_line.h"
#include "engine/data/source.h"

namespace traind::data {

// Takes a file in pieces of any size, gives its documents. Lines end in LF or CRLF; the last one may lack it.
// DAMAGED_FILE, INVALID_ENCODING and FORBIDDEN_BYTE name file, line and byte offset.
class JsonlReader {
 public:
  struct Document {
    std::string_view text;
    int64_t line = 0;    // from 1
    int64_t offset = 0;  // of the line, from 0
  };
  using Take = std::function<Status(const Document&)>;

  // All borrowed. With `nul_is_forbidden` a document may hold no NUL.
  JsonlReader(const SourceFile& source, const std::string& field, bool nul_is_forbidden, Take take)
      : source_(source), field_(field), nul_is_forbidden_(nul_is_forbidden), take_(std::move(take)) {}

  Status Append(std::string_view piece);
  Status Finish();

 private:
  Status TakeLine(std::string_view line, bool ended);
  Status CheckBegin(std::string_view line) const;
  Status CheckEncoding(std::string_view line) const;
  Status Explain(const JsonProblem& problem, bool ended) const;
  Status TooLong() const;
  std::string PlaceOf(int64_t offset_in_line) const;

  const SourceFile& source_;
  const std::string& field_;
  const bool nul_is_forbidden_;
  const Take take_;
  std::string begun_;   // the part of a line that earlier pieces held
  int64_t line_ = 1;    // the number of the line that is being read
  int64_t offset_ = 0;  // where it begins
  JsonField value_;
};

}  // namespace traind::data
