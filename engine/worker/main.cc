// traind-worker: one process per device and task, started by the daemon with the control socket as
// descriptor 3.
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"
#include "engine/spec/task.h"
#include "engine/worker/control.h"
#include "engine/worker/exit_codes.h"
#include "engine/worker/heartbeat.h"
#include "engine/worker/probe.h"
#include "engine/worker/tasks.h"

namespace traind::worker {
namespace {

constexpr double kTaskTimeoutSeconds = 60;
constexpr double kFlushSeconds = 30;

constexpr std::string_view kUsage =
    "usage: traind-worker            a task from the daemon, on descriptor 3\n"
    "       traind-worker --probe    what this machine has, as JSON\n"
    "       traind-worker --version\n";

// OpenMP reads its settings before main: threads that spin on busy processors are slower than one thread
// alone, and a number of threads that changes would change bits. So the program starts itself once more.
void EnsureOpenMpSettings(char** arguments) {
  if (getenv("OMP_WAIT_POLICY") != nullptr && getenv("OMP_DYNAMIC") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
  setenv("OMP_DYNAMIC", "false", 0);
  // By its real path, which names the process. Where this fails the work is slower, not wrong.
  std::array<char, PATH_MAX> path{};
  if (readlink("/proc/self/exe", path.data(), path.size() - 1) > 0) execv(path.data(), arguments);
}

bool IsSocket(int descriptor) {
  struct stat info {};
  return fstat(descriptor, &info) == 0 && S_ISSOCK(info.st_mode);
}

void HandleSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { Control::RequestShutdown(); };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
}

// Libraries' exceptions end here.
Result<Json> CarryOutGuarded(const Json& message, Control* control, Heartbeat* heartbeat) {
  try {
    return CarryOut(message, control, heartbeat);
  } catch (const std::bad_alloc&) {
    return Status(ErrorCode::OUT_OF_MEMORY, "an allocation failed");
  } catch (const std::exception& error) {
    return Status(ErrorCode::INTERNAL, fmt::format("an exception: {}", error.what()));
  }
}

// The message that ends the task, within what one message may hold.
Json EndMessage(const Result<Json>& result) {
  Status failure = result.status();
  if (result.ok() && std::ssize(DumpJson(*result)) > kMaxFrameBytes) {
    failure =
        Status(ErrorCode::FRAME_TOO_LARGE, fmt::format("the result is larger than {} bytes", kMaxFrameBytes),
               "ask for less, for example a smaller max_tokens");
  }
  if (failure.ok()) return *result;
  Log(LogLevel::kError, "{}", failure.ToString());
  return {{"type", "failed"}, {"error", StatusToJson(failure)}};
}

int Work() {
  if (!IsSocket(kControlDescriptor)) {
    std::fputs("traind-worker is started by traind; descriptor 3 is no socket\n", stderr);
    std::fwrite(kUsage.data(), 1, kUsage.size(), stderr);
    return kExitUsage;
  }
  HandleSignals();
  Control control(kControlDescriptor);
  control.Send({{"type", "hello"}, {"pid", getpid()}, {"version", TRAIND_VERSION}});
  Heartbeat heartbeat(&control);
  const std::optional<Json> task = control.WaitForTask(kTaskTimeoutSeconds);
  if (!task) return kExitDone;  // the daemon went away, or changed its mind
  const Json end = EndMessage(CarryOutGuarded(*task, &control, &heartbeat));
  control.Send(end);
  if (!control.Flush(kFlushSeconds)) return control.requests().listener_gone ? kExitDone : kExitUnheard;
  return end["type"] == "failed" ? kExitFailed : kExitDone;
}

int Main(int count, char** arguments) {
  const std::string_view argument = count > 1 ? arguments[1] : "";
  if (count > 2) return std::fwrite(kUsage.data(), 1, kUsage.size(), stderr), kExitUsage;
  if (argument == "--version") return std::printf("traind-worker %s\n", TRAIND_VERSION), kExitDone;
  if (!argument.empty() && argument != "--probe") {
    std::fwrite(kUsage.data(), 1, kUsage.size(), stderr);
    return kExitUsage;
  }
  EnsureOpenMpSettings(arguments);
  return argument == "--probe" ? PrintProbe() : Work();
}

}  // namespace
}  // namespace traind::worker

int main(int count, char** arguments) {
  return traind::worker::Main(count, arguments);
}
