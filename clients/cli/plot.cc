// In UTF-8 a character cell is a Braille pattern of 2 by 4 dots; in ASCII one mark. Lines are drawn between
// neighbouring points, so that sparse series read as curves; several series are told apart by colour, else by
// their marks.
#include "clients/cli/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr int kLeastDrawing = 16;  // columns
constexpr int kTickEvery = 4;      // lines
constexpr std::array<std::string_view, 6> kColours = {"\x1b[36m", "\x1b[33m", "\x1b[35m",
                                                      "\x1b[32m", "\x1b[31m", "\x1b[34m"};
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::string_view kMarks = "*o+x#@";

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // A range of one point becomes one that it lies in the middle of.
  void Widen() {
    if (high > low) return;
    double by = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= by;
    high += by;
  }
  double At(double share) const { return low + (high - low) * share; }
  double Share(double value) const { return (value - low) / (high - low); }
};

// Dots, each with the series that set it last (-1: none).
class Canvas {
 public:
  Canvas(int columns, int lines, bool braille)
      : braille_(braille),
        columns_(columns),
        lines_(lines),
        width_(columns * (braille ? 2 : 1)),
        height_(lines * (braille ? 4 : 1)),
        dots_(static_cast<size_t>(width_ * height_), -1) {}

  int width() const { return width_; }
  int height() const { return height_; }

  void Line(double x0, double y0, double x1, double y1, int series) {
    int steps = static_cast<int>(std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1.0})) * 2;
    for (int i = 0; i <= steps; ++i) {
      double share = static_cast<double>(i) / steps;
      Set(static_cast<int>(std::lround(x0 + (x1 - x0) * share)),
          static_cast<int>(std::lround(y0 + (y1 - y0) * share)), series);
    }
  }

  // The series of a cell and its text.
  std::pair<int, std::string> Cell(int column, int line) const {
    if (!braille_) {
      int series = Dot(column, line);
      return {series, series < 0 ? " " : std::string(1, kMarks[static_cast<size_t>(series) % kMarks.size()])};
    }
    constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    unsigned pattern = 0;
    int series = -1;
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 2; ++x) {
        int dot = Dot(column * 2 + x, line * 4 + y);
        if (dot >= 0) pattern |= kBits[y][x];
        series = std::max(series, dot);
      }
    }
    if (pattern == 0) return {-1, " "};
    unsigned code = 0x2800 + pattern;
    return {series,
            {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
             static_cast<char>(0x80 | (code & 0x3F))}};
  }

  int columns() const { return columns_; }
  int lines() const { return lines_; }

 private:
  int Dot(int x, int y) const { return dots_[static_cast<size_t>(y * width_ + x)]; }
  void Set(int x, int y, int series) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    dots_[static_cast<size_t>(y * width_ + x)] = series;
  }

  bool braille_;
  int columns_, lines_, width_, height_;
  std::vector<int> dots_;
};

void Draw(const Series& series, int index, const Range& x, const Range& y, Canvas* canvas) {
  bool before = false;
  double last_x = 0, last_y = 0;
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i])) {
      before = false;
      continue;
    }
    double at_x = x.Share(series.x[i]) * (canvas->width() - 1);
    double at_y = (1 - y.Share(series.y[i])) * (canvas->height() - 1);
    canvas->Line(before ? last_x : at_x, before ? last_y : at_y, at_x, at_y, index);
    before = true;
    last_x = at_x;
    last_y = at_y;
  }
}

std::string Number(double value) {
  return fmt::format("{:.4g}", value);
}

// A step as people count them: 1.2k, 3.4M.
std::string Count(double value) {
  if (std::abs(value) >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (std::abs(value) >= 1e4) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.6g}", value);
}

class Chart {
 public:
  Chart(const std::vector<Series>& series, const PlotOptions& options) : series_(series), options_(options) {
    for (const Series& one : series_) {
      for (size_t i = 0; i < one.x.size(); ++i) {
        if (!std::isfinite(one.y[i])) continue;
        x_.Take(one.x[i]);
        y_.Take(one.y[i]);
      }
    }
  }

  bool empty() const { return !(x_.low <= x_.high); }

  // Braille dots cannot tell series apart without colour; marks can.
  bool braille() const { return options_.utf8 && (options_.colour || series_.size() == 1); }

  std::string Text() {
    x_.Widen();
    y_.Widen();
    for (int line = 0; line < options_.height; ++line) {
      gutter_ = std::max(gutter_, DisplayWidth(TickAt(line)));
    }
    Canvas canvas(std::max(options_.width - gutter_ - 2, kLeastDrawing), options_.height, braille());
    for (size_t i = 0; i < series_.size(); ++i) Draw(series_[i], static_cast<int>(i), x_, y_, &canvas);
    std::string text = options_.title.empty() ? "" : options_.title + "\n";
    for (int line = 0; line < canvas.lines(); ++line) text += LineText(canvas, line);
    return text + AxisText(canvas) + Legend();
  }

 private:
  std::string TickAt(int line) const {
    bool tick = line % kTickEvery == 0 || line == options_.height - 1;
    return tick ? Number(y_.At(1 - static_cast<double>(line) / std::max(options_.height - 1, 1))) : "";
  }

  std::string Painted(int series, const std::string& text) const {
    if (!options_.colour || series < 0) return text;
    return std::string(kColours[static_cast<size_t>(series) % kColours.size()]) + text + std::string(kPlain);
  }

  std::string LineText(const Canvas& canvas, int line) const {
    std::string tick = TickAt(line);
    std::string text = Pad(tick, gutter_, true);
    text += options_.utf8 ? (tick.empty() ? " │" : " ┤") : (tick.empty() ? " |" : " +");
    std::string drawing;
    size_t used = 0;
    for (int column = 0; column < canvas.columns(); ++column) {
      auto [series, cell] = canvas.Cell(column, line);
      drawing += Painted(series, cell);
      if (series >= 0) used = drawing.size();
    }
    return text + drawing.substr(0, used) + "\n";
  }

  std::string AxisText(const Canvas& canvas) const {
    std::string text(static_cast<size_t>(gutter_ + 1), ' ');
    text += options_.utf8 ? "└" : "+";
    for (int column = 0; column < canvas.columns(); ++column) text += options_.utf8 ? "─" : "-";
    std::string low = Count(x_.low), high = Count(x_.high), label = options_.x_label;
    int room = canvas.columns() - DisplayWidth(low) - DisplayWidth(high);
    std::string middle = room > DisplayWidth(label) + 2 ? label : "";
    int left = (room - DisplayWidth(middle)) / 2;
    return text + "\n" + std::string(static_cast<size_t>(gutter_ + 2), ' ') + low + Pad("", left, false) +
           middle + Pad("", room - left - DisplayWidth(middle), false) + high + "\n";
  }

  std::string Legend() const {
    if (series_.size() < 2) return {};
    std::string text;
    for (size_t i = 0; i < series_.size(); ++i) {
      std::string mark = braille() ? "━━" : std::string(2, kMarks[i % kMarks.size()]);
      text += std::string(static_cast<size_t>(gutter_ + 2), ' ') + Painted(static_cast<int>(i), mark) + " " +
              series_[i].label + "\n";
    }
    return text;
  }

  const std::vector<Series>& series_;
  const PlotOptions& options_;
  Range x_, y_;
  int gutter_ = 0;
};

}  // namespace

std::string Plot(const std::vector<Series>& series, const PlotOptions& options) {
  Chart chart(series, options);
  return chart.empty() ? "" : chart.Text();
}

}  // namespace traind::cli
