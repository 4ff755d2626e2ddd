// Jobs of statements, by number or name.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// Stands for a job that a script which is only checked would have made: it has no number, row or directory.
inline constexpr int64_t kCheckedJob = 0;

// A number, or a name, which means its newest job; a string of digits that is no job's name is a number too.
// NO_SUCH_JOB at the reference, with the nearest name.
Result<int64_t> FindJob(const grammar::JobRef& job, const Context& context);
// Several, each once, in the order given.
struct FoundJob {
  int64_t id = 0;
  SourcePosition position;
};
Result<std::vector<FoundJob>> FindJobs(const std::vector<grammar::JobRef>& jobs, const Context& context);

std::vector<int64_t> IdsOf(const std::vector<FoundJob>& jobs);

}  // namespace traind::daemon
