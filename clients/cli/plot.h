// Line charts of text.
#pragma once

#include <string>
#include <vector>

namespace traind::cli {

struct Series {
  std::string label;
  std::vector<double> x, y;  // equally many; x ascending; y may be NaN: no point there
};

struct PlotOptions {
  std::string title;
  std::string x_label = "step";
  int width = 80;   // columns in all
  int height = 16;  // lines of the drawing itself
  bool utf8 = false;
  bool colour = false;
};

// The chart with axes and, for several series, a legend; "" if there is no point.
std::string Plot(const std::vector<Series>& series, const PlotOptions& options);

}  // namespace traind::cli
