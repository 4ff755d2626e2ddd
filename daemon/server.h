// The daemon as a whole, on the loop: its clients, its idle exit, its end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/loop.h"
#include "daemon/pool.h"
#include "daemon/session.h"
#include "daemon/statement.h"
#include "daemon/stream/hub.h"
#include "daemon/supervisor/supervisor.h"
#include "engine/base/descriptor.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

class Server {
 public:
  struct Parts {
    Loop* loop = nullptr;
    Pool* pool = nullptr;
    Hub* hub = nullptr;
    Supervisor* supervisor = nullptr;
    const DaemonState* daemon = nullptr;
    double idle_exit_seconds = 0;  // 0: never
    std::function<void()> stop_listening;
  };
  explicit Server(Parts parts);
  ~Server();

  // Serves whoever connects to the listening socket.
  void Listen(Descriptor socket);
  // Serves one connection; when it ends, the daemon leaves.
  void Embed(Descriptor connection);

  // Stops jobs with a checkpoint, then the loop. `reply` gets the list of what goes on later, before the
  // connections close.
  void ShutDown(const std::function<void(Json stopped)>& reply = nullptr);
  // Stops the loop at once.
  void ShutDownAtOnce();
  bool leaving() const { return leaving_; }

  Json StatusReport() const;

 private:
  void Accept();
  void Admit(Descriptor connection);
  void AddSession(Descriptor connection, bool embedded);
  void Refuse(const Descriptor& connection, const Status& status);
  void Tend();
  void TendIdle();
  void LeaveWhenFlushed();
  void Leave();

  const Parts parts_;
  Services services_;
  Descriptor socket_;
  std::unique_ptr<Watch> accept_;
  Timer accept_again_;
  Timer tend_;
  Timer leave_;
  struct Client {
    std::shared_ptr<Session> session;
    double since = 0;
  };
  std::map<int64_t, Client> clients_;
  int64_t last_client_ = 0;
  bool leaving_ = false;
  std::vector<std::function<void(Json)>> replies_;
  double flush_until_ = 0;
  double started_at_ = 0;
  double busy_at_ = 0;  // when somebody was last connected or a job had something to do
  bool checking_jobs_ = false;
};

}  // namespace traind::daemon
