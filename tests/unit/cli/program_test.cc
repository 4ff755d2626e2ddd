// trainql as a program: streams, exit codes, signals, scripts.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "capi/traind.h"
#include "tests/unit/cli/program.h"

namespace {

void scripts_run_in_the_order_given(void**) {
  Shell shell;
  std::string file = shell.Write("two.tql", "#!/usr/bin/trainql -f\nROWS 2 -- two\n;\n");
  Ran ran = shell.Run({"-o", "jsonl", "-c", "ROWS 1", "-f", file});
  assert_int_equal(ran.code, 0);
  assert_text(ran.err, "");
  assert_int_equal(std::count(ran.out.begin(), ran.out.end(), '\n'), 3);
  Ran stdin_ran = shell.Run({"-o", "csv"}, "ROWS 1;\n");
  ASSERT_RAN(stdin_ran, 0, "id,name,loss,size,age,note\n1,row 1,1.5,1572864,75,\n", "");
}

void a_syntax_error_runs_nothing(void**) {
  Shell shell;
  std::string file = shell.Write("bad.tql", "ROWS 1;\n  BAD;\n");
  Ran ran = shell.Run({"-c", "ROWS 1", "-f", file, "-c", "WORSE"});
  ASSERT_RAN(
      ran, 4, "",
      file +
          ":2:3: SYNTAX: unexpected BAD\n    BAD;\n    ^\n  expected: ROWS, ECHO\n  hint: see HELP\n"
          "-c:1:1: SYNTAX: unexpected WORSE\n  WORSE\n  ^\n  expected: ROWS, ECHO\n  hint: see HELP\n");
}

void the_first_run_time_error_stops(void**) {
  Shell shell;
  Ran ran = shell.Run({"-o", "jsonl", "-c", "NOTHING;\nFAIL ASSERTION_FAILED; ROWS 1"});
  ASSERT_RAN(
      ran, 10, "",
      "-c:2:1: ASSERTION_FAILED: it went wrong\n  FAIL ASSERTION_FAILED; ROWS 1\n  ^\n  hint: do better\n");
}

void exit_codes_are_those_of_the_table(void**) {
  const struct {
    const char* error;
    int code;
  } cases[] = {{"NO_SUCH_MODEL", 1}, {"NO_FEASIBLE_PLAN", 8}, {"BUDGET_TOO_SMALL", 8}, {"JOB_FAILED", 5},
               {"JOB_CANCELLED", 6}, {"BUDGET_EXCEEDED", 7},  {"WAIT_TIMED_OUT", 9},   {"JOB_STOPPED", 11},
               {"STATE_IN_USE", 3},  {"INTERRUPTED", 130},    {"INTERNAL", 1},         {"WORKER_DIED", 5}};
  Shell shell;
  for (const auto& item : cases) {
    Ran ran = shell.Run({"-c", std::string("FAIL ") + item.error});
    if (ran.code != item.code) fprintf(stderr, "%s: %d\n", item.error, ran.code);
    assert_int_equal(ran.code, item.code);
  }
}

void usage_errors(void**) {
  Shell shell;
  shell.prefix.clear();
  const struct {
    std::vector<std::string> arguments;
    const char* message;
  } cases[] = {
      {{"--no-such-flag"}, "unknown option --no-such-flag"},
      {{"--outptu=csv"}, "unknown option --outptu=csv; did you mean --output?"},
      {{"-o", "jsn"}, "no output format 'jsn'; did you mean json?"},
      {{"-c"}, "-c needs SCRIPT"},
      {{"--param", "x"}, "--param takes NAME=VALUE, not 'x'"},
      {{"--socket", "a", "--embed", "b"}, "one of --socket and --embed may be given once"},
      {{"--embed", ""}, "--socket and --embed need a path"},
      {{"SHOW JOBS"}, "unexpected argument 'SHOW JOBS'; statements are given with -c, files with -f"},
      {{"-f", "/no/such.tql"}, "cannot read /no/such.tql: No such file or directory"},
      {{"-f", "/tmp"}, "cannot read /tmp: Is a directory"},
  };
  for (const auto& item : cases) {
    Ran ran = shell.Run(item.arguments);
    if (!ran.err.starts_with(std::string("trainql: ") + item.message)) fprintf(stderr, "%s", ran.err.c_str());
    assert_true(ran.err.starts_with(std::string("trainql: ") + item.message));
    assert_int_equal(ran.code, 2);
    assert_text(ran.out, "");
  }
}

void help_and_version_need_no_daemon(void**) {
  Shell shell;
  setenv("TRAIND_BIN", "/nowhere", 1);
  Ran ran = shell.Run({"--version"});
  assert_int_equal(ran.code, 0);
  assert_true(ran.out.starts_with("trainql 0."));
  ran = shell.Run({"--help"});
  assert_int_equal(ran.code, 0);
  assert_true(ran.out.find("--embed DIR") != std::string::npos);
}

void a_named_socket_is_never_started(void**) {
  Shell shell;
  shell.prefix = {"--socket", shell.directory + "/traind/traind.sock"};
  Ran ran = shell.Run({"-c", "ROWS 1"});
  assert_int_equal(ran.code, 3);
  assert_true(ran.err.starts_with("trainql: DAEMON_UNREACHABLE: no daemon answers at "));
  assert_false(std::filesystem::exists(shell.directory + "/traind"));
}

void the_users_own_daemon_is_started_once(void**) {
  Shell shell;
  shell.prefix.clear();
  assert_int_equal(shell.Run({"-c", "ROWS 1"}).code, 0);
  std::string pid = Shell::Slurp(shell.directory + "/traind/traind.pid");
  assert_int_equal(shell.Run({"-c", "ROWS 1"}).code, 0);
  assert_text(Shell::Slurp(shell.directory + "/traind/traind.pid"), pid);
  kill(atoi(pid.c_str()), SIGTERM);
}

void parameters_become_numbers_or_texts(void**) {
  Shell shell;
  Ran ran = shell.Run({"-o", "csv", "-p", "a=12", "--param", "$b=1e-3", "-p", "c=4h", "-p", "d='7'", "-p",
                       "e=a=b", "-p", "f=", "-c", "ECHO $a $b $c $d $e $f"});
  assert_int_equal(ran.code, 0);
  assert_true(
      ran.out.starts_with("name,value\n$a,12\n$b,0.001\n$c,\"\"\"4h\"\"\"\n$d,\"\"\"7\"\"\"\n$e,\"\"\"a="
                          "b\"\"\"\n$f,\"\"\"\"\"\"\n"));
  assert_text(ran.err, "note: a notice\n");
  ran = shell.Run({"-p", "naem=x", "-c", "NOTHING"});
  ASSERT_RAN(ran, 0, "", "note: no statement has a parameter $naem\n");
}

void what_a_statement_is_told(void**) {
  Shell shell;
  Ran ran = shell.Run({"-o", "tsv", "-n", "-c", "NOTHING;\n ECHO"});
  assert_true(
      ran.out.find("offset\t10\nline\t2\ncolumn\t2\ncheck\ttrue\nprogress\ttrue\nstop_on_paused\ttrue\n") !=
      std::string::npos);
}

void progress_is_a_line_per_state_where_nobody_watches(void**) {
  Shell shell;
  Ran ran = shell.Run({"-c", "JOB"});
  assert_int_equal(ran.code, 0);
  assert_text(ran.out, "id\n--\n 7\n");
  // Of progress that comes faster than it is read, the newest is kept: a state may be left out, never
  // repeated.
  const std::vector<std::string> states = {"PREPARING", "RUNNING", "SUCCEEDED"};
  auto next = states.begin();
  std::istringstream lines(ran.err);
  for (std::string line; std::getline(lines, line); ++next) {
    assert_true(line.starts_with("job 7: "));
    next = std::find(next, states.end(), line.substr(7, line.find(',') - 7));
    assert_true(next != states.end());
  }
  assert_true(ran.err.ends_with("job 7: SUCCEEDED, step 100 of 100, loss 1.0000\n"));
  assert_true(ran.err.find('\x1b') == std::string::npos);
}

void waits_for_jobs_on_request(void**) {
  Shell shell;
  Ran ran = shell.Run({"-w", "-c", "TRAIN"});
  ASSERT_RAN(ran, 6, "id\n--\n 7\n", "JOB_CANCELLED: job 7 was cancelled\n");
}

void checking_goes_through_all_statements(void**) {
  Shell shell;
  Ran ran = shell.Run({"--check", "-c", "FAIL UNKNOWN_OPTION; FAIL NO_SUCH_MODEL; NOTHING"});
  assert_int_equal(ran.code, 1);
  assert_true(ran.err.find("UNKNOWN_OPTION") != std::string::npos);
  assert_true(ran.err.find("NO_SUCH_MODEL") != std::string::npos);
}

void included_files_run_and_name_themselves(void**) {
  Shell shell;
  std::string inner = shell.Write("inner.tql", "ROWS 1;\nFAIL NO_SUCH_MODEL;\n");
  Ran ran = shell.Run({"-o", "csv", "-c", "INCLUDE " + inner + "; ROWS 2"});
  ASSERT_RAN(ran, 1, "id,name,loss,size,age,note\n1,row 1,1.5,1572864,75,\n",
             inner + ":2:1: NO_SUCH_MODEL: it went wrong\n  FAIL NO_SUCH_MODEL;\n  ^\n  hint: do better\n");
  std::string endless = shell.directory + "/endless.tql";
  shell.Write("endless.tql", "INCLUDE " + endless);
  ran = shell.Run({"-f", endless});
  assert_int_equal(ran.code, 4);
  assert_true(ran.err.find("INCLUDE is nested deeper than 8") != std::string::npos);
}

void dot_commands_work_in_scripts(void**) {
  Shell shell;
  Ran ran = shell.Run({"-c", ".mode csv\nROWS 1;\n.param x 5\nECHO $x;\n.mode\n.quit\nFAIL INTERNAL"});
  assert_int_equal(ran.code, 0);
  assert_true(
      ran.out.starts_with("id,name,loss,size,age,note\n1,row 1,1.5,1572864,75,\n\nname,value\n$x,5\n"));
  assert_true(ran.out.ends_with("\ncsv\n"));
  std::string file = shell.directory + "/result.csv";
  ran = shell.Run({"-o", "csv", "-c", ".output " + file + "\nROWS 1;\n.output\n"});
  ASSERT_RAN(ran, 0, "", "");
  assert_text(Shell::Slurp(file), "id,name,loss,size,age,note\n1,row 1,1.5,1572864,75,\n");
  ran = shell.Run({"-c", "NOTHING;\n.plt loss 1"});
  ASSERT_RAN(ran, 4, "", "trainql: no command .plt; did you mean .plot?\n");
  ran = shell.Run({"-c", ".plot loss"});
  ASSERT_RAN(ran, 4, "", "trainql: .plot is written: .plot METRIC JOB [JOB ...]\n");
}

void plots_in_a_pipe(void**) {
  Shell shell;
  Ran ran = shell.Run({"-c", ".plot loss 7"});
  assert_int_equal(ran.code, 0);
  assert_true(ran.out.starts_with("loss of job 7\n"));
  assert_true(ran.out.find('\x1b') == std::string::npos);
  ran = shell.Run({"-c", ".plot loss 7 nightly"});
  assert_true(ran.out.find("oo job 8 nightly\n") != std::string::npos);
  ran = shell.Run({"-c", ".plot los 7"});
  assert_int_equal(ran.code, 1);
  assert_true(ran.err.starts_with("trainql: no metric 'los'; did you mean loss?"));
  ran = shell.Run({"-c", ".plot loss 404"});
  ASSERT_RAN(ran, 1, "", "trainql: no job 404; SHOW JOBS lists them\n");
}

void closing_tells_what_was_live(void**) {
  Shell shell;
  setenv("FAKE_LIVE_JOB", "1", 1);
  Ran ran = shell.Run({"-c", "NOTHING"});
  unsetenv("FAKE_LIVE_JOB");
  ASSERT_RAN(
      ran, 0, "",
      "note: job 1 stopped at step 40; it goes on when " + shell.directory + "/state is opened; use WAIT\n");
}

void a_lost_daemon(void**) {
  Shell shell;
  Ran ran = shell.Run({"-c", "DIE; ROWS 1"});
  assert_int_equal(ran.code, 3);
  assert_true(ran.err.starts_with("-c: DAEMON_LOST: "));
  assert_text(ran.out, "");
}

void signals_interrupt_the_statement_and_become_the_exit_code(void**) {
  Shell shell;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    pid_t pid = shell.Start({"-c", "HANG; ROWS 1"});
    for (int i = 0; i < 6000 && Shell::Slurp(shell.directory + "/err").empty(); ++i) usleep(10000);
    kill(pid, number);
    Ran ran = shell.Finish(pid);
    assert_int_equal(ran.code, 128 + number);
    assert_text(ran.out, "id\n--\n 7\n");
    assert_true(ran.err.ends_with("interrupted\n"));
  }
}

