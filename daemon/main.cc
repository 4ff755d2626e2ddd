// traind: the daemon's start, from the command line to the loop, and its end.
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "daemon/catalog/tokenizers.h"
#include "daemon/install.h"
#include "daemon/inventory.h"
#include "daemon/leftovers.h"
#include "daemon/loop.h"
#include "daemon/options.h"
#include "daemon/pool.h"
#include "daemon/process_setup.h"
#include "daemon/reply.h"
#include "daemon/retention.h"
#include "daemon/server.h"
#include "daemon/state_directory.h"
#include "daemon/statements/reboot_notice.h"
#include "daemon/stream/hub.h"
#include "daemon/supervisor/children.h"
#include "daemon/supervisor/spawn.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/supervisor/version.h"
#include "daemon/version.h"
#include "engine/base/frame.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitNoStart = 3;
constexpr int64_t kLogBytes = 16LL << 20;
constexpr int kStatementThreads = 4;
constexpr int kMaxStatementThreads = 64;
constexpr int kSupervisorThreads = 2;
constexpr int64_t kEmbeddedAdmissionMs = 1000;
constexpr int64_t kRetentionEveryMs = 10 * 60 * 1000;

// How the parts tell each other apart from calls: set before the loop runs.
struct Daemon {
  Loop loop;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<Inventory> inventory;
  DaemonState state;
  std::unique_ptr<Pool> statements;
  std::unique_ptr<Pool> background;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<Children> children;
  std::unique_ptr<Supervisor> supervisor;
  std::unique_ptr<Server> server;

  // Who waits for the probe is let go first, else the pools would wait for it too. Sessions go before the
  // pools whose threads work for them, and the pools before what those threads use.
  ~Daemon() {
    if (inventory) inventory->Stop();
    server.reset();
    statements.reset();
    background.reset();
    supervisor.reset();
    hub.reset();
    children.reset();
    inventory.reset();
  }
};

double DeadlineScale() {
  const char* text = getenv("TRAIND_DEADLINE_SCALE");
  const double scale = text == nullptr ? 1 : strtod(text, nullptr);
  return std::isfinite(scale) && scale > 0 ? scale : 1;
}

std::string WorkerProgram() {
  Result<std::string> program = FindWorkerProgram();
  if (program.ok()) return *program;
  Log(LogLevel::kError, "no job can run: {}", program.status().ToString());
  return "traind-worker";
}

Status Assemble(const Options& options, const StateDirectory& directory, Daemon* daemon) {
  TRAIND_ASSIGN(daemon->catalog, Catalog::Open(directory.path()));
  TRAIND_TRY(RemoveTornImports(PosixIo(), directory.path()));
  TRAIND_TRY(RecoverJobs(*daemon->catalog, SystemClock().WallSeconds()));
  Catalog* catalog = daemon->catalog.get();
  Loop* loop = &daemon->loop;

  SweepTokenizers(PosixIo(), directory.path());
  DaemonState& state = daemon->state;
  state.state_directory = directory.path();
  state.catalog = catalog;
  state.io = &PosixIo();
  state.clock = &SystemClock();
  state.devices = [daemon] { return daemon->inventory->Devices(); };
  state.device_busy = [daemon](const std::string& node, int64_t index) {
    return daemon->supervisor->DeviceBusy(node, index);
  };
  state.job_changed = [daemon, loop](int64_t job) {
    loop->Post([daemon, job] {
      daemon->supervisor->JobChanged(job);
      daemon->hub->JobChanged(job);
    });
  };

  // Nothing runs yet: what is found now is nobody's.
  TRAIND_ASSIGN(const std::unique_ptr<Reader> reader, catalog->OpenReader());
  Result<std::vector<std::string>> leftovers = FindLeftovers(*reader, *state.io, directory.path());
  state.reboot_notice = [path = directory.path()] { return TakeRebootNotice(PosixIo(), path); };

  const std::string worker = WorkerProgram();
  TRAIND_ASSIGN(daemon->statements, Pool::Start(loop, catalog, kStatementThreads, kMaxStatementThreads));
  TRAIND_ASSIGN(daemon->background, Pool::Start(loop, catalog, kSupervisorThreads, kSupervisorThreads));
  if (leftovers.ok()) {
    daemon->background->Submit(
        [paths = *std::move(leftovers)](Reader&) { RemoveLeftovers(PosixIo(), paths); }, nullptr);
  }
  daemon->hub = std::make_unique<Hub>(loop, daemon->statements.get());
  daemon->children = std::make_unique<Children>(loop);
  daemon->supervisor = std::make_unique<Supervisor>(loop, daemon->background.get(), daemon->hub.get(),
                                                    daemon->children.get(), &state, worker, DeadlineScale());
  daemon->inventory = std::make_unique<Inventory>(
      catalog, worker, directory.path() + "/worker.log",
      [loop, daemon] { loop->Post([daemon] { daemon->supervisor->JobChanged(0); }); });
  Server::Parts parts;
  parts.loop = loop;
  parts.pool = daemon->statements.get();
  parts.hub = daemon->hub.get();
  parts.supervisor = daemon->supervisor.get();
  parts.daemon = &state;
  parts.idle_exit_seconds = options.idle_exit_seconds;
  parts.stop_listening = [&directory, &options, daemon] {
    NotifyServiceManager("STOPPING=1");
    daemon->inventory->Stop();  // a probe that hangs holds nobody up
    directory.Describe(", which is leaving");
    if (!options.embedded) directory.StopListening();
  };
  daemon->server = std::make_unique<Server>(std::move(parts));
  return Ok();
}

