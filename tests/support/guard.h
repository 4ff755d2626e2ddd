// No process outlives the test that started it, however the test ends.
//
// Every test program links this. Before its main runs, the program marks its environment, which all processes
// that it starts inherit, and leaves a guardian beside it. When the program has ended, killed too, the
// guardian kills whatever still carries the mark: daemons in sessions of their own, workers, stopped ones as
// well.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace traind::testing {

// The variable that marks a run; its value is the run's own.
inline constexpr const char* kRunVariable = "TRAIND_TEST_RUN";

// The processes that carry the mark in the environment they were started with.
std::vector<pid_t> ProcessesOfRun(const std::string& mark);

}  // namespace traind::testing
