// RESET: a setting of the session, or all, back to its default.
#include "daemon/statements/set.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::Reset& statement, const Context& context) {
  Reply reply;
  reply.session = context.session;
  if (statement.name) {
    TRAIND_ASSIGN(const OptionInfo* info, FindSettingNamed(*statement.name));
    reply.session->settings.erase(std::string(info->name));
  } else {
    reply.session->settings.clear();
  }
  return Done(std::move(reply));
}

}  // namespace traind::daemon
