// How waited jobs come along: a bar with the live loss on a terminal, a line per change of state elsewhere.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "capi/traind.h"

namespace traind::cli {

// What one "progress" event says. NaN and 0 mean "not known".
struct JobProgress {
  int64_t job = 0;
  std::string state;
  std::string text;  // a reason
  double step = 0, total_steps = 0;
  double loss = NAN, val_loss = NAN;
  double tokens_per_second = 0, eta_seconds = 0;
  double prepared = 0, to_prepare = 0;
};

JobProgress ReadProgress(const traind_event* event);

struct BarStyle {
  int width = 80;
  bool utf8 = false;
  bool colour = false;
};

// One line, at most style.width - 1 columns.
std::string FormatBar(const JobProgress& progress, const BarStyle& style);
// "job 7: RUNNING, step 10 of 100, loss 2.345"
std::string FormatState(const JobProgress& progress);

// Draws to standard error.
class Progress {
 public:
  void Update(JobProgress progress);
  // Takes the bar away, so that other text can be written; the next update draws it again.
  void Clear();
  // Forgets the jobs: the next statement begins.
  void Reset();
  bool IsShown(int64_t job) const { return told_.contains(job); }

 private:
  void Draw(const JobProgress& progress);

  std::map<int64_t, JobProgress> told_;  // what was last told of each job
  bool drawn_ = false;
  std::chrono::steady_clock::time_point drawn_at_{};
};

}  // namespace traind::cli
