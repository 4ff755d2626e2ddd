// LET: a variable of the session.
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::Let& statement, const Context& context) {
  Reply reply;
  reply.session = context.session;
  grammar::Value value = statement.value;
  value.parameter = {};  // wherever it came from, it is a value now
  reply.session->variables[statement.name.name] = std::move(value);
  return Done(std::move(reply));
}

}  // namespace traind::daemon
