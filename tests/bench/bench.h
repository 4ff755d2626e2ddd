// traind-bench: what every subcommand gives, and what they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::bench {

struct Report {
  Json rows = Json::array();
  Json summary = Json::object();
};

struct Arguments {
  std::vector<std::string> words;  // after the subcommand, without --json
};

// One subcommand each, in a file of its name.
Result<Report> BenchCheckpoint(const Arguments& arguments);
Result<Report> BenchDaemon(const Arguments& arguments);
Result<Report> BenchStatements(const Arguments& arguments);
Result<Report> BenchTokenizer(const Arguments& arguments);
Result<Report> BenchTrain(const Arguments& arguments);
Result<Report> BenchRoofline(const Arguments& arguments);

// The value below which a share of the values lies; 0 if there are none.
double Percentile(std::vector<double> values, double share);

}  // namespace traind::bench
