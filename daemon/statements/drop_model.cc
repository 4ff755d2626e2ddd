// DROP MODEL: removes a model and, if told so, its versions.
#include <fmt/format.h>

#include "daemon/bind/model.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

Status CheckVersions(const grammar::DropModel& statement, const ModelRecord& model) {
  if (model.versions == 0 || statement.with_versions) return {};
  return {
      ErrorCode::HAS_VERSIONS,
      fmt::format("{} has {} trained version{}", model.name, model.versions, model.versions == 1 ? "" : "s"),
      fmt::format("DROP MODEL {} WITH VERSIONS removes them too", model.name)};
}

Status Remove(Transaction& transaction, const grammar::DropModel& statement, int64_t* dropped_id) {
  TRAIND_ASSIGN(const auto model, LookUpModel(transaction, statement.name.text));
  if (!model) return {};  // dropped by another client a moment ago
  TRAIND_TRY(CheckNotBusy(transaction, model->id, model->name, true));
  TRAIND_TRY(CheckVersions(statement, *model));
  *dropped_id = model->id;
  return DeleteModel(transaction, model->id);
}

}  // namespace

Result<Outcome> Run(const grammar::DropModel& statement, const Context& context) {
  TRAIND_ASSIGN(const auto model, FindModelIfAny(statement.name.text, context));
  if (!model && statement.if_exists) {
    return Done(NoticeReply(fmt::format("there is no model {}", statement.name.text)));
  }
  if (!model) return FindModel(statement.name, context).status();
  Reply reply;
  if (context.check) {
    Status versions = CheckVersions(statement, *model);
    if (!versions.ok()) return std::move(versions).At(statement.name.position);
    reply.session = context.session;
    reply.session->checked_models[statement.name.text] = std::nullopt;
    reply.session->checked_versions.erase(statement.name.text);
    return Done(std::move(reply));
  }
  int64_t dropped_id = 0;
  Status removed = context.daemon.catalog->Write(
      [&](Transaction& transaction) { return Remove(transaction, statement, &dropped_id); });
  if (!removed.ok()) return std::move(removed).At(statement.name.position);
  if (dropped_id != 0) RemoveModelFiles(context, dropped_id, &reply.notices);
  return Done(std::move(reply));
}

}  // namespace traind::daemon
