// What was entered at the prompt, kept in a file of the state directory.
#pragma once

#include <histedit.h>

#include <string>

namespace traind::cli {

// Reads the history of `path` (made with mode 0600) and keeps it there; the one of the process.
History* OpenHistory(const std::string& path);
void AddToHistory(const std::string& line);
void CloseHistory();

// All of it, a line each; "" when there is no prompt.
std::string HistoryText();

}  // namespace traind::cli
