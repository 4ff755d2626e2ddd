// Settings by name, for SET and RESET.
#pragma once

#include "daemon/bind/option_table.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// NO_SUCH_SETTING at the name, with the nearest one.
Result<const OptionInfo*> FindSettingNamed(const grammar::Name& name);

}  // namespace traind::daemon
