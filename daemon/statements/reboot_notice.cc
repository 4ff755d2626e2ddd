// That it was told is kept as a file, beside that of --install. A file that cannot be written means silence:
// the notice is not worth an error, and must not come with every job.
#include "daemon/statements/reboot_notice.h"

#include <stdlib.h>

#include "engine/base/publish.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kToldMark = "told-about-reboot";

bool Exists(Io& io, const std::string& directory, std::string_view name) {
  const auto info = io.Stat(directory + "/" + std::string(name));
  return info.ok() && info->kind != FileKind::kMissing;
}

bool ServiceManagerRunsUs() {
  return getenv("NOTIFY_SOCKET") != nullptr;  // terminals of a desktop have systemd's other variables too
}

}  // namespace

std::optional<std::string> TakeRebootNotice(Io& io, const std::string& state_directory) {
  if (Exists(io, state_directory, kInstalledMark) || Exists(io, state_directory, kToldMark))
    return std::nullopt;
  if (ServiceManagerRunsUs()) return std::nullopt;
  if (!PublishFile(io, state_directory + "/" + std::string(kToldMark), "").ok()) return std::nullopt;
  return "after a reboot, jobs go on when you use traind again; traind --install makes them go on by "
         "themselves "
         "(this is said once)";
}

}  // namespace traind::daemon
