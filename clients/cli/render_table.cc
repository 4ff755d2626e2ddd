// Columns get the width of their widest cell; if that is more than the terminal has, the widest ones are
// narrowed and their texts wrapped; if even that does not do, each row is printed as lines.
#include "clients/cli/render_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "clients/cli/text.h"

namespace traind::cli {
namespace {

constexpr int kLeastColumnWidth = 8;    // narrower, wrapped text is not readable
constexpr int kWidestHeadWrapped = 24;  // names of columns are wrapped only beyond this

// What stands left of, between and right of cells, and the rules above, below the head and at the end.
struct Frame {
  const char *left, *between, *right;
  const char* rule_fill;                       // nullptr: no rules
  const char *top[3], *middle[3], *bottom[3];  // left, between, right; top[0] nullptr: no such rule
};
constexpr Frame kPlainFrame = {
    "", "  ", "", "-", {nullptr, nullptr, nullptr}, {"", "  ", ""}, {nullptr, nullptr, nullptr}};
constexpr Frame kBoxFrame = {
    "│ ", " │ ", " │", "─", {"┌─", "─┬─", "─┐"}, {"├─", "─┼─", "─┤"}, {"└─", "─┴─", "─┘"}};
constexpr Frame kAsciiFrame = {
    "| ", " | ", " |", "-", {"+-", "-+-", "-+"}, {"+-", "-+-", "-+"}, {"+-", "-+-", "-+"}};
constexpr Frame kMarkdownFrame = {
    "| ", " | ", " |", "-", {nullptr, nullptr, nullptr}, {"| ", " | ", " |"}, {nullptr, nullptr, nullptr}};

std::string MarkdownCell(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    if (c == '\n')
      escaped += "<br>";
    else if (c == '|' || c == '\\')
      escaped += std::string("\\") + c;
    else
      escaped += c;
  }
  return escaped;
}

int WidestLine(std::string_view text) {
  int widest = 0;
  for (const std::string& line : WrapText(text, 0)) widest = std::max(widest, DisplayWidth(line));
  return widest;
}

class TableRenderer : public Renderer {
 public:
  TableRenderer(TableStyle style, const RenderOptions& options, std::string* out)
      : style_(style), options_(options), out_(out), frame_(FrameOf(style, options)) {}

  RowForm form() const override {
    return style_ == TableStyle::kMarkdown ? RowForm::kRaw : RowForm::kDisplay;
  }

  void Begin(const std::vector<ColumnHead>& columns) override {
    columns_ = columns;
    for (ColumnHead& column : columns_) column.name = Clean(column.name);
  }

  void Row(RowText row) override {
    for (std::string& cell : row.cells) cell = Clean(cell);
    rows_.push_back(std::move(row.cells));
  }

  void Flush() override {
    if (IsBareValue()) return;  // until it is known that no row follows
    if (style_ == TableStyle::kLine || as_lines_) return PrintLines();
    if (!begun_) ChooseWidths();
    if (as_lines_) return PrintLines();
    if (!begun_) PrintHead();
    begun_ = true;
    for (const auto& row : rows_) PrintRow(row);
    rows_.clear();
  }

  void End() override {
    if (IsBareValue()) {
      *out_ += rows_.front().front() + '\n';
      return;
    }
    Flush();
    if (!as_lines_ && frame_.bottom[0] != nullptr) PrintRule(frame_.bottom);
  }

 private:
  static Frame FrameOf(TableStyle style, const RenderOptions& options) {
    if (style == TableStyle::kMarkdown) return kMarkdownFrame;
    if (style != TableStyle::kBox) return kPlainFrame;
    return options.utf8 ? kBoxFrame : kAsciiFrame;
  }

  // One JSON text and nothing else, as EXPLAIN (format=json) gives: a head and a rule as wide as it serve
  // nobody.
  bool IsBareValue() const {
    const bool table = style_ == TableStyle::kPlain || style_ == TableStyle::kBox;
    return table && !begun_ && columns_.size() == 1 && columns_.front().json && rows_.size() == 1;
  }

  std::string Clean(const std::string& text) const {
    std::string clean = Printable(text, true);
    return style_ == TableStyle::kMarkdown ? MarkdownCell(clean) : clean;
  }

