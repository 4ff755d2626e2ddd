// Reads mutated data as a worker does.
#include "tests/fuzz/check_data.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "engine/base/json.h"
#include "engine/data/jsonl.h"
#include "engine/data/llmc.h"
#include "engine/data/megatron.h"
#include "engine/data/text_validator.h"
#include "tests/support/crash_io.h"

namespace traind::fuzzing {
namespace {

using namespace data;  // NOLINT(google-build-using-namespace): what is checked

constexpr int64_t kVocabSize = 50257;

[[noreturn]] void Complain(std::string_view what, std::string_view input) {
  std::fprintf(stderr, "%.*s\ninput (%zu bytes): %.*s\n", static_cast<int>(what.size()), what.data(),
               input.size(), static_cast<int>(input.size()), input.data());
  std::abort();
}

void Check(bool holds, std::string_view what, std::string_view input) {
  if (!holds) Complain(what, input);
}

bool IsUtf8(std::string_view text) {
  TextValidator validator;
  return !validator.Check(text) && !validator.Finish();
}

void CheckLine(std::string_view line) {
  if (!IsUtf8(line)) return;                     // the caller's part
  if (line.starts_with("\xEF\xBB\xBF")) return;  // a byte order mark, which the tree passes over
  JsonField value;
  const auto problem = ReadJsonField(line, "text", &value);
  const Result<Json> tree = ParseJson(line);
  if (problem) {
    Check(problem->offset >= 0 && problem->offset <= std::ssize(line), "a problem outside the line", line);
    Check(!tree.ok() || !tree->is_object() || !tree->contains("text") || !(*tree)["text"].is_string(),
          "refused, and is a good line", line);
    return;
  }
  if (tree.ok()) {
    Check(GetString(*tree, "text").ok() && *GetString(*tree, "text") == value.text, "another text", line);
    return;
  }
  // What the tree refuses and a line may hold: keys that stand twice elsewhere, numbers too large for it.
  const std::string& reason = tree.status().message();
  Check(reason.find("twice") != std::string::npos || reason.find("number overflow") != std::string::npos,
        "taken, and is no JSON", line);
}

struct Documents {
  std::vector<std::string> texts;
  Status status;
};

Documents ReadJsonl(std::string_view bytes, size_t piece) {
  const SourceFile source{"/d.jsonl", {}};
  const std::string field = "text";
  Documents read;
  JsonlReader reader(source, field, true, [&](const JsonlReader::Document& document) {
    read.texts.emplace_back(document.text);
    return Ok();
  });
  for (size_t i = 0; i < bytes.size() && read.status.ok(); i += piece) {
    read.status = reader.Append(bytes.substr(i, piece));
  }
  if (read.status.ok()) read.status = reader.Finish();
  return read;
}

SourceFile Put(Io& io, const std::string& path, const std::string& content) {
  auto file = io.Create(path);
  Check(file.ok() && (*file)->Append(std::as_bytes(std::span(content))).ok() && (*file)->Close().ok(),
        "no file could be made", path);
  return {path, *io.Stat(path)};
}

bool IsDataError(const Status& status) {
  return status.info().error_class == "DATA";
}

// All tokens are read, or one is said to be out of range.
void CheckTokens(Io& io, const SourceFile& source, const RawTokens& tokens, std::string_view input) {
  int64_t count = 0;
  const Status read = ReadRawTokens(
      io, source, tokens, kVocabSize, [](std::string_view) { return Ok(); },
      [&](std::span<const TokenId> ids) {
        for (const TokenId id : ids) Check(id >= 0 && id < kVocabSize, "a token out of range", input);
        count += std::ssize(ids);
        return Ok();
      });
  if (read.code() == ErrorCode::TOKEN_OUT_OF_RANGE) return;
  Check(read.ok(), read.ToString(), input);
  Check(count * BytesOf(tokens.type) == source.info.bytes - tokens.begin, "tokens are missing", input);
}

}  // namespace

void CheckJsonl(std::string_view bytes, size_t piece) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    CheckLine(line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  const Documents whole = ReadJsonl(bytes, bytes.size() + 1);
  const Documents pieces = ReadJsonl(bytes, piece);
  Check(whole.texts == pieces.texts && whole.status.ToString() == pieces.status.ToString(),
        "pieces are read otherwise than the whole", bytes);
  Check(whole.status.ok() || IsDataError(whole.status), whole.status.ToString(), bytes);
}

void CheckMegatron(const std::string& index, const std::string& tokens) {
  testing::CrashIo io;
  const SourceFile index_file = Put(io, "/d.idx", index);
  const SourceFile tokens_file = Put(io, "/d.bin", tokens);
  const auto opened = OpenMegatron(io, index_file, tokens_file, [] { return Ok(); });
  if (!opened.ok()) return Check(IsDataError(opened.status()), opened.status().ToString(), index);
  Check(opened->documents >= 0, "fewer documents than none", index);
  CheckTokens(io, tokens_file, opened->tokens, index);
}

void CheckLlmc(const std::string& shard) {
  testing::CrashIo io;
  const SourceFile file = Put(io, "/d.bin", shard);
  const auto opened = OpenLlmc(io, file);
  if (!opened.ok()) return Check(IsDataError(opened.status()), opened.status().ToString(), shard);
  CheckTokens(io, file, *opened, shard);
}

}  // namespace traind::fuzzing
