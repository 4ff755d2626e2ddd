// train: tokens/s of one training step beside PyTorch's, interleaved, and each operator against its roofline.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/engine_step.h"
#include "tests/bench/peak_rate.h"
#include "tests/bench/pytorch_process.h"

namespace traind::bench {
namespace {

struct Options {
  std::string python;
  int rounds = 4;  // each a step or two of both engines
  std::vector<int> threads = {1, 2};
  std::vector<Precision> precisions = {Precision::kFp32, Precision::kBf16};
};

Status Take(const std::string& word, Options* options) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (name == "python") {
    options->python = value;
  } else if (name == "rounds" && std::atoi(value.c_str()) > 0) {
    options->rounds = std::atoi(value.c_str());
  } else if (name == "threads" && std::atoi(value.c_str()) > 0) {
    options->threads = {std::atoi(value.c_str())};
  } else if (name == "precision") {
    TRAIND_ASSIGN(const Precision precision, ParsePrecision(value));
    options->precisions = {precision};
  } else {
    return Status(ErrorCode::INVALID_OPTION,
                  "'" + word + "' is none of python=PROGRAM, rounds=N, threads=N, precision=fp32|bf16");
  }
  return Ok();
}

Result<Options> OptionsOf(const Arguments& arguments) {
  Options options;
  const char* python = std::getenv("TRAIND_BENCH_PYTHON");
  options.python = python == nullptr ? "python3" : python;
  for (size_t i = 1; i < arguments.words.size(); ++i) TRAIND_TRY(Take(arguments.words[i], &options));
  return options;
}

Json Row(const StepShape& shape, const std::string& engine, double seconds, double flops, double peak) {
  return {{"model", "gpt2-124m"},
          {"device", "cpu"},
          {"threads", shape.threads},
          {"precision", PrecisionName(shape.precision)},
          {"engine", engine},
          {"tokens_per_second", static_cast<double>(shape.tokens()) / seconds},
          {"peak_percent", peak > 0 ? 100 * flops / seconds / peak : 0}};
}

// Both engines in turn, so that what else the machine does disturbs both; the least seconds of each.
Status Compare(const StepShape& shape, const Options& options, Report* report) {
  const auto pytorch = PytorchProcess::Start(options.python, shape);
  if (pytorch.ok()) {
    TRAIND_TRY((*pytorch)->Run(2).status());
  } else {
    fmt::print(stderr, "without PyTorch: {}\n", pytorch.status().message());
  }
  TRAIND_ASSIGN(const auto engine, EngineStep::Create(shape));
  TRAIND_TRY(engine->Run().status());
  double ours = 1e30, theirs = 1e30, peak = 0;
  for (int round = 0; round < options.rounds; ++round) {
    peak = std::max(peak, PeakFlops(shape.precision, shape.threads));
    TRAIND_ASSIGN(const double one, engine->Run());
    ours = std::min(ours, one);
    if (!pytorch.ok()) continue;
    TRAIND_ASSIGN(const double other, (*pytorch)->Run(1));
    theirs = std::min(theirs, other);
  }
  const double flops = StepFlops(engine->table());
  report->rows.push_back(Row(shape, "traind", ours, flops, peak));
  if (!pytorch.ok()) return Ok();
  report->rows.push_back(Row(shape, "pytorch " + (*pytorch)->version(), theirs, flops, peak));
  report->summary[fmt::format("ratio_{}_{}_threads", PrecisionName(shape.precision), shape.threads)] =
      theirs / ours;
  return Ok();
}

// "layer_norm", "linear 768x3072".
std::string NameOf(const OperatorTime& time) {
  const std::string name(plan::OpKindName(time.kind));
  return time.input == 0 ? name : fmt::format("{} {}x{}", name, time.input, time.output);
}

// What a call could take at best: its arithmetic at the peak rate, or its bytes at the memory's.
Status Roofline(const StepShape& shape, Report* report) {
  TRAIND_ASSIGN(const auto engine, EngineStep::Create(shape));
  TRAIND_TRY(engine->Run().status());
  const double flops = PeakFlops(shape.precision, shape.threads), bytes = PeakBytes(shape.threads);
  TRAIND_ASSIGN(const std::vector<OperatorTime> times, engine->Profile(3));
  double total = 0;
  for (const OperatorTime& time : times) total += time.seconds;
  for (const OperatorTime& time : times) {
    const double attainable = std::max(time.flops / std::max(1.0, flops), time.bytes / bytes);
    report->rows.push_back({{"threads", shape.threads},
                            {"precision", PrecisionName(shape.precision)},
                            {"operator", NameOf(time)},
                            {"pass", plan::PassName(time.pass)},
                            {"calls", time.calls},
                            {"ms", time.seconds * 1e3},
                            {"share_percent", 100 * time.seconds / total},
                            {"gflops", time.flops / time.seconds * 1e-9},
                            {"gbytes", time.bytes / time.seconds * 1e-9},
                            {"attainable_percent", 100 * attainable / time.seconds}});
  }
  const std::string suffix = fmt::format("_{}_{}_threads", PrecisionName(shape.precision), shape.threads);
  report->summary["step_ms" + suffix] = total * 1e3;
  report->summary["peak_gflops" + suffix] = flops * 1e-9;
  report->summary["peak_gbytes" + suffix] = bytes * 1e-9;
  return Ok();
}

Result<Report> ForEachShape(const Arguments& arguments,
                            Status (*run)(const StepShape&, const Options&, Report*)) {
  TRAIND_ASSIGN(const Options options, OptionsOf(arguments));
  Report report;
  for (const Precision precision : options.precisions) {
    for (const int threads : options.threads) {
      StepShape shape;
      shape.model = BenchModel();
      shape.threads = threads;
      shape.precision = precision;
      TRAIND_TRY(run(shape, options, &report));
    }
  }
  return report;
}

}  // namespace

Result<Report> BenchTrain(const Arguments& arguments) {
  return ForEachShape(arguments, Compare);
}

Result<Report> BenchRoofline(const Arguments& arguments) {
  return ForEachShape(arguments, [](const StepShape& shape, const Options&, Report* report) {
    return Roofline(shape, report);
  });
}

}  // namespace traind::bench
