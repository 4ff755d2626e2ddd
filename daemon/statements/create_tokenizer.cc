// CREATE TOKENIZER: keeps a copy of a tokenizer that was made elsewhere.
#include "daemon/bind/options.h"
#include "daemon/bind/path.h"
#include "daemon/statements/make_tokenizer.h"
#include "daemon/statements/statements.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

// A file or directory that is there; the worker opens it.
Result<std::string> BindFile(const grammar::Value& value, const Context& context) {
  TRAIND_ASSIGN(std::string path, BindPath(value, "FROM", context));
  const auto info = context.daemon.io->Stat(path);
  if (!info.ok()) return info.status().At(value.position);
  if (info->kind == FileKind::kMissing) {
    return Status(ErrorCode::FILE_NOT_FOUND, path + " is not there",
                  "FROM takes a tokenizer.json, a tokenizer.model, or a directory with one of them")
        .At(value.position);
  }
  if (info->kind == FileKind::kOther) {
    return Status(ErrorCode::NOT_A_REGULAR_FILE, path + " is neither a file nor a directory")
        .At(value.position);
  }
  return path;
}

std::string Canonical(const grammar::CreateTokenizer& statement, const std::string& path) {
  grammar::CreateTokenizer canonical = statement;
  canonical.or_replace = false;
  canonical.if_not_exists = false;
  canonical.file.text = path;
  canonical.file.kind = grammar::Value::Kind::kString;
  return grammar::Print(canonical);
}

}  // namespace

Result<Outcome> Run(const grammar::CreateTokenizer& statement, const Context& context) {
  TRAIND_ASSIGN(const BoundOptions options, BindOptions(OptionList::kCreateTokenizer, statement.options));
  WantedTokenizer wanted;
  wanted.name = statement.name;
  wanted.or_replace = statement.or_replace;
  wanted.if_not_exists = statement.if_not_exists;
  TRAIND_ASSIGN(wanted.task.file, BindFile(statement.file, context));
  if (const BoundOption* end = options.Find("end_of_text")) wanted.task.end_of_text = end->text;
  wanted.statement = Canonical(statement, wanted.task.file);
  return MakeTokenizer(std::move(wanted), context);
}

}  // namespace traind::daemon
