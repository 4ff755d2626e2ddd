// WAIT FOR JOB: hands the waiting to the loop.
#include "daemon/bind/job.h"
#include "daemon/bind/values.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::WaitForJob& statement, const Context& context) {
  WaitOutcome wait;
  if (statement.timeout) {
    TRAIND_ASSIGN(wait.timeout_seconds, BindSeconds(*statement.timeout, "TIMEOUT"));
  }
  TRAIND_ASSIGN(const std::vector<FoundJob> jobs, FindJobs(statement.jobs, context));
  wait.jobs = IdsOf(jobs);
  if (context.check) return Done(Reply{});
  return Done(std::move(wait));
}

}  // namespace traind::daemon
