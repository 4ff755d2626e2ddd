// PyTorch's training step in a process of its own (train_pytorch.py), asked for steps one question at a time.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "tests/bench/engine_step.h"

namespace traind::bench {

class PytorchProcess {
 public:
  // IO if it does not start or ends at once, as without PyTorch; Python has said why on standard error.
  static Result<std::unique_ptr<PytorchProcess>> Start(const std::string& python, const StepShape& shape);
  ~PytorchProcess();
  PytorchProcess(const PytorchProcess&) = delete;
  PytorchProcess& operator=(const PytorchProcess&) = delete;

  const std::string& version() const { return version_; }
  // The least seconds of `steps` steps.
  Result<double> Run(int steps);

 private:
  PytorchProcess() = default;
  Result<std::string> ReadLine();

  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
  std::string version_;
};

}  // namespace traind::bench
