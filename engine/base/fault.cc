// The fault table: which point is armed, and what happens there.
#include "engine/base/fault.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace traind {
namespace {

constexpr FaultInfo kFaults[] = {
#define F(name, text) {FaultPoint::name, #name, text},
#include "engine/base/fault.def"
#undef F
};

enum class Action { kKill, kError, kStop };

constexpr struct {
  std::string_view name;
  Action action;
} kActions[] = {{"kill", Action::kKill}, {"error", Action::kError}, {"stop", Action::kStop}};

enum State : int { kUnread, kUnarmed, kArmed };

// Written only while the environment is read or a test arms a point; `passes_left` by every pass.
std::atomic<int> state{kUnread};
FaultPoint armed_point{};
Action armed_action = Action::kKill;
std::atomic<int64_t> passes_left{0};

// True if this process is the first to take the file that TRAIND_FAULT_ONCE names, or if it names none.
bool MayFire() {
  const char* path = std::getenv("TRAIND_FAULT_ONCE");
  if (path == nullptr || *path == '\0') return true;
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  close(descriptor);
  return true;
}

void ReadEnvironment() {
  const char* text = std::getenv("TRAIND_FAULT");
  const Status status = ArmFaultPoint(text == nullptr ? "" : text);
  if (status.ok()) return;
  // A fault test that silently tests nothing is worse than one that does not start.
  std::fprintf(stderr, "TRAIND_FAULT: %s\n", status.message().c_str());
  _exit(2);
}

Status Fire() {
  const std::string_view name = kFaults[static_cast<size_t>(armed_point)].name;
  switch (armed_action) {
    case Action::kKill:
      kill(getpid(), SIGKILL);
      for (;;) pause();
    case Action::kStop:
      kill(getpid(), SIGSTOP);
      return Ok();
    case Action::kError:
      break;
  }
  return Status(ErrorCode::IO, "the fault point " + std::string(name) + " is armed to fail");
}

}  // namespace

std::span<const FaultInfo> AllFaultPoints() {
  return kFaults;
}

Status ArmFaultPoint(std::string_view text) {
  if (text.empty()) {
    state.store(kUnarmed);
    return Ok();
  }
  const auto refuse = [&](std::string_view reason) {
    return Status(ErrorCode::INVALID_OPTION, "'" + std::string(text) + "': " + std::string(reason),
                  "The form is name[:n][=kill|error|stop]; fault.def lists the names.");
  };
  std::string_view name = text;
  Action action = Action::kKill;
  if (const size_t equals = name.find('='); equals != std::string_view::npos) {
    const std::string_view word = name.substr(equals + 1);
    const auto* row = std::ranges::find_if(kActions, [&](const auto& a) { return a.name == word; });
    if (row == std::end(kActions)) return refuse("the action must be kill, error or stop");
    action = row->action;
    name = name.substr(0, equals);
  }
  int64_t pass = 1;
  if (const size_t colon = name.find(':'); colon != std::string_view::npos) {
    const std::string_view number = name.substr(colon + 1);
    const auto end = std::from_chars(number.data(), number.data() + number.size(), pass);
    if (end.ec != std::errc() || end.ptr != number.data() + number.size() || pass < 1) {
      return refuse("the pass must be a number from 1");
    }
    name = name.substr(0, colon);
  }
  const auto* point = std::ranges::find(kFaults, name, &FaultInfo::name);
  if (point == std::end(kFaults)) return refuse("no fault point has this name");
  armed_point = point->point;
  armed_action = action;
  passes_left.store(pass);
  state.store(kArmed);
  return Ok();
}

Status PassFaultPoint(FaultPoint point) {
  if (state.load(std::memory_order_relaxed) == kUnarmed) return Ok();
  if (state.load() == kUnread) {
    static const bool read = (ReadEnvironment(), true);
    (void)read;
  }
  if (state.load() != kArmed || point != armed_point) return Ok();
  if (passes_left.fetch_sub(1) != 1 || !MayFire()) return Ok();
  return Fire();
}

}  // namespace traind
