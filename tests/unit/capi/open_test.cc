// Opening and closing: private daemons, sockets, autostart, and what the host program must not notice.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/unit/capi/fixture.h"

namespace {

volatile sig_atomic_t child_signals = 0;

void count_child_signal(int) {
  child_signals = child_signals + 1;
}

std::string Info(traind_conn* conn, const char* key) {
  const char* value = traind_conn_info(conn, key);
  return value == nullptr ? "NULL" : value;
}

std::string Message(traind_conn* conn) {
  return traind_errmsg(conn);
}

struct ProcessInfo {
  std::string number, name, state = "gone";
  pid_t parent = -1;
};

ProcessInfo Look(pid_t pid) {
  ProcessInfo info;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  stat >> info.number >> info.name >> info.state >> info.parent;
  return info;
}

// Ended, whether init has taken note or not.
bool HasEnded(pid_t pid) {
  std::string state = Look(pid).state;
  return state == "gone" || state == "Z" || state == "X";
}

void a_private_daemon_lives_and_dies_with_the_handle(void**) {
  Fixture f;
  f.Open();
  pid_t pid = atoi(Info(f.conn, "pid").c_str());
  assert_false(HasEnded(pid));
  assert_text(Info(f.conn, "embedded"), "on");
  assert_text(Info(f.conn, "version"), "0.0.1");
  assert_text(Info(f.conn, "state_directory"), f.directory + "/state");
  assert_text(Info(f.conn, "nonsense"), "NULL");
  char* message = nullptr;
  assert_int_equal(traind_close(f.conn, &message), TRAIND_OK);
  assert_null(message);
  assert_true(HasEnded(pid));
  assert_int_equal(traind_close(f.conn, nullptr), TRAIND_MISUSE);
  f.conn = nullptr;
}

void the_host_gets_no_signal_and_no_child(void**) {
  Fixture f;
  struct sigaction action {
  }, before{};
  action.sa_handler = count_child_signal;
  sigaction(SIGCHLD, &action, &before);
  sigset_t mask_before, mask_after;
  memset(&mask_before, 0, sizeof mask_before);
  memset(&mask_after, 0, sizeof mask_after);
  sigprocmask(SIG_SETMASK, nullptr, &mask_before);
  f.Open();
  pid_t pid = atoi(Info(f.conn, "pid").c_str());
  assert_int_not_equal(Look(pid).parent, getpid());
  assert_int_not_equal(getsid(pid), getsid(0));
  assert_int_equal(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
  assert_int_equal(traind_close(f.conn, nullptr), TRAIND_OK);
  f.conn = nullptr;
  sigprocmask(SIG_SETMASK, nullptr, &mask_after);
  assert_memory_equal(&mask_before, &mask_after, sizeof mask_before);
  assert_int_equal(child_signals, 0);
  sigaction(SIGCHLD, &before, nullptr);
}

void the_daemon_inherits_no_descriptors_and_no_ignored_signals(void**) {
  Fixture f;
  int leaked = open("/dev/zero", O_RDONLY);
  signal(SIGINT, SIG_IGN);
  f.Open();
  signal(SIGINT, SIG_DFL);
  std::string proc = "/proc/" + Info(f.conn, "pid");
  for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd")) {
    assert_true(std::filesystem::read_symlink(entry) != "/dev/zero");
  }
  std::ifstream status(proc + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigIgn:") || line.starts_with("SigBlk:")) {
      assert_true(line.find_first_not_of("SigInBlk:\t0") == std::string::npos);
    }
  }
  close(leaked);
}

void closing_says_what_was_live(void**) {
  Fixture f;
  setenv("FAKE_LIVE_JOB", "1", 1);
  f.Open();
  unsetenv("FAKE_LIVE_JOB");
  char* message = nullptr;
  assert_int_equal(traind_close(f.conn, &message), TRAIND_OK);
  f.conn = nullptr;
  assert_text(message,
              "job 1 stopped at step 40; it goes on when " + f.directory + "/state is opened; use WAIT");
  traind_free(message);
}

