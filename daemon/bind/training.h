// How to learn: TRAIN's clauses as a TrainingSpec, every setting with its source.
//
// In two parts, so that what is wrong with the text itself is found before anything is looked up: the draft
// from the statement and the session alone, then the whole with the model's sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bind/options.h"
#include "daemon/jobs/jobs.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/spec/budget.h"
#include "engine/spec/device.h"
#include "engine/spec/model.h"
#include "engine/spec/training.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct TrainingDraft {
  BoundOptions given;    // USING
  BoundOptions session;  // SET
  TrainingSpec spec;     // target, until, validation and checkpoint intervals; the rest comes with the model
  std::vector<JobSetting> clauses;  // checkpoint_every, keep_checkpoints, retries, …
  Budget budget;
  int64_t retries = 3;
  std::string labels;  // JSON object
  std::optional<double> wait_timeout;
};

// Every check that needs neither catalog nor inventory.
Result<TrainingDraft> DraftTraining(const grammar::Train& statement, const SessionState& session);

struct BoundTraining {
  TrainingSpec spec;
  std::vector<JobSetting> settings;  // every one, in the tables' order
};
Result<BoundTraining> BindTraining(const TrainingDraft& draft, const ModelSpec& model,
                                   const grammar::Train& statement);

// Once the devices are known: where nobody has said, bf16 if all of them compute in it natively, else fp32.
// UNKNOWN_PRECISION at `position` for bf16 where none does.
Status SettlePrecision(const std::vector<DeviceSpec>& devices, SourcePosition position,
                       BoundTraining* training);

// The settings of `session` that are options of TRAIN, or of the sessions' own table.
Result<BoundOptions> SessionOptions(const SessionState& session);
// One setting of the session, or its default; never nullptr's row for a known name.
Result<BoundOption> SessionSetting(const SessionState& session, std::string_view name);

}  // namespace traind::daemon
