// The state directory: what is refused before anything is written, the lock, the socket's name.
#include "daemon/state_directory.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "engine/base/io.h"
#include "engine/base/limits.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind::daemon {
namespace {

using testing::Scratch;

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

void a_new_directory_is_private(void**) {
  const Scratch scratch;
  const std::string path = scratch / "a/b/state";
  {
    const auto state = StateDirectory::Open(path);
    assert_ok(state);
    assert_int_equal(ModeOf(path), 0700);
    assert_text(testing::ReadFile(path + "/traind.pid"), std::to_string(getpid()) + "\n");
  }
  assert_true(PosixIo().Stat(path + "/traind.pid")->kind == FileKind::kMissing);
}

void one_daemon_at_a_time(void**) {
  const Scratch scratch;
  const std::string path = scratch / "state";
  {
    const auto first = StateDirectory::Open(path);
    assert_ok(first);
    const auto second = StateDirectory::Open(path);
    assert_code(second, ErrorCode::STATE_IN_USE);
    assert_true(second.status().message().ends_with("process " + std::to_string(getpid())));
    first->Describe(", which is leaving");
    assert_true(StateDirectory::Open(path).status().message().ends_with(", which is leaving"));
  }
  assert_text(testing::ReadFile(path + "/traind.lock"), "");
  assert_ok(StateDirectory::Open(path));
}

void modes(void**) {
  const Scratch scratch;
  const std::string path = scratch / "state";
  mkdir(path.c_str(), 0755);
  assert_ok(StateDirectory::Open(path));  // new and empty: made private
  assert_int_equal(ModeOf(path), 0700);
  chmod(path.c_str(), 0750);
  assert_code(StateDirectory::Open(path), ErrorCode::STATE_UNUSABLE);  // it has content now
  const std::string open = scratch / "open";
  mkdir(open.c_str(), 0700);
  chmod(open.c_str(), 0777);
  assert_code(StateDirectory::Open(open), ErrorCode::STATE_UNUSABLE);
}

void a_parent_open_to_all_is_refused(void**) {
  const Scratch scratch;
  const std::string parent = scratch / "parent";
  mkdir(parent.c_str(), 0700);
  chmod(parent.c_str(), 0777);
  const auto refused = StateDirectory::Open(parent + "/state");
  assert_code(refused, ErrorCode::STATE_UNUSABLE);
  assert_true(refused.status().message().find(parent) != std::string::npos);
  chmod(parent.c_str(), 01777);  // as /tmp: nobody can rename what is ours
  assert_ok(StateDirectory::Open(parent + "/state"));
}

void somebody_elses_directory_is_refused(void**) {
  if (geteuid() != 0) skip();
  const Scratch scratch;
  const std::string path = scratch / "state";
  mkdir(path.c_str(), 0700);
  if (chown(path.c_str(), 12345, 12345) != 0) fail();
  assert_code(StateDirectory::Open(path), ErrorCode::STATE_UNUSABLE);
}

void no_directory_at_all(void**) {
  const Scratch scratch;
  scratch.Write("file", "x");
  assert_code(StateDirectory::Open(scratch / "file"), ErrorCode::STATE_UNUSABLE);
  assert_code(StateDirectory::Open(scratch / "file/below"), ErrorCode::STATE_UNUSABLE);
  assert_code(StateDirectory::Open("/proc/state"), ErrorCode::STATE_UNUSABLE);
}

void the_sockets_path_has_its_limit(void**) {
  const Scratch scratch;
  const size_t room =
      static_cast<size_t>(kMaxSocketPathBytes) - std::strlen("/traind.sock") - scratch.path().size() - 1;
  const std::string fits = scratch / std::string(room, 'd');
  assert_ok(StateDirectory::Open(fits)->Listen());
  assert_code(StateDirectory::Open(fits + "d"), ErrorCode::STATE_UNUSABLE);
}

void a_dead_daemons_socket_is_replaced(void**) {
  const Scratch scratch;
  const auto state = StateDirectory::Open(scratch / "state");
  assert_ok(state);
  assert_ok(state->Listen());  // closed at once, its name stays
  const auto again = state->Listen();
  assert_ok(again);
  assert_int_equal(ModeOf(state->socket_path()), 0600);
  state->StopListening();
  assert_true(PosixIo().Stat(state->socket_path())->kind == FileKind::kMissing);
}

void foreign_files_are_not_replaced(void**) {
  const Scratch scratch;
  const auto state = StateDirectory::Open(scratch / "state");
  assert_ok(state);
  testing::WriteFile(state->socket_path(), "mine");
  assert_code(state->Listen(), ErrorCode::STATE_UNUSABLE);
  assert_text(testing::ReadFile(state->socket_path()), "mine");
  unlink(state->socket_path().c_str());
  const std::string target = scratch / "target";
  assert_int_equal(symlink(target.c_str(), state->socket_path().c_str()), 0);
  assert_code(state->Listen(), ErrorCode::STATE_UNUSABLE);
  assert_true(PosixIo().Stat(target)->kind == FileKind::kMissing);
}

void a_lock_that_is_a_link_is_refused(void**) {
  const Scratch scratch;
  const std::string path = scratch / "state";
  mkdir(path.c_str(), 0700);
  const std::string victim = scratch.Write("victim", "content");
  assert_int_equal(symlink(victim.c_str(), (path + "/traind.lock").c_str()), 0);
  assert_code(StateDirectory::Open(path), ErrorCode::STATE_UNUSABLE);
  assert_text(testing::ReadFile(victim), "content");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_new_directory_is_private),
      cmocka_unit_test(one_daemon_at_a_time),
      cmocka_unit_test(modes),
      cmocka_unit_test(a_parent_open_to_all_is_refused),
      cmocka_unit_test(somebody_elses_directory_is_refused),
      cmocka_unit_test(no_directory_at_all),
      cmocka_unit_test(the_sockets_path_has_its_limit),
      cmocka_unit_test(a_dead_daemons_socket_is_replaced),
      cmocka_unit_test(foreign_files_are_not_replaced),
      cmocka_unit_test(a_lock_that_is_a_link_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
