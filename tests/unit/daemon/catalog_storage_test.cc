// The catalog on storage that fails: a power loss at any write, an operation that fails once or for ever, a
// full disk. What was acknowledged is there afterwards, and nothing is there by half.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "tests/unit/daemon/crash_vfs.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::CrashVfs;
using testing::TemporaryState;

constexpr int kPowerLosses = 40;  // for a commit; TRAIND_TEST_SCALE multiplies it for longer runs
constexpr int kWrites = 60;

int Scaled(int times) {
  const char* scale = std::getenv("TRAIND_TEST_SCALE");
  return scale == nullptr ? times : times * std::max(1, std::atoi(scale));
}

// Two rows that belong together.
Status WritePair(Transaction& transaction, int64_t number) {
  for (const char* half : {"a", "b"}) {
    TRAIND_TRY(transaction.Run("INSERT INTO _settings(name, value) VALUES (?1, ?2)",
                               {std::to_string(number) + half, std::string(500, 'x')}));
  }
  return {};
}

MetricRow Row(int64_t step) {
  MetricRow row;
  row.step = step;
  return row;
}

int64_t Count(Connection& connection, std::string_view sql, const std::vector<Cell>& arguments = {}) {
  const auto row = connection.QueryRow(sql, arguments);
  assert_ok(row);
  return std::get<int64_t>((**row)[0]);
}

// Every acknowledged pair with the metrics before it; no half of any pair.
void CheckServed(const std::string& path, const std::vector<int64_t>& acknowledged) {
  auto catalog = Catalog::Open(path);
  assert_ok(catalog);
  auto reader = (*catalog)->OpenReader();
  assert_ok(reader);
  for (const int64_t number : acknowledged) {
    const std::string name = std::to_string(number);
    assert_int_equal(Count(**reader, "SELECT count(*) FROM main._settings WHERE name IN (?1, ?2)",
                           {name + "a", name + "b"}),
                     2);
    assert_int_equal(Count(**reader, "SELECT count(*) FROM metrics._metrics WHERE step = ?1", {number}), 1);
  }
  assert_int_equal(Count(**reader, "SELECT count(*) % 2 FROM main._settings"), 0);
  assert_ok((*catalog)->Write([](Transaction& t) { return WritePair(t, 1000000); }));
}

// Writes until all is done; numbers of what was acknowledged while `counts` held.
template <typename Counts>
std::vector<int64_t> WriteMany(Catalog& catalog, const Counts& counts) {
  std::vector<int64_t> acknowledged;
  for (int64_t number = 1; number <= kWrites; ++number) {
    catalog.SubmitMetrics(1, {Row(number)}, true);
    std::atomic<bool> done{false};
    catalog.Submit([number](Transaction& t) { return WritePair(t, number); },
                   [&](const Status& status) {
                     if (status.ok() && counts()) acknowledged.push_back(number);
                     done = true;
                   });
    while (!done) usleep(50);
  }
  return acknowledged;
}

void PowerLossAtAnyWrite(void**) {
  CrashVfs& vfs = CrashVfs::Instance();
  std::mt19937_64 random(20261130);
  int64_t most = 1;  // operations of one run, opening and closing included
  for (int round = 0; round < Scaled(kPowerLosses); ++round) {
    TemporaryState state;
    vfs.Reset();
    if (round > 0) vfs.CaptureAt(1 + static_cast<int64_t>(random() % static_cast<uint64_t>(most)));
    std::vector<int64_t> acknowledged;
    {
      auto catalog = Catalog::Open(state.path(), {CrashVfs::kName});
      assert_ok(catalog);
      acknowledged = WriteMany(**catalog, [&] { return !vfs.captured(); });
    }
    if (round == 0) assert_int_equal(acknowledged.size(), kWrites);
    most = std::max(most, vfs.operations());
    const std::string left = state.path() + "/left";
    std::filesystem::create_directory(left);
    vfs.Restore(state.path(), left, random);
    CheckServed(left, acknowledged);
  }
}

