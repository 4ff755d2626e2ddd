// The table of formats, and those that print each row as it comes.
#include "clients/cli/render.h"

#include <fmt/format.h>

#include <functional>

#include "clients/cli/render_table.h"

namespace traind::cli {
namespace {

// RFC 4180 with LF: quotes only where needed; NULL is an empty field, an empty text is "".
std::string CsvField(const std::string& text) {
  bool plain = !text.empty() && text.find_first_of(",\"\n\r") == std::string::npos && text.front() != ' ' &&
               text.back() != ' ';
  if (plain) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// Backslash escapes for what would break a line or field; NULL is an empty field.
std::string TsvField(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '\t':
        escaped += "\\t";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\r':
        escaped += "\\r";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

class SeparatedRenderer : public Renderer {
 public:
  using Field = std::string (*)(const std::string&);
  SeparatedRenderer(char separator, Field field, std::string* out)
      : separator_(separator), field_(field), out_(out) {}

  RowForm form() const override { return RowForm::kRaw; }
  void Begin(const std::vector<ColumnHead>& columns) override {
    RowText head;
    for (const ColumnHead& column : columns) head.cells.push_back(column.name);
    head.null.assign(columns.size(), false);
    Row(std::move(head));
  }
  void Row(RowText row) override {
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (i > 0) *out_ += separator_;
      if (!row.null[i]) *out_ += field_(row.cells[i]);
    }
    *out_ += '\n';
  }
  void End() override {}

 private:
  char separator_;
  Field field_;
  std::string* out_;
};

class JsonRenderer : public Renderer {
 public:
  JsonRenderer(bool lines, std::string* out) : lines_(lines), out_(out) {}

  RowForm form() const override { return RowForm::kJson; }
  void Begin(const std::vector<ColumnHead>&) override { *out_ += lines_ ? "" : "["; }
  void Row(RowText row) override {
    if (!lines_) *out_ += first_ ? "\n  " : ",\n  ";
    first_ = false;
    *out_ += row.json;
    if (lines_) *out_ += '\n';
  }
  void End() override {
    if (!lines_) *out_ += first_ ? "]\n" : "\n]\n";
  }

 private:
  bool lines_;
  bool first_ = true;
  std::string* out_;
};

using Maker = std::function<std::unique_ptr<Renderer>(const RenderOptions&, std::string*)>;

struct Format {
  std::string_view name;
  Maker make;
};

Maker Table(TableStyle style) {
  return [style](const RenderOptions& options, std::string* out) {
    return MakeTableRenderer(style, options, out);
  };
}
Maker Separated(char separator, SeparatedRenderer::Field field) {
  return [=](const RenderOptions&, std::string* out) {
    return std::make_unique<SeparatedRenderer>(separator, field, out);
  };
}
Maker Json(bool lines) {
  return
      [lines](const RenderOptions&, std::string* out) { return std::make_unique<JsonRenderer>(lines, out); };
}

const std::vector<Format>& Formats() {
  static const std::vector<Format> formats = {
      {"table", Table(TableStyle::kPlain)},
      {"box", Table(TableStyle::kBox)},
      {"csv", Separated(',', CsvField)},
      {"tsv", Separated('\t', TsvField)},
      {"json", Json(false)},
      {"jsonl", Json(true)},
      {"markdown", Table(TableStyle::kMarkdown)},
      {"line", Table(TableStyle::kLine)},
  };
  return formats;
}

}  // namespace

const std::vector<std::string_view>& FormatNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Format& format : Formats()) list.push_back(format.name);
    return list;
  }();
  return names;
}

std::unique_ptr<Renderer> MakeRenderer(std::string_view name, const RenderOptions& options,
                                       std::string* out) {
  for (const Format& format : Formats()) {
    if (format.name == name) return format.make(options, out);
  }
  return nullptr;
}

}  // namespace traind::cli
