// traind.h is read by its own rules: "/* ---- Name ---- */" opens a section, a comment stands before the
// functions it describes, an empty line ends a group, indented lines of a comment are kept as they stand.
#include "man/c_interface.h"

#include <algorithm>
#include <vector>

#include "man/mdoc.h"

namespace traind::manual {
namespace {

constexpr std::string_view kMark = "TRAIND_API ";

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t*");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
}

// A comment's lines: prose filled, what is indented by two or more as a display.
std::string Describe(const std::vector<std::string>& lines) {
  std::string out, prose, literal;
  const auto flush = [&] {
    if (!prose.empty()) out += Paragraphs(prose);
    if (!literal.empty()) out += Display(literal.substr(0, literal.size() - 1));
    prose.clear();
    literal.clear();
  };
  for (const std::string& line : lines) {
    const bool indented = line.starts_with("  ");
    if (indented != !literal.empty() && !(line.empty() && literal.empty())) flush();
    if (indented) {
      literal += line.substr(2) + "\n";
    } else {
      prose += prose.empty() ? line : (line.empty() ? "\n\n" : "\n" + line);
    }
  }
  flush();
  return out;
}

// "a, b" cut at commas so that no line is wider than a page.
std::string Wrapped(const std::string& prototype) {
  constexpr size_t kColumns = 70;
  std::string out, line;
  for (size_t at = 0; at < prototype.size();) {
    const size_t comma = prototype.find(", ", at);
    const size_t end = comma == std::string::npos ? prototype.size() : comma + 2;
    const std::string part = prototype.substr(at, end - at);
    if (!line.empty() && line.size() + part.size() > kColumns) {
      out += Trimmed(line) + "\n";
      line = "    ";
    }
    line += part;
    at = end;
  }
  if (!out.empty()) line = "    " + Trimmed(line);
  return out + line;
}

// Functions that stand together, and what is said of them.
class Group {
 public:
  void AddComment(std::string line) { comment_.push_back(std::move(line)); }
  void AddFunction(std::string prototype, const std::string& note) {
    prototypes_ += (prototypes_.empty() ? "" : "\n") + Wrapped(prototype);
    if (note.empty()) return;
    const size_t end = prototype.find('(');
    const size_t begin = prototype.find_last_of(" *", end) + 1;
    comment_.push_back(prototype.substr(begin, end - begin) + ": " + note);
  }
  std::string Take() {
    std::string text;
    if (!prototypes_.empty()) text = Display(prototypes_);
    if (!text.empty() && !comment_.empty()) {
      text += (comment_.front().starts_with("  ") ? "" : ".Pp\n") + Describe(comment_);
    }
    *this = Group();
    return text;
  }
  bool has_functions() const { return !prototypes_.empty(); }

 private:
  std::vector<std::string> comment_;
  std::string prototypes_;
};

class Reader {
 public:
  std::string Read(std::string_view header) {
    while (!header.empty()) {
      const size_t end = std::min(header.find('\n'), header.size());
      Line(header.substr(0, end));
      header.remove_prefix(std::min(end + 1, header.size()));
    }
    out_ += group_.Take();
    return std::move(out_);
  }

 private:
  void Line(std::string_view line) {
    if (!prototype_.empty()) return Prototype(line);
    if (in_comment_) return Comment(line);
    if (line.starts_with("/* ---- ")) return Section(line.substr(8));
    if (line.starts_with("/*")) {
      if (group_.has_functions()) out_ += group_.Take();
      in_comment_ = true;
      return Comment(line.substr(2));
    }
    if (line.starts_with(kMark)) return Prototype(line.substr(kMark.size()));
    out_ += group_.Take();
  }

  void Section(std::string_view rest) {
    out_ += group_.Take();
    pending_ = ".Ss " + Argument(rest.substr(0, rest.find(" --"))) + "\n";
  }

  void Comment(std::string_view line) {
    const size_t close = line.find("*/");
    in_comment_ = close == std::string_view::npos;
    std::string_view text = line.substr(0, close);
    if (text.starts_with(" *")) text.remove_prefix(2);
    if (text.starts_with(' ')) text.remove_prefix(1);
    const std::string kept(text.substr(0, text.find_last_not_of(' ') + 1));
    if (!kept.empty()) group_.AddComment(kept);
  }

  void Prototype(std::string_view line) {
    prototype_ += (prototype_.empty() ? "" : " ") + Trimmed(line);
    const size_t end = prototype_.find(';');
    if (end == std::string::npos) return;
    std::string note;
    if (const size_t open = prototype_.find("/*", end); open != std::string::npos) {
      note = Trimmed(std::string_view(prototype_).substr(open + 2, prototype_.find("*/") - open - 2));
    }
    out_ += pending_;
    pending_.clear();
    group_.AddFunction(prototype_.substr(0, end + 1),
                       note.empty() || note.ends_with('.') ? note : note + ".");
    prototype_.clear();
  }

  std::string out_, prototype_, pending_;
  Group group_;
  bool in_comment_ = false;
};

}  // namespace

std::string FunctionsOf(std::string_view header) {
  return Reader().Read(header);
}

}  // namespace traind::manual
