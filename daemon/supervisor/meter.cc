// The terms of a budget and their marks.
#include "daemon/supervisor/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr std::array kMarks = {50, 80, 90, 100};
constexpr double kSecondsPerHour = 3600;
constexpr double kPaceMargin = 1.02;

int HighestMark(double share) {
  int highest = 0;
  for (const int mark : kMarks) {
    if (share * 100 >= mark) highest = mark;
  }
  return highest;
}

}  // namespace

BudgetMeter::BudgetMeter(const Budget& budget, const Used& used, double now) : used_(used) {
  SetBudget(budget, 0, now);
}

void BudgetMeter::SetBudget(const Budget& budget, double elapsed, double now) {
  budget_ = budget;
  reported_.clear();
  pace_warned_ = false;
  for (const Term& term : Terms(elapsed, now)) {
    // 100 % is always reported: something has to be done about it.
    reported_.push_back({term.name, std::min(HighestMark(term.used / term.limit), 90)});
  }
}

std::vector<BudgetMeter::Term> BudgetMeter::Terms(double elapsed, double now) const {
  std::vector<Term> terms;
  const auto devices = static_cast<double>(used_.devices);
  if (budget_.wall_clock_seconds) {
    terms.push_back({"wall_clock", *budget_.wall_clock_seconds, used_.seconds + elapsed, 1});
  }
  if (budget_.gpu_hours) {
    terms.push_back({"gpu_hours", *budget_.gpu_hours,
                     (used_.device_seconds + elapsed * devices) / kSecondsPerHour,
                     devices / kSecondsPerHour});
  }
  if (budget_.deadline) {
    terms.push_back(
        {"DEADLINE", std::max(*budget_.deadline - used_.submitted_at, 1e-3), now - used_.submitted_at, 1});
  }
  return terms;
}

int& BudgetMeter::ReportedOf(std::string_view name) {
  const auto found = std::ranges::find(reported_, name, &Reported::name);
  if (found != reported_.end()) return found->percent;
  reported_.push_back({name, 0});
  return reported_.back().percent;
}

BudgetMeter::Mark BudgetMeter::MarkOf(const Term& term, int percent) {
  const auto amount = [&term](double value) {
    return term.name == "gpu_hours" ? fmt::format("{:.4g} gpu_hours", value) : FormatDuration(value);
  };
  return {std::string(term.name), percent,
          fmt::format("{}: {} % used, {} of {}", term.name, percent, amount(term.used), amount(term.limit))};
}

std::vector<BudgetMeter::Mark> BudgetMeter::Advance(double elapsed, double now) {
  std::vector<Mark> marks;
  for (const Term& term : Terms(elapsed, now)) {
    const int highest = HighestMark(term.used / term.limit);
    int& reported = ReportedOf(term.name);
    if (highest <= reported) continue;
    reported = highest;
    marks.push_back(MarkOf(term, highest));
  }
  return marks;
}

std::optional<BudgetMeter::Mark> BudgetMeter::Exhausted(double elapsed, double now) const {
  for (const Term& term : Terms(elapsed, now)) {
    if (term.used >= term.limit) return MarkOf(term, 100);
  }
  return std::nullopt;
}

std::optional<double> BudgetMeter::SecondsLeft(double elapsed, double now) const {
  std::optional<double> left;
  for (const Term& term : Terms(elapsed, now)) {
    const double seconds = std::max((term.limit - term.used) / term.per_second, 0.0);
    left = std::min(left.value_or(seconds), seconds);
  }
  return left;
}

std::optional<std::string> BudgetMeter::PaceWarning(double elapsed, double now, int64_t steps_left,
                                                    double step_seconds) {
  if (pace_warned_ || steps_left <= 0 || step_seconds <= 0) return std::nullopt;
  const std::optional<double> left = SecondsLeft(elapsed, now);
  const double needed = static_cast<double>(steps_left) * step_seconds;
  if (!left || needed <= *left * kPaceMargin) return std::nullopt;
  pace_warned_ = true;
  return fmt::format(
      "at {} a step the {} steps left take {}; the budget ends in {}: the target will not be reached",
      FormatDuration(step_seconds), steps_left, FormatDuration(needed), FormatDuration(*left));
}

}  // namespace traind::daemon
