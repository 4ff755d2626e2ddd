// What crashes left in the state directory and nobody needs: found when the daemon starts, before anything
// runs, and removed while it serves.
#pragma once

#include <string>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind::daemon {

// The folders of models that the catalog does not have (DROP was committed, its files were not yet removed),
// and the temporary files of token caches. A worker of the daemon before that still writes one fails at
// publishing it, and is leaving anyway.
Result<std::vector<std::string>> FindLeftovers(Connection& connection, Io& io,
                                               const std::string& state_directory);

// Failures are logged; the next start finds them again.
void RemoveLeftovers(Io& io, const std::vector<std::string>& paths);

}  // namespace traind::daemon
