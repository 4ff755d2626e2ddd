// traind-bench statements: the round trip of each kind of statement, one client, an idle daemon.
#include <fmt/format.h>

#include <functional>
#include <string_view>

#include "engine/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/private_daemon.h"

namespace traind::bench {
namespace {

constexpr int kWarmUp = 5;
constexpr int kRounds = 200;

// `after` is run after each round and not measured.
struct Row {
  std::string_view name;
  std::function<std::string(int)> text;
  std::function<std::string(int)> after;
};

std::function<std::string(int)> Fixed(std::string text) {
  return [text = std::move(text)](int) { return text; };
}

std::vector<Row> Rows() {
  const auto train = [](int) {
    return std::string(
        "TRAIN MODEL m AS j FROM d USING (sequence_length=64, batch_tokens=64) FOR 1000000 STEPS");
  };
  return {
      {"SELECT 1", Fixed("SELECT 1"), nullptr},
      {"SHOW JOBS", Fixed("SHOW JOBS"), nullptr},
      {"SHOW GPUS", Fixed("SHOW GPUS"), nullptr},
      {"DESCRIBE MODEL", Fixed("DESCRIBE MODEL m"), nullptr},
      {"SET", Fixed("SET output_rows = 10"), nullptr},
      {"HELP", Fixed("HELP TRAIN"), nullptr},
      {"CREATE MODEL", [](int i) { return fmt::format("CREATE MODEL b{} LIKE m", i); },
       [](int i) { return fmt::format("DROP MODEL b{}", i); }},
      {"DROP MODEL", Fixed("DROP MODEL IF EXISTS nobody"), nullptr},
      {"EXPLAIN TRAIN", [train](int i) { return "EXPLAIN " + train(i); }, nullptr},
      {"TRAIN", train, Fixed("CANCEL JOB j")},
  };
}

double Now() {
  return SystemClock().MonotonicSeconds();
}

// A cancelled job keeps its model until its worker has left.
Status Settle(BenchClient* client) {
  const Status waited = client->Execute("WAIT FOR JOB j");
  return waited.code() == ErrorCode::JOB_CANCELLED ? Ok() : waited;
}

Result<std::vector<double>> Measure(BenchClient* client, const Row& row) {
  std::vector<double> seconds;
  const int rounds = row.name == "TRAIN" ? kRounds / 10 : kRounds;
  for (int i = 0; i < rounds + kWarmUp; ++i) {
    const std::string text = row.text(i);
    const double began = Now();
    TRAIND_TRY(client->Execute(text));
    if (i >= kWarmUp) seconds.push_back(Now() - began);
    if (row.after) TRAIND_TRY(client->Execute(row.after(i)));
    if (row.name == "TRAIN") TRAIND_TRY(Settle(client));
  }
  return seconds;
}

}  // namespace

Result<Report> BenchStatements(const Arguments&) {
  TRAIND_ASSIGN(const auto daemon, PrivateDaemon::Start());
  TRAIND_ASSIGN(const auto client, daemon->Connect());
  TRAIND_TRY(SetUp(client.get()));
  Report report;
  std::vector<double> all;
  for (const Row& row : Rows()) {
    TRAIND_ASSIGN(const std::vector<double> seconds, Measure(client.get(), row));
    all.insert(all.end(), seconds.begin(), seconds.end());
    report.rows.push_back({{"statement", row.name},
                           {"rounds", seconds.size()},
                           {"round_trip_p50_ms", Percentile(seconds, 0.5) * 1e3},
                           {"round_trip_p99_ms", Percentile(seconds, 0.99) * 1e3}});
  }
  report.summary = {{"round_trip_p50_ms", Percentile(all, 0.5) * 1e3},
                    {"round_trip_p99_ms", Percentile(all, 0.99) * 1e3}};
  return report;
}

}  // namespace traind::bench
