// Starts and asks the baseline's process.
#include "tests/bench/pytorch_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <vector>

extern char** environ;

namespace traind::bench {
namespace {

constexpr const char* kScript = TRAIND_SOURCE "/tests/bench/train_pytorch.py";

// Huge pages for its allocations, which it makes anew in each step; OpenMP's waiting as PyTorch is used to
// it.
std::vector<std::string> Environment() {
  std::vector<std::string> variables = {"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (variable.starts_with("GLIBC_TUNABLES=") || variable.starts_with("OMP_")) continue;
    variables.emplace_back(variable);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>* strings) {
  std::vector<char*> pointers;
  for (std::string& string : *strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<std::unique_ptr<PytorchProcess>> PytorchProcess::Start(const std::string& python,
                                                              const StepShape& shape) {
  int to_child[2] = {}, from_child[2] = {};
  if (pipe2(to_child, O_CLOEXEC) != 0 || pipe2(from_child, O_CLOEXEC) != 0) {
    return Status(ErrorCode::IO, "no pipe for PyTorch's process");
  }
  std::unique_ptr<PytorchProcess> process(new PytorchProcess());
  process->to_ = fdopen(to_child[1], "w");
  process->from_ = fdopen(from_child[0], "r");
  std::vector<std::string> words = {python,
                                    kScript,
                                    std::to_string(shape.threads),
                                    std::string(PrecisionName(shape.precision)),
                                    std::to_string(shape.sequences),
                                    std::to_string(shape.sequence_length)};
  std::vector<std::string> variables = Environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], STDOUT_FILENO);
  const int error = posix_spawnp(&process->pid_, python.c_str(), &actions, nullptr, Pointers(&words).data(),
                                 Pointers(&variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(to_child[0]);
  close(from_child[1]);
  if (error != 0) {
    process->pid_ = -1;
    return Status(ErrorCode::IO, fmt::format("{} does not start", python));
  }
  TRAIND_ASSIGN(process->version_, process->ReadLine());
  return process;
}

PytorchProcess::~PytorchProcess() {
  if (to_ != nullptr) fclose(to_);  // the end of its input is the end of it
  if (from_ != nullptr) fclose(from_);
  while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<std::string> PytorchProcess::ReadLine() {
  std::string line;
  for (int c = 0; (c = fgetc(from_)) != EOF && c != '\n';) line += static_cast<char>(c);
  if (line.empty()) return Status(ErrorCode::IO, "PyTorch's process has ended");
  return line;
}

Result<double> PytorchProcess::Run(int steps) {
  fmt::print(to_, "{}\n", steps);
  fflush(to_);
  TRAIND_ASSIGN(const std::string line, ReadLine());
  std::istringstream text(line);
  double least = 1e30;
  for (double seconds = 0; text >> seconds;) least = std::min(least, seconds);
  return least;
}

}  // namespace traind::bench
