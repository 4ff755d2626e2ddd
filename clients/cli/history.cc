// The file is private: statements may hold what others shall not read.
#include "clients/cli/history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace traind::cli {
namespace {

constexpr int kMostEntries = 2000;

struct Kept {
  History* history = nullptr;
  std::string path;
};
Kept kept;

}  // namespace

History* OpenHistory(const std::string& path) {
  kept = {history_init(), path};
  HistEvent event{};
  history(kept.history, &event, H_SETSIZE, kMostEntries);
  history(kept.history, &event, H_SETUNIQUE, 1);
  int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    kept.path.clear();
    return kept.history;
  }
  fchmod(descriptor, 0600);
  close(descriptor);
  history(kept.history, &event, H_LOAD, path.c_str());
  return kept.history;
}

void AddToHistory(const std::string& line) {
  HistEvent event{};
  if (kept.history == nullptr || line.find_first_not_of(" \t\r\n") == std::string::npos) return;
  history(kept.history, &event, H_ENTER, line.c_str());
  if (!kept.path.empty()) history(kept.history, &event, H_SAVE, kept.path.c_str());
}

void CloseHistory() {
  if (kept.history != nullptr) history_end(kept.history);
  kept = {};
}

std::string HistoryText() {
  std::string text;
  HistEvent event{};
  if (kept.history == nullptr) return text;
  for (int more = history(kept.history, &event, H_LAST); more != -1;
       more = history(kept.history, &event, H_PREV)) {
    text += event.str;
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

}  // namespace traind::cli
