// SELECT: a read-only query over the views.
#include "daemon/bind/sql.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::Select& statement, const Context& context) {
  UserSql sql(statement.position);
  sql.Add(statement.query);
  TRAIND_ASSIGN(Reply reply, RunForReply(sql, context));
  return Done(std::move(reply));
}

}  // namespace traind::daemon
