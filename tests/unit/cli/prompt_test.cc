// The prompt, on a pseudo-terminal.
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/unit/cli/program.h"

namespace {

constexpr int kPatienceMs = 60000;  // until a test gives up waiting for what must come

class Prompt {
 public:
  explicit Prompt(const Shell& shell) {
    winsize size{24, 80, 0, 0};
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    setenv("TERM", "xterm", 1);
    execl(TRAINQL, TRAINQL, "--embed", (shell.directory + "/state").c_str(), static_cast<char*>(nullptr));
    _exit(99);
  }
  Prompt(const Prompt&) = delete;
  Prompt& operator=(const Prompt&) = delete;
  ~Prompt() { close(terminal_); }

  void Type(const std::string& text) {
    assert_int_equal(write(terminal_, text.data(), text.size()), text.size());
  }

  // Reads until `text` has come; what came since the last call.
  std::string Until(const std::string& text) {
    while (seen_.find(text, from_) == std::string::npos) {
      pollfd entry{terminal_, POLLIN, 0};
      char buffer[4096];
      ssize_t count = poll(&entry, 1, kPatienceMs) > 0 ? read(terminal_, buffer, sizeof buffer) : 0;
      if (count <= 0) {
        fprintf(stderr, "no '%s' in:\n%s\n", text.c_str(), seen_.c_str());
        fail();
      }
      seen_.append(buffer, static_cast<size_t>(count));
    }
    size_t end = seen_.find(text, from_) + text.size();
    std::string part = seen_.substr(from_, end - from_);
    from_ = end;
    return part;
  }

  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Ctrl-D, again while nothing comes of it: one that arrives while the line editor is still taking hold of
  // the terminal is lost, as it is for a person. The exit code.
  int Leave() {
    for (int press = 0; press < 100; ++press) {
      if (write(terminal_, "\x04", 1) != 1) break;
      for (int tick = 0; tick < 50; ++tick) {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == pid_) {
          return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        usleep(10000);
      }
    }
    return Wait();
  }

  void Signal(int number) { kill(pid_, number); }

 private:
  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string seen_;
  size_t from_ = 0;
};

void statements_run_when_nothing_is_open(void**) {
  Shell shell;
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Type("ROWS\n");
  prompt.Until("...> ");
  prompt.Type(" 1;\n");
  prompt.Until("(1 row)");
  prompt.Until("trainql> ");
  prompt.Type("ECHO 'open\n");
  prompt.Until("'> ");
  prompt.Type("text';\n");
  prompt.Until("note: a notice");
  prompt.Until("trainql> ");
  prompt.Type("BAD;\n");
  prompt.Until("unexpected BAD");
  prompt.Until("trainql> ");
  prompt.Type(".mode csv\nROWS 1;\n");
  prompt.Until("1,row 1,1.5");
  prompt.Until("trainql> ");
  prompt.Type(".help\n");
  prompt.Until(".watch");
  prompt.Until("trainql> ");
  prompt.Type(".quit\n");
  assert_int_equal(prompt.Wait(), 0);
  struct stat info {};
  assert_int_equal(stat((shell.directory + "/state/trainql_history").c_str(), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0600);
}

void history_outlives_the_shell(void**) {
  Shell shell;
  {
    Prompt prompt(shell);
    prompt.Until("trainql> ");
    prompt.Type("ROWS 3;\n");
    prompt.Until("(3 rows)");
    prompt.Until("trainql> ");
    assert_int_equal(prompt.Leave(), 0);
  }
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Type("\x1b[A\n");
  prompt.Until("(3 rows)");
  prompt.Until("trainql> ");
  prompt.Type(".history\n");
  prompt.Until("ROWS 3;");
  prompt.Until("trainql> ");
  assert_int_equal(prompt.Leave(), 0);
}

void ctrl_c_ends_the_statement_and_not_the_shell(void**) {
  Shell shell;
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Type("HANG;\n");
  prompt.Until("RUNNING");
  prompt.Type("\x03");
  prompt.Until("interrupted");
  prompt.Until("trainql> ");
  prompt.Type("ROWS 1");
  prompt.Until("ROWS 1");
  prompt.Type("\x03");
  prompt.Until("trainql> ");
  prompt.Type("ROWS 2;\n");
  prompt.Until("(2 rows)");
  prompt.Until("trainql> ");
  assert_int_equal(prompt.Leave(), 0);
}

void sigterm_ends_the_shell(void**) {
  Shell shell;
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Signal(SIGTERM);
  assert_int_equal(prompt.Wait(), 128 + SIGTERM);
}

void events_are_printed_above_the_prompt(void**) {
  Shell shell;
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Type("LATER;\n");
  prompt.Until("trainql> ");
  prompt.Type("ROWS");
  prompt.Until("ROWS");
  prompt.Until("job 7: RUNNING");
  prompt.Until("ROWS");
  prompt.Type(" 2;\n");
  prompt.Until("(2 rows)");
  prompt.Until("trainql> ");
  assert_int_equal(prompt.Leave(), 0);
}

void a_lost_daemon_is_opened_again(void**) {
  Shell shell;
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Type("DIE;\n");
  prompt.Until("DAEMON_LOST");
  prompt.Until("connecting again");
  prompt.Until("trainql> ");
  prompt.Type("ROWS 2;\n");
  prompt.Until("(2 rows)");
  prompt.Until("trainql> ");
  assert_int_equal(prompt.Leave(), 0);
}

void words_are_completed_from_the_grammar(void**) {
  Shell shell;
  Prompt prompt(shell);
  prompt.Until("trainql> ");
  prompt.Type("EC\t;\n");
  prompt.Until("note: a notice");
  prompt.Until("trainql> ");
  prompt.Type("ECHO MODEL ni\t;\n");
  prompt.Until("\"ECHO MODEL nightly\"");
  prompt.Until("trainql> ");
  prompt.Type(".pl\tloss 7\n");
  prompt.Until("loss of job 7");
  prompt.Until("trainql> ");
  assert_int_equal(prompt.Leave(), 0);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(statements_run_when_nothing_is_open),
      cmocka_unit_test(history_outlives_the_shell),
      cmocka_unit_test(ctrl_c_ends_the_statement_and_not_the_shell),
      cmocka_unit_test(sigterm_ends_the_shell),
      cmocka_unit_test(events_are_printed_above_the_prompt),
      cmocka_unit_test(a_lost_daemon_is_opened_again),
      cmocka_unit_test(words_are_completed_from_the_grammar),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
