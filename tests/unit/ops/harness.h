// Runs an operator's test for every instruction set of this processor, on one thread and on two.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/ops/context.h"
#include "engine/tensor/workspace.h"
#include "tests/support/reference_ops.h"
#include "tests/support/test.h"
#include "tests/support/values.h"

namespace traind::testing {

struct OpRun {
  std::unique_ptr<Device> device;
  std::unique_ptr<ops::Context> context;
  std::vector<std::byte> storage;
  Workspace workspace;  // enough for every operator of the tests
};

// With `spread`, even the smallest shapes are divided over the threads.
OpRun OpenOpRun(InstructionSet set, int threads, bool spread);

void ForEachVariant(const std::function<void(OpRun& run)>& test);

}  // namespace traind::testing
