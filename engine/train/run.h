// A training run: from a task to its end, on one device.
#pragma once

#include <cstdint>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/device/device.h"
#include "engine/plan/strategy.h"
#include "engine/spec/task.h"
#include "engine/train/pace.h"
#include "engine/train/session.h"

namespace traind::train {

// What the run needs of its plan.
struct RunPlan {
  plan::Strategy strategy;
  std::string hash;
  int64_t arena_bytes = 0;                 // what was planned for; the table must need no more
  PaceSeconds predicted;                   // of one step, validation, checkpoint
  double attainable_flops_per_second = 0;  // of the device, for mfu; 0: unknown
};

struct RunEnvironment {
  Io& io;
  const Clock& clock;
  Device& device;
  Session& session;
  std::string unique;  // no other process uses it for temporary names now
};

struct Outcome {
  std::string name;  // target | until | pause | cancel | budget | shutdown
  int64_t step = 0;
  std::string checkpoint;  // the newest one's directory, or empty
};

// Chooses the checkpoint to go on from, prepares the data, allocates, loads, trains to the end or until it is
// told to stop, saves. Errors as data, checkpoints and devices have them; NON_FINITE ends the run before
// anything is published. With the same plan hash a run that was stopped anywhere and goes on from its newest
// checkpoint has the losses and norms of one that was not, bit for bit.
Result<Outcome> RunTraining(const TrainTask& task, const RunPlan& plan, const RunEnvironment& environment);

}  // namespace traind::train
