// Options of a connection, by key and text value.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind::capi {

struct Config {
  std::string client = "libtraind";
  std::string directory;  // empty: the current one when opening
  std::string traind;     // empty: searched for
  double open_timeout_seconds = 30;
  bool autostart = false;
  bool progress = false;
  bool stop_on_paused = false;
  bool check = false;
};

// Sets one option. UNKNOWN_OPTION names the nearest key, INVALID_OPTION the expected form.
Status SetOption(std::string_view key, std::string_view value, Config* config);

}  // namespace traind::capi
