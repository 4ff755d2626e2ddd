// RESUME FROM: which checkpoint a new job starts from.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/catalog/models.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct ResumePoint {
  std::string checkpoint;  // its directory
  int64_t step = 0;
  int64_t from_version = 0;  // of the job that wrote it
};

// LATEST: the newest complete checkpoint of the newest job that made `target`. CHECKPOINT 'c': the path that
// sys_checkpoints shows, or a checkpoint's name (step-00001000) among that job's. NO_SUCH_CHECKPOINT;
// SPEC_DIFFERS if its job had another model specification.
Result<ResumePoint> BindResume(const grammar::ResumeClause& clause, const ModelRecord& model,
                               const ModelRecord& target, const Context& context);

}  // namespace traind::daemon
