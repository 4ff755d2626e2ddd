// The terms of a budget as one table.
#include "engine/plan/budget_check.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "engine/base/quantity.h"

namespace traind::plan {
namespace {

constexpr double kHour = 3600;

// Now and in a hundred million years: beyond, a date says nothing.
constexpr double kLatestDate = 253402300799;  // 9999-12-31 23:59:59 UTC

std::string Date(double wall_seconds) {
  const auto time = static_cast<std::time_t>(std::clamp(std::ceil(wall_seconds), 0.0, kLatestDate));
  std::tm utc{};
  gmtime_r(&time, &utc);
  return fmt::format("{:%Y-%m-%d %H:%M:%S}Z", utc);
}

std::string GpuHours(double hours) {
  return fmt::format("{:.2f} gpu_hours", hours);
}

// A whole number of the largest unit that keeps it within 2 %, rounded up, as the language writes it.
std::string DurationLiteral(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86400, "d"}, {3600, "h"}, {60, "m"}};
  for (const Unit& unit : kUnits) {
    if (seconds >= 50 * unit.seconds)
      return fmt::format("{:.0f}{}", std::ceil(seconds / unit.seconds), unit.name);
  }
  return fmt::format("{:.0f}s", std::max(1.0, std::ceil(seconds)));
}

// Two digits after the point, rounded up.
std::string GpuHoursLiteral(double seconds) {
  return fmt::format("{:.2f}", std::max(0.01, std::ceil(seconds / kHour * 100) / 100));
}

// A term that is set, in seconds on its own scale.
struct Term {
  std::string_view name;
  double limit;   // seconds: of running for wall_clock and gpu_hours, wall clock for DEADLINE
  double before;  // what is gone already on that scale
  std::string (*print)(double seconds);
  std::string (*smallest)(double seconds);
};

std::vector<Term> TermsOf(const Budget& budget, double used_seconds, double now) {
  std::vector<Term> terms;
  if (budget.wall_clock_seconds) {
    terms.push_back({"wall_clock", *budget.wall_clock_seconds, used_seconds, FormatDuration,
                     [](double seconds) { return "wall_clock <= " + DurationLiteral(seconds); }});
  }
  if (budget.gpu_hours) {  // one device: its hours are the run's
    terms.push_back({"gpu_hours", *budget.gpu_hours * kHour, used_seconds,
                     [](double seconds) { return GpuHours(seconds / kHour); },
                     [](double seconds) { return "gpu_hours <= " + GpuHoursLiteral(seconds); }});
  }
  if (budget.deadline) {
    terms.push_back({"DEADLINE", *budget.deadline, now, Date,
                     [](double seconds) { return "DEADLINE '" + Date(seconds) + "'"; }});
  }
  return terms;
}

std::string Signed(const Term& term, double seconds) {
  // The headroom of a date is a duration.
  auto print = term.name == "DEADLINE" ? FormatDuration : term.print;
  return (seconds < 0 ? "-" : "") + print(std::abs(seconds));
}

}  // namespace

std::optional<double> SecondsLeft(const Budget& budget, double used_seconds, double now) {
  std::optional<double> left;
  for (const Term& term : TermsOf(budget, used_seconds, now)) {
    const double of_term = term.limit - term.before;
    left = left ? std::min(*left, of_term) : of_term;
  }
  return left;
}

std::vector<Headroom> HeadroomOf(const Budget& budget, double used_seconds, double now,
                                 std::optional<double> run_seconds) {
  std::vector<Headroom> rows;
  for (const Term& term : TermsOf(budget, used_seconds, now)) {
    Headroom row;
    row.term = term.name;
    row.limit = term.print(term.limit);
    if (run_seconds) {
      const double predicted = term.before + *run_seconds;
      row.predicted = term.print(predicted);
      row.headroom = Signed(term, term.limit - predicted);
      row.broken = predicted > term.limit;
    } else {
      row.predicted = row.headroom = "unknown until the data is tokenised";
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Status CheckBudget(const PlanRequest& request, const Plan& plan, double run_seconds) {
  const Term* binding = nullptr;
  double worst = 0;
  const std::vector<Term> terms = TermsOf(request.budget, request.budget_used_seconds, request.now);
  for (const Term& term : terms) {
    const double excess = term.before + run_seconds - term.limit;
    if (excess > worst) worst = excess, binding = &term;
  }
  if (binding == nullptr) return Ok();
  const double needed = binding->before + run_seconds;
  const std::string smallest = binding->smallest(needed);
  std::string message = std::string(binding->name) + " allows " + binding->print(binding->limit) +
                        ", the run needs " + binding->print(needed);
  if (request.budget_used_seconds > 0 && binding->name != "DEADLINE") {
    message += " (" + binding->print(request.budget_used_seconds) + " of it used before)";
  }
  message += fmt::format("; the cheapest plan: micro_batch {} x {} on {}:{}, {} a step, {} in all, {}",
                         plan.strategy.micro_batch, plan.strategy.micro_batches, plan.device.node,
                         plan.device.index, FormatDuration(plan.step_seconds), FormatDuration(run_seconds),
                         GpuHours(run_seconds / kHour));
  const Json detail = {{"term", binding->name},
                       {"limit_seconds", binding->limit},
                       {"needed_seconds", needed},
                       {"smallest", smallest},
                       {"step_seconds", plan.step_seconds}};
  return Status(ErrorCode::BUDGET_TOO_SMALL, std::move(message),
                "The smallest budget that would do: " + smallest +
                    "; or give an ELSE, so that the run is admitted and ends at the limit.")
      .With(DumpJson(detail));
}

}  // namespace traind::plan
