// Checkpoints on the machine's file system when a process is killed inside one, at each of its system calls,
// and when any one call fails, is interrupted or does less than asked for.
//
// The system calls are replaced in this program: its own definitions come before the C library's. Syncs are
// counted and not made: what a kill leaves is what the system has, synced or not (checkpoint_test takes the
// power away).
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>

#include "tests/support/scratch.h"
#include "tests/unit/train/checkpoint_history.h"

#include "tests/support/test.h"

namespace {

// What the replaced calls do while `active`. The run's thread sets it while nobody writes.
struct Trouble {
  std::atomic<bool> active = false;
  std::atomic<int64_t> calls = 0;        // seen so far
  std::atomic<int64_t> kill_at = 0;      // before the call of this number the process is killed
  std::atomic<int64_t> fail_at = 0;      // the call of this number fails …
  std::atomic<int> fail_errno = 0;       // … with this
  std::atomic<bool> for_ever = false;    // and all later ones
  std::atomic<size_t> most_at_once = 0;  // transfers are cut to so many bytes
  std::atomic<bool> interrupts = false;  // every second call fails with EINTR
} trouble;

// True if the call is to fail; errno is set.
bool Fails(bool may_be_interrupted = true) {
  if (!trouble.active) return false;
  const int64_t call = ++trouble.calls;
  if (call == trouble.kill_at) kill(getpid(), SIGKILL);
  if (trouble.interrupts && may_be_interrupted && call % 2 == 1) {
    errno = EINTR;
    return true;
  }
  const int64_t fail_at = trouble.fail_at;
  if (fail_at == 0 || call < fail_at || (call > fail_at && !trouble.for_ever)) return false;
  errno = trouble.fail_errno;
  return true;
}

size_t Cut(size_t bytes) {
  return trouble.active && trouble.most_at_once > 0 ? std::min(bytes, trouble.most_at_once.load()) : bytes;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(arguments, unsigned) : 0u;
  va_end(arguments);
  return Fails() ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
EXPORTED ssize_t write(int descriptor, const void* bytes, size_t size) {
  return Fails() ? -1 : syscall(SYS_write, descriptor, bytes, Cut(size));
}
EXPORTED ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  return Fails() ? -1 : syscall(SYS_pread64, descriptor, bytes, Cut(size), offset);
}
EXPORTED int fsync(int) {
  return Fails() ? -1 : 0;
}
EXPORTED int ftruncate(int descriptor, off_t size) noexcept {
  return Fails() ? -1 : static_cast<int>(syscall(SYS_ftruncate, descriptor, size));
}
EXPORTED int rename(const char* from, const char* to) noexcept {
  return Fails(false) ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
EXPORTED int mkdir(const char* path, mode_t mode) noexcept {
  return Fails(false) ? -1 : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

namespace traind {
namespace {

using testing::History;

constexpr int64_t kBefore = 4;  // saved undisturbed
constexpr int64_t kEnd = 10;
constexpr int64_t kLater = 14;

void Calm() {
  trouble.active = false;
  trouble.calls = 0;
  trouble.kill_at = trouble.fail_at = 0;
  trouble.most_at_once = 0;
  trouble.interrupts = trouble.for_ever = false;
}

// Loads the checkpoint of kBefore, saves three and removes what is too many: the system calls of that.
int64_t CallsOfAnAttempt(bool with_snapshot) {
  const testing::Scratch scratch;
  History history(&PosixIo(), scratch / "c", with_snapshot);
  assert_ok(history.Attempt(kBefore));
  Calm();
  trouble.active = true;
  assert_ok(history.Attempt(kEnd));
  const int64_t calls = trouble.calls;
  Calm();
  history.Check(kEnd);
  assert_true(calls > 100);
  return calls;
}

// A step that a child process tells before it dies.
class SharedStep {
 public:
  SharedStep()
      : step_(static_cast<int64_t*>(
            mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    assert_true(step_ != MAP_FAILED);
    *step_ = -1;
  }
  ~SharedStep() { munmap(step_, sizeof(int64_t)); }
  SharedStep(const SharedStep&) = delete;
  SharedStep& operator=(const SharedStep&) = delete;

  int64_t* get() { return step_; }

 private:
  int64_t* const step_;
};

void SurvivesAKillAtEveryCall(void**) {
  for (const bool with_snapshot : {false, true}) {
    const int64_t calls = CallsOfAnAttempt(with_snapshot);
    for (int64_t number = 1; number <= calls; ++number) {
      const testing::Scratch scratch;
      SharedStep told;
      History history(&PosixIo(), scratch / "c", with_snapshot);
      assert_ok(history.Attempt(kBefore));
      const pid_t child = fork();
      if (child == 0) {
        trouble.kill_at = number;
        trouble.active = true;
        history.told = told.get();
        const bool ok = history.Attempt(kEnd).ok();
        _exit(ok ? 0 : 1);
      }
      int status = 0;
      assert_int_equal(waitpid(child, &status, 0), child);
      assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      history.Check(std::max(*told.get(), kBefore));
      assert_ok(history.Attempt(kLater));
      history.Check();
      assert_int_equal((*history.Newest())->manifest.step, kLater);
    }
  }
}

// Once it may cost a checkpoint; for ever, all of them. Never one that was told, and never the run's own
// later ones.
void SurvivesAFailureOfEveryCall(void**) {
  const int64_t calls = CallsOfAnAttempt(true);
  for (const bool for_ever : {false, true}) {
    for (int64_t number = 1; number <= calls; ++number) {
      const testing::Scratch scratch;
      History history(&PosixIo(), scratch / "c", number % 2 == 0);
      assert_ok(history.Attempt(kBefore));
      trouble.fail_errno = number % 3 == 0 ? ENOSPC : EIO;
      trouble.for_ever = for_ever;
      trouble.fail_at = number;
      trouble.active = true;
      static_cast<void>(history.Attempt(kEnd));
      Calm();
      history.Check();
      assert_ok(history.Attempt(kLater));
      history.Check();
      assert_int_equal((*history.Newest())->manifest.step, kLater);
    }
  }
}

void InterruptionsAndShortTransfersAreNotNoticed(void**) {
  for (const bool with_snapshot : {false, true}) {
    for (const size_t most : {size_t{1}, size_t{13}, size_t{4096}}) {
      const testing::Scratch scratch;
      History history(&PosixIo(), scratch / "c", with_snapshot);
      assert_ok(history.Attempt(kBefore));
      trouble.most_at_once = most;
      trouble.interrupts = true;
      trouble.active = true;
      const Status status = history.Attempt(kEnd);
      Calm();
      assert_ok(status);
      assert_int_equal(history.failed_saves(), 0);
      history.Check(kEnd);
    }
  }
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  // Thousands of directories are made, and nothing of them has to reach a disk.
  if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
  const CMUnitTest tests[] = {
      cmocka_unit_test(SurvivesAKillAtEveryCall),
      cmocka_unit_test(SurvivesAFailureOfEveryCall),
      cmocka_unit_test(InterruptionsAndShortTransfersAreNotNoticed),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
