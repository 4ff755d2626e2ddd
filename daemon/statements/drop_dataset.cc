// DROP DATASET: forgets a name; the files stay.
#include <fmt/format.h>

#include "daemon/bind/data.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::DropDataset& statement, const Context& context) {
  TRAIND_ASSIGN(const auto dataset, FindDatasetIfAny(statement.name.text, context));
  if (!dataset && statement.if_exists) {
    return Done(NoticeReply(fmt::format("there is no data set {}", statement.name.text)));
  }
  if (!dataset) return FindDataset(statement.name, context).status();
  Reply reply;
  if (context.check) {
    reply.session = context.session;
    reply.session->checked_datasets[statement.name.text] = std::nullopt;
    return Done(std::move(reply));
  }
  TRAIND_TRY(context.daemon.catalog->Write(
      [&](Transaction& transaction) { return DeleteDataset(transaction, statement.name.text); }));
  return Done(std::move(reply));
}

}  // namespace traind::daemon