// "process 77 (python3)": the program that a private daemon belongs to.
std::string ProcessAtOtherEnd(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0) return "a process";
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", peer.pid)), name);
  return name.empty() ? fmt::format("process {}", peer.pid) : fmt::format("process {} ({})", peer.pid, name);
}

void LookAtMetrics(Daemon* daemon, int64_t limit_bytes) {
  daemon->background->Submit(
      [daemon, limit_bytes](Reader& reader) {
        const auto thinned = KeepMetricsWithin(limit_bytes, daemon->catalog.get(), reader);
        if (!thinned.ok()) Log(LogLevel::kWarning, "metrics.db: {}", thinned.status().ToString());
      },
      [] {});
}

// The first signal stops with checkpoints, the second at once.
void TakeSignal(Server* server, int number) {
  Log(LogLevel::kInfo, "signal {} ({})", number, strsignal(number));
  if (server->leaving()) {
    server->ShutDownAtOnce();
  } else {
    server->ShutDown();
  }
}

Status Serve(const Options& options, const StateDirectory& directory) {
  Log(LogLevel::kInfo, "traind {} starts on {}", kVersion, directory.path());
  if (getenv("CUDA_VISIBLE_DEVICES") != nullptr) {
    Log(LogLevel::kInfo, "CUDA_VISIBLE_DEVICES is ignored: jobs get devices of the inventory");
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
  Daemon daemon;
  TRAIND_TRY(Assemble(options, directory, &daemon));
  Server* server = daemon.server.get();
  std::vector<std::unique_ptr<SignalWatch>> signals;
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    signals.push_back(std::make_unique<SignalWatch>(&daemon.loop, number,
                                                    [server, number] { TakeSignal(server, number); }));
  }
  Timer open_admission(&daemon.loop, [&daemon] { daemon.supervisor->OpenAdmission(); });
  Timer retention(&daemon.loop, [&daemon, &options] { LookAtMetrics(&daemon, options.metrics_limit_bytes); });
  retention.Every(kRetentionEveryMs);
  LookAtMetrics(&daemon, options.metrics_limit_bytes);
  Timer watchdog(&daemon.loop, [] { NotifyServiceManager("WATCHDOG=1"); });
  if (options.embedded) {
    directory.Describe(fmt::format(", the private daemon of {}", ProcessAtOtherEnd(*options.socket_fd)));
    server->Embed(Descriptor(*options.socket_fd));
    open_admission.Once(kEmbeddedAdmissionMs);
  } else {
    TRAIND_ASSIGN(Descriptor socket, directory.Listen());
    server->Listen(std::move(socket));
    daemon.supervisor->OpenAdmission();
  }
  NotifyServiceManager("READY=1");
  if (WatchdogIntervalMs() > 0) watchdog.Every(WatchdogIntervalMs());
  daemon.loop.Run();
  return Ok();
}

Status Run(const Options& options) {
  TRAIND_ASSIGN(const StateDirectory directory, StateDirectory::Open(options.state_directory));
  TRAIND_TRY(OpenLog("traind", directory.path() + "/traind.log", options.log_level, kLogBytes));
  Status status = Serve(options, directory);
  if (!status.ok()) Log(LogLevel::kError, "{}", status.ToString());
  return status;
}

// Says why the daemon does not run: on standard error, and to the program that wanted a private one.
void Explain(const Status& status, const Options& options) {
  std::string text = fmt::format("traind: {}: {}\n", status.info().name, status.message());
  if (!status.hint().empty()) text += fmt::format("        {}\n", status.hint());
  fputs(text.c_str(), stderr);
  if (!options.embedded) return;
  std::string frame;
  AppendFrame(ErrorMessage(std::nullopt, status), &frame);
  if (send(*options.socket_fd, frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
}

std::string EnvironmentValue(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

int Main(const std::vector<std::string>& arguments) {
  std::array<char, PATH_MAX> directory{};
  Environment environment{EnvironmentValue("HOME"), EnvironmentValue("XDG_STATE_HOME"), "/"};
  if (getcwd(directory.data(), directory.size()) != nullptr) environment.directory = directory.data();
  const Result<Options> options = ParseOptions(arguments, environment);
  if (!options.ok()) {
    Explain(options.status(), Options());
    return kExitUsage;
  }
  switch (options->action) {
    case Options::Action::kHelp:
      fputs(UsageText().c_str(), stdout);
      return 0;
    case Options::Action::kVersion:
      fputs(fmt::format("traind {}\n", kVersion).c_str(), stdout);
      return 0;
    case Options::Action::kInstall:
    case Options::Action::kUninstall: {
      const Status status = options->action == Options::Action::kInstall ? Install(*options, environment)
                                                                         : Uninstall(*options, environment);
      if (!status.ok()) Explain(status, Options());
      return status.ok() ? 0 : kExitNoStart;
    }
    case Options::Action::kRun:
      break;
  }
  SetUpProcess(options->socket_fd);
  const Status status = Run(*options);
  if (status.ok()) return 0;
  Explain(status, *options);
  return kExitNoStart;
}

}  // namespace
}  // namespace traind::daemon

int main(int argc, char** argv) {
  return traind::daemon::Main(std::vector<std::string>(argv + 1, argv + argc));
}
