// A script's text, told apart into statements and dot commands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace traind::cli {

struct DotLine {
  size_t offset = 0;    // of the line in the text
  std::string command;  // ".plot loss 1", without blanks around it
};

struct ScriptText {
  std::string statements;      // the text with dot lines made blank: places stay what they are
  std::vector<DotLine> lines;  // in the order of the text
};

// A line whose first character is '.' is a command where a statement could begin: not inside one, a quoted
// text or a comment.
ScriptText SplitScript(std::string_view text);

// The words of a dot command; 'quoted words' may hold blanks.
std::vector<std::string> SplitWords(std::string_view line);

}  // namespace traind::cli
