// Runs trainql against the fake daemon and takes what it prints.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/test.h"

struct Ran {
  int code = -1;
  std::string out, err;
};

struct Shell {
  std::string directory;
  std::vector<std::string> prefix;  // arguments before those of a run

  Shell() {
    std::string pattern = (std::filesystem::temp_directory_path() / "traind-cli-XXXXXX").string();
    directory = mkdtemp(pattern.data());
    setenv("TRAIND_BIN", FAKE_DAEMON, 1);
    setenv("XDG_STATE_HOME", directory.c_str(), 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("COLUMNS");
    prefix = {"--embed", directory + "/state"};
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = directory + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  // Starts it with its streams in files.
  pid_t Start(std::vector<std::string> arguments, const std::string& input = "") const {
    Write("in", input);
    std::vector<std::string> all = {TRAINQL};
    all.insert(all.end(), prefix.begin(), prefix.end());
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, (directory + "/in").c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, (directory + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_addopen(&actions, 2, (directory + "/err").c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    pid_t pid = -1;
    assert_int_equal(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }

  static std::string Slurp(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Ran Finish(pid_t pid) const {
    int status = 0;
    waitpid(pid, &status, 0);
    Ran ran;
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.out = Slurp(directory + "/out");
    ran.err = Slurp(directory + "/err");
    return ran;
  }

  Ran Run(std::vector<std::string> arguments, const std::string& input = "") const {
    return Finish(Start(std::move(arguments), input));
  }
};

inline void assert_ran(const Ran& ran, int code, const std::string& out, const std::string& err, int line) {
  if (ran.code == code && ran.out == out && ran.err == err) return;
  fprintf(stderr, "line %d: exit %d (expected %d)\n-- out:\n%s-- err:\n%s", line, ran.code, code,
          ran.out.c_str(), ran.err.c_str());
  fail();
}
#define ASSERT_RAN(ran, code, out, err) assert_ran(ran, code, out, err, __LINE__)