void opening_waits_for_a_daemon_that_leaves(void**) {
  Fixture f;
  std::string state = f.directory + "/state";
  mkdir(state.c_str(), 0700);
  int lock = open((state + "/traind.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  assert_int_equal(pwrite(lock, "1, which is leaving\n", 20, 0), 20);
  std::thread leaving([lock] {
    usleep(300000);
    close(lock);
  });
  f.Open();
  leaving.join();
}

void a_directory_in_use_is_refused_in_time(void**) {
  Fixture f;
  std::string state = f.directory + "/state";
  mkdir(state.c_str(), 0700);
  int lock = open((state + "/traind.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(flock(lock, LOCK_EX), 0);
  assert_int_equal(traind_config_set(f.config, "open_timeout", "200ms"), TRAIND_OK);
  assert_int_equal(traind_open(f.embed().c_str(), f.config, &f.conn), TRAIND_STATE_IN_USE);
  assert_text(Message(f.conn), "in use by process 1");
  close(lock);
}

void what_keeps_the_daemon_from_starting_is_told(void**) {
  Fixture f;
  setenv("FAKE_COMPLAINT", "traind: the moon is full", 1);
  assert_int_equal(traind_open(f.embed().c_str(), f.config, &f.conn), TRAIND_DAEMON_UNREACHABLE);
  unsetenv("FAKE_COMPLAINT");
  assert_non_null(strstr(traind_errmsg(f.conn), "did not start: traind: the moon is full"));
  traind_close(f.conn, nullptr);
  assert_int_equal(traind_config_set(f.config, "traind", "/no/such/program"), TRAIND_OK);
  assert_int_equal(traind_open(f.embed().c_str(), f.config, &f.conn), TRAIND_DAEMON_UNREACHABLE);
  assert_text(Message(f.conn), "cannot start /no/such/program: No such file or directory");
}

void a_failed_opening_carries_its_error_and_nothing_else(void**) {
  Fixture f;
  std::string missing = "unix:" + f.directory + "/none.sock";
  assert_int_equal(traind_open(missing.c_str(), f.config, &f.conn), TRAIND_DAEMON_UNREACHABLE);
  traind_error* error = nullptr;
  assert_int_equal(traind_error_get(f.conn, &error), TRAIND_OK);
  assert_text(traind_error_name(error), "DAEMON_UNREACHABLE");
  assert_int_equal(traind_exit_code(traind_error_code(error)), TRAIND_EXIT_UNREACHABLE);
  assert_true(*traind_error_hint(error) != '\0');
  traind_error_free(error);
  traind_stmt* stmt = nullptr;
  assert_int_equal(traind_prepare(f.conn, "ROWS 1", -1, &stmt, nullptr), TRAIND_DAEMON_UNREACHABLE);
  assert_null(stmt);
  assert_int_equal(traind_fd(f.conn), -1);
  assert_int_equal(traind_open("nonsense", nullptr, &f.conn), TRAIND_INVALID_OPTION);
}

void protocols_that_do_not_fit_are_told(void**) {
  Fixture f;
  setenv("FAKE_PROTOCOL", "99", 1);
  assert_int_equal(traind_open(f.embed().c_str(), f.config, &f.conn), TRAIND_PROTOCOL_MISMATCH);
  unsetenv("FAKE_PROTOCOL");
  assert_text(Message(f.conn), "the daemon speaks protocol 99");
}

void autostart_starts_only_the_default_daemon(void**) {
  Fixture f;
  assert_int_equal(traind_open("", f.config, &f.conn), TRAIND_DAEMON_UNREACHABLE);
  traind_close(f.conn, nullptr);
  assert_int_equal(traind_config_set(f.config, "autostart", "on"), TRAIND_OK);
  std::string named = "unix:" + f.directory + "/traind/traind.sock";
  assert_int_equal(traind_open(named.c_str(), f.config, &f.conn), TRAIND_DAEMON_UNREACHABLE);
  traind_close(f.conn, nullptr);
  f.OpenAt("");
  pid_t first = atoi(Info(f.conn, "pid").c_str());
  assert_int_equal(traind_close(f.conn, nullptr), TRAIND_OK);
  f.OpenAt("");  // the same daemon: it does not end with a handle
  assert_int_equal(atoi(Info(f.conn, "pid").c_str()), first);
  assert_int_equal(kill(first, SIGTERM), 0);
}

void two_that_start_it_at_once_reach_the_same(void**) {
  Fixture f;
  assert_int_equal(traind_config_set(f.config, "autostart", "on"), TRAIND_OK);
  pid_t pids[3] = {};
  std::thread threads[3];
  for (int i = 0; i < 3; ++i) {
    threads[i] = std::thread([&, i] {
      traind_conn* conn = nullptr;
      if (traind_open("", f.config, &conn) == TRAIND_OK) pids[i] = atoi(traind_conn_info(conn, "pid"));
      traind_close(conn, nullptr);
    });
  }
  for (std::thread& thread : threads) thread.join();
  assert_true(pids[0] > 0);
  assert_int_equal(pids[0], pids[1]);
  assert_int_equal(pids[0], pids[2]);
  kill(pids[0], SIGTERM);
}

void a_forked_child_cannot_use_the_connection(void**) {
  Fixture f;
  f.Open();
  pid_t child = fork();
  if (child == 0)
    _exit(traind_process(f.conn) == TRAIND_MISUSE && traind_close(f.conn, nullptr) == TRAIND_MISUSE ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  assert_int_equal(f.Run("NOTHING"), TRAIND_DONE);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_private_daemon_lives_and_dies_with_the_handle),
      cmocka_unit_test(the_host_gets_no_signal_and_no_child),
      cmocka_unit_test(the_daemon_inherits_no_descriptors_and_no_ignored_signals),
      cmocka_unit_test(closing_says_what_was_live),
      cmocka_unit_test(opening_waits_for_a_daemon_that_leaves),
      cmocka_unit_test(a_directory_in_use_is_refused_in_time),
      cmocka_unit_test(what_keeps_the_daemon_from_starting_is_told),
      cmocka_unit_test(a_failed_opening_carries_its_error_and_nothing_else),
      cmocka_unit_test(protocols_that_do_not_fit_are_told),
      cmocka_unit_test(autostart_starts_only_the_default_daemon),
      cmocka_unit_test(two_that_start_it_at_once_reach_the_same),
      cmocka_unit_test(a_forked_child_cannot_use_the_connection),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
