// PosixIo when the system interrupts, gives less than asked for, or fails at any one call.
//
// The system calls are replaced in this program: its own definitions come before the C library's.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>

#include "engine/base/io.h"
#include "engine/base/publish.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace {

// What the replaced calls do while `active`.
struct Trouble {
  bool active = false;
  bool interrupts = false;  // every call that may be fails with EINTR the first time
  size_t most_at_once = 0;  // transfers are cut to so many bytes
  int64_t fail_at = 0;      // the call of this number fails …
  int fail_errno = 0;       // … with this
  int64_t calls = 0;        // seen so far
  bool just_interrupted = false;
} trouble;

// True if the call is to fail; errno is set.
bool Fails(bool may_be_interrupted = true) {
  if (!trouble.active) return false;
  if (trouble.interrupts && may_be_interrupted) {
    trouble.just_interrupted = !trouble.just_interrupted;
    if (trouble.just_interrupted) {
      errno = EINTR;
      return true;
    }
  }
  if (++trouble.calls != trouble.fail_at) return false;
  errno = trouble.fail_errno;
  return true;
}

size_t Cut(size_t bytes) {
  return trouble.active && trouble.most_at_once > 0 ? std::min(bytes, trouble.most_at_once) : bytes;
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
EXPORTED int fsync(int descriptor) {
  return Fails() ? -1 : static_cast<int>(syscall(SYS_fsync, descriptor));
}
EXPORTED int ftruncate(int descriptor, off_t size) noexcept {
  return Fails() ? -1 : static_cast<int>(syscall(SYS_ftruncate, descriptor, size));
}
EXPORTED int rename(const char* from, const char* to) noexcept {
  return Fails(false) ? -1 : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace traind {
namespace {

constexpr char kOld[] = "the old content";
constexpr char kNew[] = "the new content, which is longer";

Status PublishUnderTrouble(const testing::Scratch& scratch, const Trouble& wanted) {
  trouble = wanted;
  trouble.active = true;
  Status status = PublishFile(PosixIo(), scratch / "f", kNew);
  trouble.active = false;
  return status;
}

void interruptions_are_not_noticed(void**) {
  const testing::Scratch scratch;
  assert_ok(PublishUnderTrouble(scratch, {.interrupts = true}));
  trouble = {.active = true, .interrupts = true};
  const auto content = ReadWholeFile(PosixIo(), scratch / "f", 100);
  trouble.active = false;
  assert_ok(content);
  assert_text(*content, kNew);
}

void short_transfers_are_finished(void**) {
  for (const size_t most : {size_t{1}, size_t{7}}) {
    const testing::Scratch scratch;
    assert_ok(PublishUnderTrouble(scratch, {.interrupts = true, .most_at_once = most}));
    trouble = {.active = true, .most_at_once = most};
    const auto content = ReadWholeFile(PosixIo(), scratch / "f", 100);
    trouble.active = false;
    assert_ok(content);
    assert_text(*content, kNew);
  }
}

// Every system call of a publish fails in turn: the answer is an error with its reason, the content the old
// or the new one, and the next try succeeds.
void each_system_call_fails(void**) {
  int64_t call = 1;
  for (;; ++call) {
    for (const int reason : {EIO, ENOSPC, EACCES, EMFILE}) {
      const testing::Scratch scratch;
      testing::WriteFile(scratch / "f", kOld);
      const Status status =
          PublishUnderTrouble(scratch, {.most_at_once = 9, .fail_at = call, .fail_errno = reason});
      const std::string content = testing::ReadFile(scratch / "f");
      if (trouble.calls < call) {  // all calls have had their turn
        assert_ok(status);
        assert_text(content, kNew);
        assert_true(call > 8);
        return;
      }
      assert_int_equal(status.code(), reason == ENOSPC ? ErrorCode::DISK_FULL : ErrorCode::IO);
      assert_true(status.message().find(scratch.path()) != std::string::npos);
      assert_true(content == kOld || content == kNew);
      assert_true(*PosixIo().List(scratch.path()) == std::vector<std::string>{"f"});
      assert_ok(PublishUnderTrouble(scratch, {}));
      assert_text(testing::ReadFile(scratch / "f"), kNew);
    }
  }
}

void a_failed_read_says_so(void**) {
  const testing::Scratch scratch;
  testing::WriteFile(scratch / "f", kOld);
  for (int64_t call = 1; call <= 2; ++call) {
    trouble = {.active = true, .fail_at = call, .fail_errno = EIO};
    const auto content = ReadWholeFile(PosixIo(), scratch / "f", 100);
    trouble.active = false;
    assert_code(content, ErrorCode::IO);
  }
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(interruptions_are_not_noticed),
      cmocka_unit_test(short_transfers_are_finished),
      cmocka_unit_test(each_system_call_fails),
      cmocka_unit_test(a_failed_read_says_so),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
