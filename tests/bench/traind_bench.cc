// traind-bench SUBCOMMAND [--json]: measures the built programs; one object with --json, else lines for
// people.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <thread>

#include "tests/bench/bench.h"

namespace traind::bench {
namespace {

struct Subcommand {
  std::string_view name;
  std::string_view text;
  bool has_options;
  Result<Report> (*run)(const Arguments&);
};
constexpr Subcommand kSubcommands[] = {
    {"checkpoint", "what a checkpoint keeps training waiting, in the background and not", false,
     &BenchCheckpoint},
    {"daemon", "submission to first step, the loop's lag, statements under load", false, &BenchDaemon},
    {"statements", "round trip of each kind of statement", false, &BenchStatements},
    {"tokenizer", "training and encoding, beside the tokenizers package: [FILE]", true, &BenchTokenizer},
    {"train",
     "tokens/s of GPT-2 124M's step beside PyTorch: [python=PROGRAM] [rounds=N] [threads=N] [precision=P]",
     true, &BenchTrain},
    {"roofline", "each operator of that step against what it could attain: [threads=N] [precision=P]", true,
     &BenchRoofline},
};

std::string Usage() {
  std::string text = "usage: traind-bench SUBCOMMAND [OPTION=VALUE…] [--json]\n";
  for (const Subcommand& row : kSubcommands) text += fmt::format("  {:<12} {}\n", row.name, row.text);
  return text;
}

// The commit that is checked out where the sources were configured, or "unknown".
std::string Commit() {
  std::string text;
  FILE* pipe = popen("git -C '" TRAIND_SOURCE "' rev-parse --short=12 HEAD 2>/dev/null", "r");
  if (pipe != nullptr) {
    for (int c = 0; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "unknown" : text;
}

std::string Machine() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    return fmt::format("{}, {} threads", line.substr(colon + 2), std::thread::hardware_concurrency());
  }
  return fmt::format("{} threads", std::thread::hardware_concurrency());
}

std::string Shown(const Json& value) {
  return value.is_number_float() ? fmt::format("{:.3f}", value.get<double>())
         : value.is_string()     ? value.get<std::string>()
                                 : DumpJson(value);
}

void Print(const Report& report) {
  for (const Json& row : report.rows) {
    std::string line;
    for (const auto& [key, value] : row.items())
      line += fmt::format("{}{}={}", line.empty() ? "" : "  ", key, Shown(value));
    fmt::print("{}\n", line);
  }
  for (const auto& [key, value] : report.summary.items()) fmt::print("{:<32} {}\n", key, Shown(value));
}

// As traind-worker does: OpenMP reads its settings before main.
void EnsureOpenMpSettings(std::span<char*> words) {
  if (getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
  setenv("OMP_DYNAMIC", "false", 0);
  execv("/proc/self/exe", words.data());
}

int Main(std::span<char*> words) {
  EnsureOpenMpSettings(words);
  Arguments arguments;
  bool json = false;
  for (const std::string_view word : words.subspan(1)) {
    if (word == "--json") {
      json = true;
    } else {
      arguments.words.emplace_back(word);
    }
  }
  const auto* found = std::ranges::find_if(kSubcommands, [&](const Subcommand& row) {
    return !arguments.words.empty() && row.name == arguments.words.front();
  });
  if (found == std::end(kSubcommands) || (arguments.words.size() > 1 && !found->has_options)) {
    fmt::print(stderr, "{}", Usage());
    return 2;
  }
  const Result<Report> report = found->run(arguments);
  if (!report.ok()) {
    fmt::print(stderr, "traind-bench: {}\n", report.status().ToString());
    return 1;
  }
  if (!json) {
    Print(*report);
    return 0;
  }
  const Json object = {{"bench", found->name},
                       {"commit", Commit()},
                       {"machine", Machine()},
                       {"rows", report->rows},
                       {"summary", report->summary}};
  fmt::print("{}\n", DumpJson(object));
  return 0;
}

}  // namespace

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto index = static_cast<int64_t>(std::ceil(share * static_cast<double>(values.size()))) - 1;
  return values[static_cast<size_t>(std::clamp<int64_t>(index, 0, std::ssize(values) - 1))];
}

}  // namespace traind::bench

int main(int count, char** words) {
  return traind::bench::Main(std::span(words, static_cast<size_t>(count)));
}
