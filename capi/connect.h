// Opening: from an address to a client that has shaken hands, and, for a private daemon, its process.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "capi/address.h"
#include "capi/client.h"
#include "capi/config.h"
#include "capi/spawn.h"
#include "engine/base/status.h"

namespace traind::capi {

inline constexpr int64_t kProtocolVersion = 1;

struct Session {
  std::unique_ptr<Client> client;
  std::optional<Process> process;           // of a private daemon
  std::map<std::string, std::string> info;  // traind_conn_info
};

// Reaches, or starts, the daemon of `address`. Waits as long as config.open_timeout_seconds says.
Result<Session> OpenSession(const std::string& address, const Config& config);

// Asks a private daemon to leave and waits until it has: what there is to say of the jobs that were live, or
// empty. INTERRUPTED if the wake descriptor is written to before (the daemon then leaves by itself).
Result<std::string> CloseSession(Session* session);

}  // namespace traind::capi