  int FrameWidth() const {
    int between = static_cast<int>(columns_.size()) - 1;
    return DisplayWidth(frame_.left) + std::max(between, 0) * DisplayWidth(frame_.between) +
           DisplayWidth(frame_.right);
  }

  // The narrowest that column i may become: numbers are never wrapped.
  int LeastWidth(size_t i) const {
    return columns_[i].number
               ? widths_[i]
               : std::min(widths_[i], std::max(kLeastColumnWidth,
                                               std::min(WidestLine(columns_[i].name), kWidestHeadWrapped)));
  }

  void ChooseWidths() {
    widths_.assign(columns_.size(), 0);
    for (size_t i = 0; i < columns_.size(); ++i) {
      widths_[i] = std::max(style_ == TableStyle::kMarkdown ? 3 : 1, WidestLine(columns_[i].name));
      for (const auto& row : rows_) widths_[i] = std::max(widths_[i], WidestLine(row[i]));
    }
    bool narrow = options_.width > 0 && style_ != TableStyle::kMarkdown;
    int over = std::accumulate(widths_.begin(), widths_.end(), 0) + FrameWidth() - options_.width;
    while (narrow && over > 0) {
      size_t widest = widths_.size();
      for (size_t i = 0; i < widths_.size(); ++i) {
        bool may = widths_[i] > LeastWidth(i);
        if (may && (widest == widths_.size() || widths_[i] > widths_[widest])) widest = i;
      }
      as_lines_ = widest == widths_.size();
      if (as_lines_) return;
      --widths_[widest];
      --over;
    }
  }

  void PrintRule(const char* const (&ends)[3]) {
    if (ends[0] == nullptr) return;
    *out_ += ends[0];
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (i > 0) *out_ += ends[1];
      for (int k = 0; k < widths_[i]; ++k) *out_ += frame_.rule_fill;
      if (style_ == TableStyle::kMarkdown && columns_[i].number) out_->back() = ':';
    }
    *out_ += ends[2];
    *out_ += '\n';
  }

  void PrintHead() {
    PrintRule(frame_.top);
    std::vector<std::string> names;
    for (const ColumnHead& column : columns_) names.push_back(column.name);
    PrintRow(names);
    PrintRule(frame_.middle);
  }

  void PrintRow(const std::vector<std::string>& row) {
    std::vector<std::vector<std::string>> cells;
    size_t height = 1;
    for (size_t i = 0; i < row.size(); ++i) {
      cells.push_back(WrapText(row[i], columns_[i].number ? 0 : widths_[i]));
      height = std::max(height, cells.back().size());
    }
    for (size_t line = 0; line < height; ++line) {
      std::string text = frame_.left;
      for (size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) text += frame_.between;
        text += Pad(line < cells[i].size() ? cells[i][line] : "", widths_[i], columns_[i].number);
      }
      text += frame_.right;
      text.erase(text.find_last_not_of(' ') + 1);
      *out_ += text + '\n';
    }
  }

  // "name  value" for each column, a blank line between rows.
  void PrintLines() {
    as_lines_ = true;
    int widest = 0;
    for (const ColumnHead& column : columns_) widest = std::max(widest, DisplayWidth(column.name));
    for (const auto& row : rows_) {
      if (begun_) *out_ += '\n';
      begun_ = true;
      for (size_t i = 0; i < row.size(); ++i) {
        std::vector<std::string> lines = WrapText(
            row[i], options_.width > 0 ? std::max(options_.width - widest - 2, kLeastColumnWidth) : 0);
        for (size_t k = 0; k < lines.size(); ++k) {
          std::string text = Pad(k == 0 ? columns_[i].name : "", widest, true) + "  " + lines[k];
          text.erase(text.find_last_not_of(' ') + 1);
          *out_ += text + '\n';
        }
      }
    }
    rows_.clear();
  }

  TableStyle style_;
  RenderOptions options_;
  std::string* out_;
  Frame frame_;
  std::vector<ColumnHead> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<int> widths_;
  bool begun_ = false;
  bool as_lines_ = false;
};

}  // namespace

std::unique_ptr<Renderer> MakeTableRenderer(TableStyle style, const RenderOptions& options,
                                            std::string* out) {
  return std::make_unique<TableRenderer>(style, options, out);
}

}  // namespace traind::cli
