// The catalog under SIGKILL: what was acknowledged is there afterwards, and nothing is there by half.
//
// A child process writes pairs of rows and says on a pipe what has been acknowledged; the parent kills it at
// a random instant, reopens the catalog and compares. The page cache survives a kill: power loss is another
// test's matter.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <random>
#include <thread>

#include "engine/base/fault.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

constexpr int kRounds = 10;  // for a commit; TRAIND_TEST_SCALE multiplies it for longer runs
constexpr int kWriters = 4;

// One acknowledged statement: two rows that belong together, and a metric row that was durable before.
struct Written {
  int64_t writer;
  int64_t number;
};

Status WritePair(Transaction& transaction, int64_t writer, int64_t number) {
  for (const char* half : {"a", "b"}) {
    TRAIND_TRY(
        transaction.Run("INSERT INTO _settings(name, value) VALUES (?1, ?2)",
                        {std::to_string(writer) + "." + std::to_string(number) + half, std::string("x")}));
  }
  return {};
}

[[noreturn]] void RunChild(const std::string& path, int64_t first, int pipe) {
  auto catalog = Catalog::Open(path);
  if (!catalog.ok()) _exit(1);
  std::vector<std::thread> threads;
  for (int64_t writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int64_t number = first;; ++number) {
        MetricRow row;
        row.step = number;
        (*catalog)->SubmitMetrics(writer, {row}, true);
        const Status status = (*catalog)->Write(
            [&](Transaction& transaction) { return WritePair(transaction, writer, number); });
        const Written written{writer, number};
        if (!status.ok() || write(pipe, &written, sizeof written) != sizeof written) _exit(2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(0);
}

int64_t Count(Connection& connection, const std::string& sql) {
  const auto row = connection.QueryRow(sql);
  assert_ok(row);
  return std::get<int64_t>((**row)[0]);
}

// The acknowledgements of a child that ran until it was killed, or killed itself.
std::vector<Written> RunAndKill(const std::string& path, int64_t first, int milliseconds, const char* fault) {
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (fault != nullptr && !ArmFaultPoint(fault).ok()) _exit(3);
    RunChild(path, first, ends[1]);
  }
  close(ends[1]);
  if (fault == nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(child, SIGKILL);
  }
  std::vector<Written> acknowledged;
  Written written{};
  while (read(ends[0], &written, sizeof written) == sizeof written) acknowledged.push_back(written);
  close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return acknowledged;
}

void CheckAll(TemporaryState& state, const std::vector<Written>& acknowledged) {
  assert_ok(state.Open());
  auto reader = state.NewReader();
  for (const Written& each : acknowledged) {
    const std::string name = std::to_string(each.writer) + "." + std::to_string(each.number);
    assert_int_equal(Count(*reader, "SELECT count(*) FROM main._settings WHERE name IN ('" + name + "a', '" +
                                        name + "b')"),
                     2);
  }
  // Not one half without the other, acknowledged or not; and every pair's metrics came before it.
  assert_int_equal(Count(*reader,
                         "SELECT count(*) FROM main._settings a WHERE name LIKE '%a' AND NOT EXISTS "
                         "(SELECT 1 FROM main._settings b WHERE b.name = rtrim(a.name, 'a') || 'b')"),
                   0);
  assert_int_equal(Count(*reader, "SELECT count(*) % 2 FROM main._settings"), 0);
  assert_int_equal(
      Count(*reader,
            "SELECT count(*) FROM main._settings s WHERE name LIKE '%a' AND NOT EXISTS "
            "(SELECT 1 FROM metrics._metrics m WHERE m.job_id || '.' || m.step || 'a' = s.name)"),
      0);
  state.Close();
}

void AcknowledgedRowsOutliveAKill(void**) {
  TemporaryState state;
  std::mt19937 random(20261130);
  std::vector<Written> acknowledged;
  const char* scale = std::getenv("TRAIND_TEST_SCALE");
  const int rounds = scale == nullptr ? kRounds : kRounds * std::max(1, std::atoi(scale));
  for (int round = 0; round < rounds; ++round) {
    const auto delay = static_cast<int>(random() % 150);
    const auto more = RunAndKill(state.path(), int64_t{1000000} * (round + 1), 10 + delay, nullptr);
    acknowledged.insert(acknowledged.end(), more.begin(), more.end());
    CheckAll(state, acknowledged);
  }
  assert_true(acknowledged.size() > 10);
}

void TheFaultPointsOfACommit(void**) {
  TemporaryState state;
  std::vector<Written> acknowledged;
  int64_t first = 1;
  for (const char* fault : {"catalog_before_commit:1=kill", "catalog_before_commit:7=kill",
                            "catalog_after_commit:1=kill", "catalog_after_commit:7=kill"}) {
    const auto more = RunAndKill(state.path(), first, 0, fault);
    acknowledged.insert(acknowledged.end(), more.begin(), more.end());
    first += 1000000;
    CheckAll(state, acknowledged);
  }
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(AcknowledgedRowsOutliveAKill),
      cmocka_unit_test(TheFaultPointsOfACommit),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
