// Running the probe and reading what it prints.
#include "daemon/inventory.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <utility>

#include "daemon/catalog/inventory.h"
#include "daemon/free_memory.h"
#include "daemon/supervisor/launch.h"
#include "daemon/supervisor/spawn.h"
#include "engine/base/checksum.h"
#include "engine/base/clock.h"
#include "engine/base/io.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/log.h"

namespace traind::daemon {
namespace {

constexpr double kProbeSeconds = 120;
constexpr double kProbeGraceSeconds = 5;  // for a probe to end when the daemon leaves: the next one needs it
constexpr int kPollMs = 100;
constexpr int kProbeTries = 3;

std::string FirstLine(const std::string& path, std::string_view prefix) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(prefix)) return line;
  }
  return "";
}

// All that the program prints, until it closes its output or the time is over, which is sooner once
// `stopping` is set.
Result<std::string> ReadAll(int descriptor, const std::atomic<bool>& stopping) {
  std::string text;
  std::array<char, 4096> buffer{};
  double until = SystemClock().MonotonicSeconds() + kProbeSeconds;
  bool hurried = false;
  while (true) {
    const double now = SystemClock().MonotonicSeconds();
    if (stopping && !hurried) until = std::min(until, now + kProbeGraceSeconds);
    hurried = stopping;
    if (now > until && stopping) return Status(ErrorCode::SHUTTING_DOWN, "the daemon is leaving");
    if (now > until) {
      return Status(ErrorCode::WORKER_HUNG, fmt::format("the probe took longer than {} s", kProbeSeconds));
    }
    pollfd readable{descriptor, POLLIN, 0};
    if (poll(&readable, 1, kPollMs) <= 0) continue;
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status(ErrorCode::IO, fmt::format("the probe cannot be read: {}", strerror(errno)));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (static_cast<int64_t>(text.size()) > kMaxFrameBytes) {
      return Status(ErrorCode::FRAME_TOO_LARGE, "the probe printed more than a device's description");
    }
  }
}

// One device's object, or an array of them.
Result<std::vector<DeviceSpec>> DevicesFromText(const std::string& text) {
  TRAIND_ASSIGN(Json json, ParseJson(text));
  if (!json.is_array()) json = Json::array({std::move(json)});
  std::vector<DeviceSpec> devices;
  for (const Json& object : json) {
    TRAIND_ASSIGN(DeviceSpec device, DeviceFromJson(object));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace

std::string InventoryFingerprint(const std::string& worker_program) {
  std::string text = FirstLine("/proc/cpuinfo", "model name");
  text += FirstLine("/proc/cpuinfo", "flags");
  text += FirstLine("/proc/sys/kernel/random/boot_id", "");
  text += FirstLine("/proc/self/status", "Cpus_allowed:");
  if (const auto info = PosixIo().Stat(worker_program); info.ok()) {
    text += fmt::format("{} {} {}", worker_program, info->bytes, info->modified_ns);
  }
  return Checksum(text);
}

Inventory::Inventory(Catalog* catalog, std::string worker_program, std::string log_path,
                     std::function<void()> changed)
    : catalog_(catalog),
      worker_program_(std::move(worker_program)),
      log_path_(std::move(log_path)),
      changed_(std::move(changed)),
      thread_([this] { Run(); }) {}

Inventory::~Inventory() {
  Stop();
  thread_.join();
}

void Inventory::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  known_.notify_all();
}

void Inventory::Run() {
  const std::string fingerprint = InventoryFingerprint(worker_program_);
  Result<std::vector<DeviceSpec>> found = std::vector<DeviceSpec>();
  bool kept = false;
  if (const auto reader = catalog_->OpenReader(); reader.ok()) {
    auto devices = LoadDevices(**reader, fingerprint);
    kept = devices.ok() && devices->has_value();
    if (kept) found = std::move(**devices);
  }
  for (int tries = 0; !kept && tries < kProbeTries && !stopping_; ++tries) {
    found = Probe();
    if (found.ok()) break;
    Log(LogLevel::kError, "the machine cannot be probed: {}", found.status().ToString());
  }
  if (found.ok() && !kept) {
    const Status saved = catalog_->Write([&](Transaction& transaction) {
      return SaveDevices(transaction, *found, fingerprint, SystemClock().WallSeconds());
    });
    if (!saved.ok()) Log(LogLevel::kWarning, "the inventory is not kept: {}", saved.ToString());
  }
  {
    const std::lock_guard lock(mutex_);
    if (found.ok()) devices_ = *std::move(found);
    ready_ = true;
  }
  known_.notify_all();
  if (!stopping_) changed_();
}

Result<std::vector<DeviceSpec>> Inventory::Probe() {
  TRAIND_ASSIGN(const Descriptor log, OpenWorkerLog(log_path_));
  TRAIND_ASSIGN(const SpawnedWorker probe, SpawnProbe(worker_program_, {"--probe"}, log));
  const Result<std::string> text = ReadAll(probe.control.get(), stopping_);
  if (!text.ok()) kill(-probe.pid, SIGKILL);
  int wait_status = 0;
  while (waitpid(probe.pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (!text.ok()) return text.status();
  if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
    return Status(ErrorCode::WORKER_DIED, fmt::format("the probe ended with status {}", wait_status),
                  "its output is in " + log_path_);
  }
  return DevicesFromText(*text);
}

std::vector<DeviceSpec> Inventory::Devices() {
  std::vector<DeviceSpec> devices;
  {
    std::unique_lock lock(mutex_);
    known_.wait(lock, [this] { return ready_ || stopping_; });
    devices = devices_;
  }
  const int64_t free = FreeMemoryBytes();
  for (DeviceSpec& device : devices) device.free_bytes = std::min(free, device.memory_bytes);
  return devices;
}

}  // namespace traind::daemon
