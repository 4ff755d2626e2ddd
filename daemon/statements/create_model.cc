// CREATE MODEL: keeps a specification under a name.
#include <fmt/format.h>

#include "daemon/bind/model.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

enum class Action { kNothing, kInsert, kReplace };

// What is to be done, given what exists under the name.
Result<Action> Decide(const grammar::CreateModel& statement, const ModelSpec& spec,
                      const std::optional<ModelRecord>& existing) {
  if (!existing) return Action::kInsert;
  const std::string& name = statement.name.text;
  if (statement.if_not_exists) {
    const std::string difference = ModelDifference(existing->spec, spec);
    if (difference.empty()) return Action::kNothing;
    return Status(ErrorCode::SPEC_DIFFERS,
                  fmt::format("{} exists with another specification: {}", name, difference),
                  "OR REPLACE puts this one in its place");
  }
  if (!statement.or_replace) {
    return Status(ErrorCode::MODEL_EXISTS, fmt::format("a model {} exists", name),
                  "IF NOT EXISTS leaves it, OR REPLACE replaces it");
  }
  if (existing->versions > 0 && !statement.with_versions) {
    return Status(ErrorCode::HAS_VERSIONS,
                  fmt::format("{} has {} trained version{}", name, existing->versions,
                              existing->versions == 1 ? "" : "s"),
                  "OR REPLACE … WITH VERSIONS drops them too");
  }
  return Action::kReplace;
}

struct Stored {
  Action action = Action::kNothing;
  int64_t replaced_id = 0;
};

Status Store(Transaction& transaction, const grammar::CreateModel& statement, const ModelSpec& spec,
             double now, Stored* done) {
  TRAIND_ASSIGN(const auto existing, LookUpModel(transaction, statement.name.text));
  TRAIND_ASSIGN(done->action, Decide(statement, spec, existing));
  if (done->action == Action::kNothing) return {};
  if (done->action == Action::kReplace) {
    TRAIND_TRY(CheckNotBusy(transaction, existing->id, existing->name, true));
    TRAIND_TRY(DeleteModel(transaction, existing->id));
    done->replaced_id = existing->id;
  }
  return InsertModel(transaction, statement.name.text, spec, now).status();
}

Reply ReplyOf(const grammar::CreateModel& statement, const ModelSpec& spec) {
  Reply reply;
  reply.columns = {{"name", "text"}, {"architecture", "text"}, {"parameters", "integer"}};
  reply.rows = {
      {statement.name.text, std::string(ArchitectureName(spec.architecture)), ParameterCount(spec)}};
  return reply;
}

Result<Outcome> CheckOnly(const grammar::CreateModel& statement, const ModelSpec& spec,
                          const Context& context) {
  TRAIND_ASSIGN(const auto existing, FindModelIfAny(statement.name.text, context));
  const auto action = Decide(statement, spec, existing);
  if (!action.ok()) return action.status().At(statement.name.position);
  Reply reply;
  reply.session = context.session;
  if (*action == Action::kNothing) return Done(std::move(reply));
  reply.session->checked_models[statement.name.text] = spec;
  reply.session->checked_versions.erase(statement.name.text);
  return Done(std::move(reply));
}

}  // namespace

Result<Outcome> Run(const grammar::CreateModel& statement, const Context& context) {
  TRAIND_ASSIGN(const ModelSpec spec, BindModelSpec(statement, context));
  if (context.check) return CheckOnly(statement, spec, context);
  Stored done;
  Status stored = context.daemon.catalog->Write(
      [&](Transaction& transaction) { return Store(transaction, statement, spec, Now(context), &done); });
  if (!stored.ok()) return std::move(stored).At(statement.name.position);
  Reply reply = ReplyOf(statement, spec);
  if (done.action == Action::kNothing) {
    reply.notices.push_back(fmt::format("{} exists with this specification", statement.name.text));
  }
  if (done.replaced_id != 0) RemoveModelFiles(context, done.replaced_id, &reply.notices);
  return Done(std::move(reply));
}

}  // namespace traind::daemon
