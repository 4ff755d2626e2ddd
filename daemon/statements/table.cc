// From a parsed statement to its handler.
#include <utility>
#include <variant>

#include "daemon/bind/parameters.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

// GCC 12 takes the destruction of a moved variant for uses of members that were never set.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
Result<Outcome> Done(Reply reply) {
  return Outcome(std::move(reply));
}
Result<Outcome> Done(WaitOutcome wait) {
  return Outcome(std::move(wait));
}
Result<Outcome> Done(FollowOutcome follow) {
  return Outcome(std::move(follow));
}
Result<Outcome> Done(WorkerOutcome worker) {
  return Outcome(std::move(worker));
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

Result<Outcome> Execute(const grammar::Statement& statement, const Context& context) {
  TRAIND_ASSIGN(const grammar::Statement bound, ReplaceParameters(statement, context));
  return std::visit([&context](const auto& each) { return Run(each, context); }, bound);
}

}  // namespace traind::daemon
