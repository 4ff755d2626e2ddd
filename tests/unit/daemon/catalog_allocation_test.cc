// Memory that runs out inside SQLite, at any allocation of a write, a query or an opening: an error or an end
// of the process, never a lost or half change.
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "daemon/catalog/models.h"
#include "daemon/catalog/query_memory.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

sqlite3_mem_methods inner;
std::atomic<int64_t> until_failure = 0;  // 0: none fails
std::atomic<bool> failed = false;

bool Fails() {
  if (until_failure.load() == 0 || until_failure.fetch_sub(1) != 1) return false;
  failed = true;
  return true;
}
void* Allocate(int bytes) {
  return Fails() ? nullptr : inner.xMalloc(bytes);
}
void* Reallocate(void* memory, int bytes) {
  return Fails() ? nullptr : inner.xRealloc(memory, bytes);
}

// Over the methods that the daemon installs, and before SQLite is used.
void InstallAllocator() {
  QueryMemory::Install();
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &inner);
  sqlite3_mem_methods ours = inner;
  ours.xMalloc = &Allocate;
  ours.xRealloc = &Reallocate;
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &ours), SQLITE_OK);
}

void FailAt(int64_t number) {
  failed = false;
  until_failure = number;
}

// What a process reports of itself; an ended one has reported nothing.
constexpr int kAcknowledged = 1;
constexpr int kReached = 2;

Status InsertNamed(Transaction& transaction, int64_t number) {
  ModelSpec spec;
  spec.hidden_size = 64;
  spec.num_hidden_layers = 1;
  spec.num_attention_heads = spec.num_key_value_heads = 4;
  return InsertModel(transaction, "m" + std::to_string(number), spec, 0).status();
}

// Writes a model, then queries, with the n-th allocation of both failing.
int WriteAndQuery(const std::string& path, int64_t number) {
  auto catalog = Catalog::Open(path);
  if (!catalog.ok()) return 100;
  auto reader = (*catalog)->OpenReader();
  if (!reader.ok()) return 101;
  FailAt(number);
  const Status written = (*catalog)->Write([&](Transaction& t) { return InsertNamed(t, number); });
  const auto table = (*reader)->UserQuery("SELECT name, versions FROM sys_models ORDER BY name", {}, 10);
  FailAt(0);
  // Whatever went wrong, the next one works.
  if (!(*reader)->UserQuery("SELECT count(*) FROM sys_jobs", {}, 1).ok()) return 102;
  if (!(*catalog)->Write([](Transaction& t) { return t.Run("DELETE FROM _settings"); }).ok()) return 103;
  (void)table;
  return (written.ok() ? kAcknowledged : 0);
}

int OpenOnly(const std::string& path, int64_t number) {
  FailAt(number);
  const auto catalog = Catalog::Open(path);
  if (catalog.ok()) (void)(*catalog)->OpenReader().ok();
  const bool reached = failed;
  FailAt(0);
  return reached ? kReached : 0;
}

// Runs `work` in a process of its own: what it reports, or -1 if it was aborted.
template <typename Work>
int InProcess(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  assert_int_equal(WTERMSIG(status), SIGABRT);
  return -1;
}

// How many allocations a write and a query make.
int64_t CountAllocations(const std::string& path) {
  const int64_t many = 1000000;
  auto catalog = Catalog::Open(path);
  assert_ok(catalog);
  auto reader = (*catalog)->OpenReader();
  assert_ok(reader);
  FailAt(many);
  assert_ok((*catalog)->Write([](Transaction& t) { return InsertNamed(t, 0); }));
  assert_ok((*reader)->UserQuery("SELECT name, versions FROM sys_models ORDER BY name", {}, 10));
  const int64_t count = many - until_failure.load();
  FailAt(0);
  return count;
}

void CheckWhole(TemporaryState& state, const std::vector<int64_t>& acknowledged) {
  assert_ok(state.Open());
  auto reader = state.NewReader();
  const auto check = reader->Query("PRAGMA main.integrity_check");
  assert_ok(check);
  assert_text(std::get<std::string>(check->front().front()), "ok");
  for (const int64_t number : acknowledged) {
    const auto model = LookUpModel(*reader, "m" + std::to_string(number));
    assert_ok(model);
    assert_true(model->has_value());
  }
  state.Close();
}

void a_write_and_a_query(void**) {
  TemporaryState state;
  const std::string counting = state.path() + "/counting";
  // In a process of its own too: this one must not have SQLite's threads when it forks.
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(InProcess([&] {
                     std::filesystem::create_directory(counting);
                     const int64_t count = CountAllocations(counting);
                     return write(ends[1], &count, sizeof count) == sizeof count ? 0 : 1;
                   }),
                   0);
  int64_t count = 0;
  assert_int_equal(read(ends[0], &count, sizeof count), sizeof count);
  assert_true(count > 50);
  std::vector<int64_t> acknowledged;
  int refused = 0;
  for (int64_t number = 1; number <= count; ++number) {
    const int said = InProcess([&] { return WriteAndQuery(state.path(), number); });
    if (said > kAcknowledged) fail_msg("allocation %d: %d", static_cast<int>(number), said);
    if (said == kAcknowledged) acknowledged.push_back(number);
    refused += said != kAcknowledged;
  }
  assert_true(refused > 5);
  CheckWhole(state, acknowledged);
}

void an_opening(void**) {
  TemporaryState state;
  constexpr int64_t kStride = 37;  // an opening makes thousands
  for (int64_t number = 1;; number += kStride) {
    const int said = InProcess([&] { return OpenOnly(state.path(), number); });
    if (said == 0) break;
  }
  CheckWhole(state, {});
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  InstallAllocator();
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_write_and_a_query),
      cmocka_unit_test(an_opening),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