void a_second_signal_leaves_at_once(void**) {
  Shell shell;
  pid_t pid = shell.Start({"-c", "DEAF"});
  usleep(300000);
  kill(pid, SIGINT);
  usleep(100000);
  kill(pid, SIGINT);
  assert_int_equal(shell.Finish(pid).code, 130);
}

void a_reader_that_leaves_is_no_error(void**) {
  Shell shell;
  std::string script =
      shell.Write("pipe.sh", std::string("\"") + TRAINQL +
                                 "\" --embed \"$1/state\" -o csv -c \"ROWS 50000; FAIL INTERNAL\" "
                                 "2>\"$1/err\" | head -n 1 >\"$1/out\"; exit ${PIPESTATUS[0]}");
  assert_int_equal(WEXITSTATUS(system(("bash " + script + " " + shell.directory).c_str())), 141);
  assert_text(Shell::Slurp(shell.directory + "/err"), "");
  assert_text(Shell::Slurp(shell.directory + "/out"), "id,name,loss,size,age,note\n");
}

void a_full_disk_is_one(void**) {
  Shell shell;
  std::string command = std::string(TRAINQL) + " --embed " + shell.directory + "/state -c 'ROWS 1' 2>" +
                        shell.directory + "/err >/dev/full";
  assert_int_equal(WEXITSTATUS(system(command.c_str())), 1);
  assert_text(Shell::Slurp(shell.directory + "/err"),
              "trainql: cannot write the output: No space left on device\n");
}

