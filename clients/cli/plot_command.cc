// Long runs are read at every k-th step, so that a curve costs the same whatever its length.
#include "clients/cli/plot_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "clients/cli/plot.h"
#include "clients/cli/statement_runner.h"
#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr int64_t kMostPoints = 20000;

const std::vector<std::string_view> kMetrics = {
    "loss", "val_loss", "learning_rate", "grad_norm", "tokens_per_second", "mfu", "tokens"};

struct Job {
  int64_t id = 0;
  std::string name;
  int64_t last_step = 0;
};

int FindJob(Session& session, const std::string& wanted, Job* job) {
  bool number = !wanted.empty() && wanted.find_first_not_of("0123456789") == std::string::npos;
  std::string text = fmt::format(
      "SELECT id, name, step FROM sys_jobs WHERE {} = $job ORDER BY id DESC LIMIT 1", number ? "id" : "name");
  int code = RunQuery(session, text, {{"job", number ? wanted : "'" + wanted + "'"}}, [&](traind_stmt* row) {
    traind_column_int64(row, 0, &job->id);
    job->name = ColumnText(row, 1);
    traind_column_int64(row, 2, &job->last_step);
  });
  if (code == 0 && job->id == 0)
    return Complain(session, fmt::format("no job {}; SHOW JOBS lists them", wanted));
  return code;
}

int ReadSeries(Session& session, const std::string& metric, const Job& job, Series* series) {
  int64_t every = std::max<int64_t>(1, job.last_step / kMostPoints);
  // Sparse metrics (validation) are kept whole.
  std::string thin = every == 1 || metric == "val_loss" ? "" : fmt::format(" AND step % {} = 0", every);
  std::string text =
      fmt::format("SELECT step, {0} FROM sys_metrics WHERE job = {1} AND {0} IS NOT NULL{2} ORDER BY step",
                  metric, job.id, thin);
  series->label = job.name.empty() ? fmt::format("job {}", job.id)
                                   : fmt::format("job {} {}", job.id, Printable(job.name, false));
  return RunQuery(session, text, {}, [&](traind_stmt* row) {
    double step = 0, value = 0;
    traind_column_double(row, 0, &step);
    traind_column_double(row, 1, &value);
    series->x.push_back(step);
    series->y.push_back(value);
  });
}

}  // namespace

int PlotMetric(Session& session, const std::string& metric, const std::vector<std::string>& jobs) {
  if (std::find(kMetrics.begin(), kMetrics.end(), metric) == kMetrics.end()) {
    std::string_view nearest = Nearest(metric, kMetrics);
    return Complain(session, fmt::format("no metric '{}'{}: the metrics are {}", metric,
                                         nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest),
                                         fmt::join(kMetrics, ", ")));
  }
  std::vector<Series> all;
  for (const std::string& wanted : jobs) {
    Job job;
    if (int code = FindJob(session, wanted, &job); code != 0) return code;
    Series series;
    if (int code = ReadSeries(session, metric, job, &series); code != 0) return code;
    if (series.x.empty()) return Complain(session, fmt::format("job {} has no {} yet", job.id, metric));
    all.push_back(std::move(series));
  }
  Terminal terminal = LookAt(session.out.descriptor());
  PlotOptions options;
  options.title = all.size() == 1 ? fmt::format("{} of {}", metric, all[0].label) : metric;
  options.width = terminal.width - 1;
  options.utf8 = terminal.utf8;
  options.colour = terminal.colour;
  session.progress.Clear();
  session.out.Write(Plot(all, options));
  session.out.Flush();
  return 0;
}

}  // namespace traind::cli
