// traind-bench daemon: how long from a submission to the first step, and how long the loop's turns are while
// clients ask and a job trains.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "engine/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/private_daemon.h"

namespace traind::bench {
namespace {

constexpr int kSubmissions = 10;
constexpr double kLoadSeconds = 5;

std::string TrainText(int64_t steps) {
  return fmt::format("TRAIN MODEL m FROM d USING (sequence_length=64, batch_tokens=64) FOR {} STEPS", steps);
}

double Now() {
  return SystemClock().MonotonicSeconds();
}

// From sending TRAIN to the first step's metric row, the data already tokenised.
Result<std::vector<double>> SubmitToFirstStep(BenchClient* client) {
  TRAIND_TRY(client->Call({{"op", "subscribe"}, {"kinds", {"metric"}}}).status());
  std::vector<double> seconds;
  for (int i = 0; i <= kSubmissions; ++i) {
    const double began = Now();
    TRAIND_TRY(client->Execute(TrainText(1)));
    TRAIND_TRY(client->NextMetric());
    if (i > 0) seconds.push_back(Now() - began);
    TRAIND_TRY(client->Execute(fmt::format("WAIT FOR JOB {}", i + 1)));
  }
  return seconds;
}

struct Load {
  std::vector<double> seconds;
  Status failure;
};

// Each client asks, waits for the answer, and asks again.
Load AskFor(const PrivateDaemon& daemon, double seconds) {
  Load load;
  auto client = daemon.Connect();
  if (!client.ok()) {
    load.failure = client.status();
    return load;
  }
  for (const double end = Now() + seconds; Now() < end && load.failure.ok();) {
    const double began = Now();
    load.failure = (*client)->Execute("SHOW JOBS LIMIT 5");
    load.seconds.push_back(Now() - began);
  }
  return load;
}

Result<std::vector<double>> AskWith(const PrivateDaemon& daemon, int clients) {
  std::vector<Load> loads(static_cast<size_t>(clients));
  std::vector<std::thread> threads;
  for (Load& load : loads) threads.emplace_back([&] { load = AskFor(daemon, kLoadSeconds); });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const Load& load : loads) {
    TRAIND_TRY(load.failure);
    all.insert(all.end(), load.seconds.begin(), load.seconds.end());
  }
  return all;
}

}  // namespace

Result<Report> BenchDaemon(const Arguments&) {
  TRAIND_ASSIGN(const auto daemon, PrivateDaemon::Start());
  TRAIND_ASSIGN(const auto client, daemon->Connect());
  TRAIND_TRY(SetUp(client.get()));
  TRAIND_ASSIGN(const std::vector<double> first_step, SubmitToFirstStep(client.get()));
  Report report;
  TRAIND_TRY(client->Execute(TrainText(100'000'000)));
  for (const int clients : {1, 8, 64}) {
    TRAIND_ASSIGN(const std::vector<double> seconds, AskWith(*daemon, clients));
    report.rows.push_back({{"clients", clients},
                           {"statements_per_second", static_cast<double>(seconds.size()) / kLoadSeconds},
                           {"show_p50_ms", Percentile(seconds, 0.5) * 1e3},
                           {"show_p99_ms", Percentile(seconds, 0.99) * 1e3}});
  }
  TRAIND_ASSIGN(const Json status, client->Call({{"op", "status"}}));
  const Json& loop = status["loop"];
  report.summary = {{"ready_ms", daemon->ready_seconds() * 1e3},
                    {"submit_to_first_step_p50_ms", Percentile(first_step, 0.5) * 1e3},
                    {"submit_to_first_step_max_ms", Percentile(first_step, 1) * 1e3},
                    {"loop_turns", loop["turns"]},
                    {"loop_lag_p50_ms", loop["p50_ms"]},
                    {"loop_lag_p99_ms", loop["p99_ms"]},
                    {"loop_lag_p999_ms", loop["p999_ms"]},
                    {"loop_lag_max_ms", loop["max_ms"]}};
  TRAIND_TRY(client->Execute(fmt::format("CANCEL JOB {}", kSubmissions + 2)));
  return report;
}

}  // namespace traind::bench
