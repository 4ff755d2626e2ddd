// A running attempt against its budget: what is used, which marks were passed, whether the pace will do.
// Pure: the times are arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/spec/budget.h"

namespace traind::daemon {

class BudgetMeter {
 public:
  // What the job had used when the attempt began. `submitted_at` is where a deadline's percentages begin.
  struct Used {
    double seconds = 0;
    double device_seconds = 0;
    int64_t devices = 1;  // of this attempt
    double submitted_at = 0;
  };
  BudgetMeter(const Budget& budget, const Used& used, double now);

  // ALTER JOB … SET BUDGET; marks that the new terms have passed already are not reported again.
  void SetBudget(const Budget& budget, double elapsed, double now);

  struct Mark {
    std::string term;  // "wall_clock"
    int percent = 0;   // 50, 80, 90, 100
    std::string text;  // "wall_clock: 90 % used, 9m 00s of 10m 00s"
  };
  // The marks passed since the last call, `elapsed` seconds into the attempt, at wall time `now`. Of several
  // passed at once only the highest of each term.
  std::vector<Mark> Advance(double elapsed, double now);

  // The term that is used up, or nullopt.
  std::optional<Mark> Exhausted(double elapsed, double now) const;

  // Seconds until the first term is used up; nullopt without a budget.
  std::optional<double> SecondsLeft(double elapsed, double now) const;

  // A warning, once, if at the measured pace the target will not be reached within the budget. Not before
  // enough was measured to say so.
  std::optional<std::string> PaceWarning(double elapsed, double now, int64_t steps_left, double step_seconds);

 private:
  struct Term {
    std::string_view name;
    double limit = 0;
    double used = 0;
    double per_second = 0;  // how much a second of the attempt uses
  };
  struct Reported {
    std::string_view name;
    int percent = 0;
  };
  std::vector<Term> Terms(double elapsed, double now) const;
  int& ReportedOf(std::string_view name);
  static Mark MarkOf(const Term& term, int percent);

  Budget budget_;
  Used used_;
  std::vector<Reported> reported_;
  bool pace_warned_ = false;
};

}  // namespace traind::daemon