void closed_standard_streams_are_not_taken_for_others(void**) {
  Shell shell;
  std::string command = std::string(TRAINQL) + " --embed " + shell.directory + "/state -c 'ROWS 1' 2>" +
                        shell.directory + "/err <&- >&-";
  assert_int_equal(WEXITSTATUS(system(command.c_str())), 1);
  assert_text(Shell::Slurp(shell.directory + "/err"),
              "trainql: cannot write the output: Bad file descriptor\n");
}

void too_large_scripts(void**) {
  Shell shell;
  std::string file = shell.Write("large.tql", "ECHO '" + std::string(900000, 'x') + "'");
  Ran ran = shell.Run({"-f", file});
  assert_int_equal(ran.code, 4);
  assert_true(ran.err.find("STATEMENT_TOO_LONG") != std::string::npos);
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(scripts_run_in_the_order_given),
      cmocka_unit_test(a_syntax_error_runs_nothing),
      cmocka_unit_test(the_first_run_time_error_stops),
      cmocka_unit_test(exit_codes_are_those_of_the_table),
      cmocka_unit_test(usage_errors),
      cmocka_unit_test(help_and_version_need_no_daemon),
      cmocka_unit_test(a_named_socket_is_never_started),
      cmocka_unit_test(the_users_own_daemon_is_started_once),
      cmocka_unit_test(parameters_become_numbers_or_texts),
      cmocka_unit_test(what_a_statement_is_told),
      cmocka_unit_test(progress_is_a_line_per_state_where_nobody_watches),
      cmocka_unit_test(waits_for_jobs_on_request),
      cmocka_unit_test(checking_goes_through_all_statements),
      cmocka_unit_test(included_files_run_and_name_themselves),
      cmocka_unit_test(dot_commands_work_in_scripts),
      cmocka_unit_test(plots_in_a_pipe),
      cmocka_unit_test(closing_tells_what_was_live),
      cmocka_unit_test(a_lost_daemon),
      cmocka_unit_test(signals_interrupt_the_statement_and_become_the_exit_code),
      cmocka_unit_test(a_second_signal_leaves_at_once),
      cmocka_unit_test(a_reader_that_leaves_is_no_error),
      cmocka_unit_test(a_full_disk_is_one),
      cmocka_unit_test(closed_standard_streams_are_not_taken_for_others),
      cmocka_unit_test(too_large_scripts),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