// The child's exit code: 0, kCatalogFailureExitCode, or 3 if the catalog did not open.
int RunFailing(const std::string& path, int64_t fail_at, int code, bool for_ever,
               std::vector<int64_t>* acknowledged) {
  int ends[2];
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(4);
    CrashVfs::Instance().Reset();
    CrashVfs::Instance().FailAt(fail_at, code, for_ever);
    auto catalog = Catalog::Open(path, {CrashVfs::kName});
    if (!catalog.ok()) _exit(3);
    for (int64_t number = 1; number <= 12; ++number) {
      (*catalog)->SubmitMetrics(1, {Row(number)}, true);
      const Status status = (*catalog)->Write([number](Transaction& t) { return WritePair(t, number); });
      if (status.ok() && write(ends[1], &number, sizeof number) != sizeof number) _exit(4);
    }
    catalog = Status(ErrorCode::IO, "closed");  // closing may fail too
    _exit(0);
  }
  close(ends[1]);
  int64_t number = 0;
  while (read(ends[0], &number, sizeof number) == sizeof number) acknowledged->push_back(number);
  close(ends[0]);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

void AnOperationFails(void**) {
  int64_t most = 0;
  {
    TemporaryState state;
    CrashVfs::Instance().Reset();
    auto catalog = Catalog::Open(state.path(), {CrashVfs::kName});
    assert_ok(catalog);
    for (int64_t number = 1; number <= 12; ++number) {
      (*catalog)->SubmitMetrics(1, {Row(number)}, true);
      assert_ok((*catalog)->Write([number](Transaction& t) { return WritePair(t, number); }));
    }
    catalog = Status(ErrorCode::IO, "closed");
    most = CrashVfs::Instance().operations();
  }
  int ended = 0;
  const int64_t stride = std::max<int64_t>(1, 7 / Scaled(1));
  for (const bool for_ever : {false, true}) {
    for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
      for (int64_t at = 1; at <= most; at += stride) {
        TemporaryState state;
        std::vector<int64_t> acknowledged;
        const int exit_code = RunFailing(state.path(), at, code, for_ever, &acknowledged);
        assert_true(exit_code == 0 || exit_code == 3 || exit_code == kCatalogFailureExitCode);
        if (exit_code == kCatalogFailureExitCode) ++ended;
        CheckServed(state.path(), acknowledged);
      }
    }
  }
  assert_true(ended > 0);  // failing syncs end the process
}

void AFullDiskIsAnErrorUntilThereIsSpace(void**) {
  TemporaryState state;
  CrashVfs& vfs = CrashVfs::Instance();
  vfs.Reset();
  auto catalog = Catalog::Open(state.path(), {CrashVfs::kName});
  assert_ok(catalog);
  assert_ok((*catalog)->Write([](Transaction& t) { return WritePair(t, 1); }));
  vfs.FailAt(vfs.operations() + 1, SQLITE_FULL, true);
  (*catalog)->SubmitMetrics(1, {Row(7)}, true);
  for (int64_t number = 2; number < 5; ++number) {
    assert_code((*catalog)->Write([number](Transaction& t) { return WritePair(t, number); }),
                ErrorCode::DISK_FULL);
  }
  vfs.FailAt(0, SQLITE_OK, false);
  assert_ok((*catalog)->Write([](Transaction& t) { return WritePair(t, 9); }));
  auto reader = (*catalog)->OpenReader();
  assert_ok(reader);
  assert_int_equal(Count(**reader, "SELECT count(*) FROM main._settings"), 4);
  assert_int_equal(Count(**reader, "SELECT count(*) FROM sys_metrics"), 1);  // kept until there was space
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(PowerLossAtAnyWrite),
      cmocka_unit_test(AnOperationFails),
      cmocka_unit_test(AFullDiskIsAnErrorUntilThereIsSpace),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
