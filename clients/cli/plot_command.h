// .plot: curves of jobs' metrics.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/session.h"

namespace traind::cli {

// Draws `metric` of the jobs (numbers or names; a name means its newest job) over their steps. The exit code.
int PlotMetric(Session& session, const std::string& metric, const std::vector<std::string>& jobs);

}  // namespace traind::cli
