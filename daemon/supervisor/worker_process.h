// One running traind-worker as the loop sees it: its messages, its heartbeat, its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/channel.h"
#include "daemon/loop.h"
#include "daemon/supervisor/children.h"
#include "daemon/supervisor/spawn.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

// How a worker ended. `cause` is OK only if it left by itself with exit code 0.
struct WorkerEnding {
  Status cause;  // WORKER_DIED, WORKER_HUNG, or what was wrong with its messages
  int exit_code = -1;
  int signal_number = 0;
};

struct Heartbeat {
  int64_t progress = -1;    // completed operators; -1 before the first heartbeat
  std::string instruction;  // what it works on
  double deadline_seconds = 0;
  int64_t step = 0;
  int64_t rss_bytes = 0;
};

class WorkerProcess {
 public:
  struct Handlers {
    std::function<void(const Json& message)> message;  // all but heartbeats
    // Once, when the process has ended and all it sent has been handled. May destroy this.
    std::function<void(const WorkerEnding& ending)> ended;
  };
  // Takes the worker. Makes no progress within its deadline: killed, WORKER_HUNG. `first_deadline_seconds`
  // holds until its first heartbeat.
  WorkerProcess(Loop* loop, Children* children, SpawnedWorker worker, double first_deadline_seconds,
                Handlers handlers);
  ~WorkerProcess();  // kills the group if it still runs and was not abandoned
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void Send(const Json& message);
  // SIGKILL to the whole group.
  void Kill();
  // Closes our end: the worker stops by itself at the next instruction's border, and may outlive this.
  void Abandon();

  pid_t pid() const { return pid_; }
  const Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  void Received(const Json& message);
  void TakeHeartbeat(const Json& message);
  void ChannelEnded(const Status& reason);
  void ProcessEnded(int wait_status);
  void Tick();
  void EndIfBoth();

  Loop* const loop_;
  Children* const children_;
  const pid_t pid_;
  Handlers handlers_;
  std::unique_ptr<Channel> channel_;
  Timer tick_;
  Heartbeat heartbeat_;
  Status cause_;
  double ticked_at_ = 0;
  double silent_seconds_ = 0;  // without progress, as far as this process itself was running
  double channel_ended_at_ = 0;
  double process_ended_at_ = 0;
  int wait_status_ = 0;
  bool channel_ended_ = false;
  bool abandoned_ = false;
  bool process_ended_ = false;
};

}  // namespace traind::daemon
