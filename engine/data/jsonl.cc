// Cuts lines and reads them.
#include "engine/data/jsonl.h"

#include <fmt/format.h>

#include <optional>

#include "engine/base/limits.h"
#include "engine/data/text_validator.h"

namespace traind::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Status JsonlReader::Append(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (std::ssize(begun_) + std::ssize(part) > kMaxJsonlLineBytes) return TooLong();
    if (end == std::string_view::npos) {
      begun_.append(part);
      return Ok();
    }
    if (begun_.empty()) {
      TRAIND_TRY(TakeLine(part, true));
    } else {
      begun_.append(part);
      TRAIND_TRY(TakeLine(begun_, true));
      begun_.clear();
    }
    piece.remove_prefix(end + 1);
  }
  return Ok();
}

Status JsonlReader::Finish() {
  return begun_.empty() ? Ok() : TakeLine(begun_, false);
}

Status JsonlReader::TakeLine(std::string_view line, bool ended) {
  if (line_ == 1) TRAIND_TRY(CheckBegin(line));
  if (IsBlank(line)) {
    return Status(ErrorCode::DAMAGED_FILE,
                  fmt::format("{}: {} is empty; each line must hold a JSON object", source_.path, PlaceOf(0)),
                  "remove empty lines: `grep -v '^[[:space:]]*$'`");
  }
  TRAIND_TRY(CheckEncoding(line));
  if (const std::optional<JsonProblem> problem = ReadJsonField(line, field_, &value_)) {
    return Explain(*problem, ended);
  }
  if (nul_is_forbidden_ && value_.nul_offset) {
    return ExplainText(source_, TextProblem::Kind::kNul, PlaceOf(*value_.nul_offset), {});
  }
  TRAIND_TRY(take_({value_.text, line_, offset_}));
  offset_ += std::ssize(line) + 1;
  ++line_;
  return Ok();
}

Status JsonlReader::CheckBegin(std::string_view line) const {
  if (!line.starts_with(kByteOrderMark)) return Ok();
  return Status(ErrorCode::DAMAGED_FILE,
                fmt::format("{}: {} begins with a byte order mark, which JSON does not allow", source_.path,
                            PlaceOf(0)),
                "remove it: `sed -i '1s/^\\xef\\xbb\\xbf//'`");
}

Status JsonlReader::CheckEncoding(std::string_view line) const {
  TextValidator validator;
  std::optional<TextProblem> problem = validator.Check(line);
  if (!problem) problem = validator.Finish();
  if (!problem) return Ok();
  if (problem->kind == TextProblem::Kind::kNul) {
    return Status(
        ErrorCode::DAMAGED_FILE,
        fmt::format("{}: {}: a NUL byte, which JSON does not allow", source_.path, PlaceOf(problem->offset)),
        "leave this file out if it is no JSONL");
  }
  return ExplainText(source_, problem->kind, PlaceOf(problem->offset), line.substr(0, line_ == 1 ? 2 : 0));
}

Status JsonlReader::Explain(const JsonProblem& problem, bool ended) const {
  const std::string message = fmt::format("{}: {}: {}", source_.path, PlaceOf(problem.offset), problem.what);
  switch (problem.kind) {
    case JsonProblem::Kind::kSurrogate:
      return Status(ErrorCode::INVALID_ENCODING, message,
                    "half a character is no text; mend or drop the line");
    case JsonProblem::Kind::kField:
      return Status(ErrorCode::DAMAGED_FILE, message,
                    "the documents' field is named with CREATE DATASET … FORMAT jsonl WITH (text_field='…')");
    case JsonProblem::Kind::kSyntax:
    case JsonProblem::Kind::kCutShort:
      break;
  }
  return Status(ErrorCode::DAMAGED_FILE, message,
                ended ? "each line must be one JSON object of its own"
                      : "the last line has no line end: the file was cut short, or is still being written");
}

Status JsonlReader::TooLong() const {
  return Status(
      ErrorCode::DAMAGED_FILE,
      fmt::format("{}: {}: the line is longer than {} bytes", source_.path, PlaceOf(0), kMaxJsonlLineBytes),
      "split the document, or leave the file out if it is no JSONL");
}

std::string JsonlReader::PlaceOf(int64_t offset_in_line) const {
  return fmt::format("line {} (byte {})", line_, offset_ + offset_in_line);
}

}  // namespace traind::data
