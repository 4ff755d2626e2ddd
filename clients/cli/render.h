// Results as text: one renderer per format, fed row by row.
//
// Formats for people (table, box, markdown, line) collect rows to find the widths; Flush prints what is there
// and keeps the widths, for results that grow while one looks. The others print each row at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace traind::cli {

struct ColumnHead {
  std::string name;
  bool number = false;  // aligned to the right
  bool json = false;    // alone in a result, it is printed bare
};

// One row in the form that the format asks for (RowForm).
struct RowText {
  std::vector<std::string> cells;
  std::vector<bool> null;
  std::string json;
};

// What a format wants of each cell.
enum class RowForm { kDisplay, kRaw, kJson };

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual RowForm form() const = 0;
  virtual void Begin(const std::vector<ColumnHead>& columns) = 0;
  virtual void Row(RowText row) = 0;
  virtual void Flush() {}
  virtual void End() = 0;
};

struct RenderOptions {
  int width = 0;      // columns that tables may take; 0: no limit
  bool utf8 = false;  // box drawing characters
};

// The formats' names, for messages: "table", "box", …
const std::vector<std::string_view>& FormatNames();

// A renderer that appends its text to `out`; nullptr for an unknown format.
std::unique_ptr<Renderer> MakeRenderer(std::string_view format, const RenderOptions& options,
                                       std::string* out);

}  // namespace traind::cli
