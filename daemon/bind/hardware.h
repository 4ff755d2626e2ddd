// Hardware of statements: ON against the inventory.
#pragma once

#include <optional>
#include <vector>

#include "daemon/statement.h"
#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/spec/device.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct BoundHardware {
  std::vector<DeviceSpec> devices;  // those that may be used; their free memory as if our own jobs had ended
  Json wanted;                      // for the job: null for any, else [["local",0],…]
};

// NO_SUCH_DEVICE at the device, naming those there are; DUPLICATE_OPTION for one named twice.
Result<BoundHardware> BindHardware(const std::optional<grammar::HardwareClause>& clause,
                                   const Context& context);

}  // namespace traind::daemon
