// What the machine has, as traind-worker --probe finds it: probed once, kept in the catalog, probed again
// when the machine or the programs have changed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/status.h"
#include "engine/spec/device.h"

namespace traind::daemon {

class Inventory {
 public:
  // Takes the kept devices, or starts a probe in the background; `changed` is called on another thread when
  // that has ended.
  Inventory(Catalog* catalog, std::string worker_program, std::string log_path,
            std::function<void()> changed);
  ~Inventory();  // waits a little for a running probe, so that its result is kept, then ends it
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  // Lets go of all who wait for a running probe, and gives it no more than a little time. Any thread.
  void Stop();

  // The devices with the memory that is free now. Waits while the first probe runs; empty if it failed. Any
  // thread but the loop's.
  std::vector<DeviceSpec> Devices();

 private:
  void Run();
  Result<std::vector<DeviceSpec>> Probe();

  Catalog* const catalog_;
  const std::string worker_program_;
  const std::string log_path_;
  const std::function<void()> changed_;
  std::mutex mutex_;
  std::condition_variable known_;
  std::vector<DeviceSpec> devices_;  // guarded by mutex_
  bool ready_ = false;               // guarded by mutex_
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// What the probe's figures depend on: processor, boot, worker program.
std::string InventoryFingerprint(const std::string& worker_program);

}  // namespace traind::daemon
