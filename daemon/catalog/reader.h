// The reader's connection: internal queries, and users' queries under the authorizer.
#pragma once

#include <memory>
#include <string>

#include "daemon/catalog/catalog.h"

namespace traind::daemon {

Result<std::unique_ptr<Reader>> OpenReaderOn(const std::string& state_directory, const std::string& vfs);

}  // namespace traind::daemon
