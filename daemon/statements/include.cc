// INCLUDE: a file's script, parsed whole, for the client to run.
#include <fmt/format.h>

#include "daemon/bind/values.h"
#include "daemon/statements/statements.h"
#include "engine/base/limits.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

// The first error with the file's name and place in its message; all of them in the detail.
Status SyntaxIn(const std::string& path, const std::vector<Status>& errors) {
  const Status& first = errors.front();
  Json all = Json::array();
  for (const Status& error : errors) all.push_back(StatusToJson(error));
  const std::string more =
      errors.size() > 1 ? fmt::format(" (and {} more)", errors.size() - 1) : std::string();
  return Status(first.code(),
                fmt::format("{}:{}:{}: {}{}", path, first.position().line, first.position().column,
                            first.message(), more),
                first.hint())
      .Expecting(first.expected())
      .With(DumpJson(Json{{"file", path}, {"errors", std::move(all)}}));
}

}  // namespace

Result<Outcome> Run(const grammar::Include& statement, const Context& context) {
  TRAIND_ASSIGN(const std::string file, BindText(statement.file, "INCLUDE"));
  const std::string path = AbsolutePath(context.session.directory, file);
  if (file.empty() || file.find('\0') != std::string::npos ||
      static_cast<int64_t>(path.size()) > kMaxPathBytes) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("INCLUDE needs a path of 1 to {} bytes", kMaxPathBytes))
        .At(statement.file.position);
  }
  auto script = ReadWholeFile(*context.daemon.io, path, kMaxScriptBytes);
  if (!script.ok()) return script.status().At(statement.file.position);
  const grammar::ParsedScript parsed = grammar::Parse(*script);
  if (!parsed.errors.empty()) return SyntaxIn(path, parsed.errors).At(statement.file.position);
  Reply reply;
  reply.columns = {{"file", "text"}, {"script", "text"}};
  reply.rows = {{path, *std::move(script)}};
  return Done(std::move(reply));
}

}  // namespace traind::daemon
