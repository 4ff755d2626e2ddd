// A job's worker.log: lines from the control socket are appended, and the file is cut to its newer half when
// the worker's own output has made it too large. On the loop; the file is touched on pool threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/pool.h"

namespace traind::daemon {

class WorkerLog {
 public:
  WorkerLog(Pool* pool, std::string path) : pool_(pool), path_(std::move(path)) {}
  ~WorkerLog() { *alive_ = false; }
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  // Adds a line with its time.
  void Add(double wall_seconds, std::string_view level, std::string_view text);

  // Writes what was added and checks the size, a few times a second however often it is called.
  void Tend();
  // The same at once.
  void Flush();

 private:
  Pool* const pool_;
  const std::string path_;
  std::string pending_;
  int64_t dropped_ = 0;  // lines that came faster than they could be written
  bool busy_ = false;
  double tended_at_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// Cuts the file at `path` to its newer half, at a line's border, if it is larger than `max_bytes`.
void CutLog(const std::string& path, int64_t max_bytes);

}  // namespace traind::daemon
