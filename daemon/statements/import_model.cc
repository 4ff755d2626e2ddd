// IMPORT MODEL: a Hugging Face directory becomes a model with version 1.
//
// A worker reads the directory and fills a temporary one beside the models' own, and another with the
// tokenizer that it holds; then one transaction inserts model, version and tokenizer, and renames the
// directories to their names in it. What a crash leaves is a temporary directory, which the daemon removes
// when it starts, or a version's directory without a row, which the next model of that id replaces.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "daemon/bind/model.h"
#include "daemon/bind/path.h"
#include "daemon/catalog/tokenizers.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"
#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/base/rooted_path.h"
#include "engine/spec/task.h"

namespace traind::daemon {
namespace {

constexpr size_t kLongestStem = 56;  // of a name, with room for a number

// Different for each import of all processes alive.
std::string UniqueName() {
  static std::atomic<int64_t> counter = 0;
  return fmt::format("import-{}-{}", getpid(), ++counter);
}

struct Import {
  std::string name;
  SourcePosition position;
  const DaemonState& daemon;
  std::string temporary;
  std::string temporary_tokenizer;

  void Undo() const {
    for (const std::string& directory : {temporary, temporary_tokenizer}) {
      const Status removed = daemon.io->RemoveTree(directory);
      if (!removed.ok()) Log(LogLevel::kWarning, "{}", removed.ToString());
    }
  }

  // The tokenizer bears the model's name, or that with a number where there is one.
  Status KeepTokenizer(Transaction& transaction, const TokenizerFacts& facts, ModelSpec* spec) const {
    TokenizerRecord tokenizer;
    tokenizer.facts = facts;
    for (int64_t number = 1;; ++number) {
      tokenizer.name = number == 1 ? name : fmt::format("{}-{}", name.substr(0, kLongestStem), number);
      TRAIND_ASSIGN(const auto existing, LookUpTokenizer(transaction, tokenizer.name));
      if (!existing && tokenizer.name != kBytes) break;
    }
    TRAIND_ASSIGN(const int64_t id, InsertTokenizer(transaction, tokenizer, daemon.clock->WallSeconds()));
    const std::string directory = TokenizerDirectory(daemon.state_directory, id);
    TRAIND_TRY(daemon.io->RemoveTree(directory));
    TRAIND_TRY(daemon.io->Rename(temporary_tokenizer, directory));
    TRAIND_TRY(daemon.io->SyncDirectory(directory.substr(0, directory.rfind('/'))));
    spec->tokenizer = tokenizer.name;
    spec->tokenizer_id = id;
    spec->end_of_text = facts.end_of_text_id;
    return ValidateModel(*spec);
  }

  // All of it, inside the transaction.
  Status Store(Transaction& transaction, const std::optional<TokenizerFacts>& facts, ModelSpec* spec) const {
    if (facts) TRAIND_TRY(KeepTokenizer(transaction, *facts, spec));
    return InsertImportedModel(transaction, name, *spec, daemon.clock->WallSeconds(),
                               [this](int64_t model_id) { return Publish(model_id); })
        .status();
  }

  // Puts the filled directory in its place; inside the transaction.
  Result<std::string> Publish(int64_t model_id) const {
    TRAIND_ASSIGN(const std::string parent,
                  RootedPath(daemon.state_directory, {"models", std::to_string(model_id)}));
    const std::string path = parent + "/1";
    TRAIND_TRY(daemon.io->MakeDirectories(parent));
    TRAIND_TRY(daemon.io->RemoveTree(path));
    TRAIND_TRY(PublishDirectory(*daemon.io, temporary, path));
    return path;
  }

  Result<Reply> Keep(const Json& result) const {
    TRAIND_ASSIGN(ModelSpec spec, ModelFromJson(result.contains("model") ? result["model"] : Json()));
    TRAIND_ASSIGN(const int64_t bytes, GetInt(result, "bytes"));
    std::optional<TokenizerFacts> facts;
    if (const auto part = result.find("tokenizer"); part != result.end() && !part->is_null()) {
      TRAIND_ASSIGN(facts, TokenizerFactsFromJson(*part));
    }
    TRAIND_TRY(ValidateModel(spec));
    Status stored =
        daemon.catalog->Write([&](Transaction& transaction) { return Store(transaction, facts, &spec); });
    if (!stored.ok()) {
      Undo();
      return std::move(stored).At(position);
    }
    Reply reply;
    if (const auto notices = result.find("notices"); notices != result.end()) {
      for (const Json& notice : *notices) {
        if (notice.is_string()) reply.notices.push_back(notice.get<std::string>());
      }
    }
    reply.columns = {{"name", "text"},          {"version", "integer"}, {"architecture", "text"},
                     {"parameters", "integer"}, {"bytes", "bytes"},     {"tokenizer", "text"}};
    reply.rows = {{name, int64_t{1}, std::string(ArchitectureName(spec.architecture)), ParameterCount(spec),
                   bytes, spec.tokenizer}};
    return reply;
  }
};

}  // namespace

Result<Outcome> Run(const grammar::ImportModel& statement, const Context& context) {
  const std::string& name = statement.name.text;
  TRAIND_ASSIGN(const auto existing, FindModelIfAny(name, context));
  if (existing) {
    return Status(ErrorCode::MODEL_EXISTS, fmt::format("a model {} exists", name),
                  fmt::format("choose another name, or DROP MODEL {} first", name))
        .At(statement.name.position);
  }
  ImportTask task;
  TRAIND_ASSIGN(task.source, BindPath(statement.directory, "FROM", context));
  const auto info = context.daemon.io->Stat(task.source);
  if (!info.ok()) return info.status().At(statement.directory.position);
  if (info->kind != FileKind::kDirectory) {
    return Status(ErrorCode::FILE_NOT_FOUND, fmt::format("there is no directory {}", task.source),
                  "IMPORT MODEL reads a directory with config.json and model.safetensors")
        .At(statement.directory.position);
  }
  const std::string unique = UniqueName();
  task.target = TemporaryName(context.daemon.state_directory + "/models/new", unique);
  task.tokenizer = NewTokenizerDirectory(context.daemon.state_directory, unique);
  task.check = context.check;
  const Import import{name, statement.name.position, context.daemon, task.target, task.tokenizer};
  WorkerOutcome outcome{ImportTaskToJson(task)};
  if (context.check) {
    outcome.conclude = [name, session = context.session](const Json& result) -> Result<Reply> {
      Reply reply;
      reply.session = session;
      reply.session->checked_versions[name] = 1;
      TRAIND_ASSIGN(reply.session->checked_models[name],
                    ModelFromJson(result.contains("model") ? result["model"] : Json()));
      return reply;
    };
    return Done(std::move(outcome));
  }
  outcome.conclude = [import](const Json& result) { return import.Keep(result); };
  outcome.undo = [import] { import.Undo(); };
  return Done(std::move(outcome));
}

}  // namespace traind::daemon
