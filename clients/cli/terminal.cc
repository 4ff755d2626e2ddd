// Writing goes through write(2) alone, so that errors are seen where they occur.
#include "clients/cli/terminal.h"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace traind::cli {
namespace {

constexpr size_t kBufferBytes = 65536;
constexpr int kDefaultWidth = 80;
constexpr int kLeastWidth = 20;

// 0, or the error number.
int WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = write(descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {  // somebody made the stream non-blocking
      pollfd entry{descriptor, POLLOUT, 0};
      poll(&entry, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int WidthOf(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeastWidth) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  int width = columns == nullptr ? 0 : atoi(columns);
  return width >= kLeastWidth ? width : kDefaultWidth;
}

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

Terminal LookAt(int descriptor) {
  Terminal terminal;
  const char* kind = std::getenv("TERM");
  bool dumb = kind == nullptr || strcmp(kind, "dumb") == 0;
  terminal.is_terminal = isatty(descriptor) == 1;
  terminal.colour = terminal.is_terminal && !dumb && !IsSet("NO_COLOR");
  terminal.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  terminal.width = WidthOf(descriptor);
  return terminal;
}

void Output::Write(std::string_view text) {
  if (closed_) return;
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Output::Flush() {
  if (closed_ || buffer_.empty()) return;
  int error = WriteAll(descriptor(), buffer_);
  buffer_.clear();
  if (error == 0) return;
  closed_ = true;
  if (error != EPIPE) error_ = strerror(error);
}

std::string Output::Redirect(const std::string& path) {
  Flush();
  int opened = path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (!path.empty() && opened < 0) return strerror(errno);
  if (redirected_ >= 0) close(redirected_);
  redirected_ = opened;
  closed_ = false;
  return {};
}

std::string Output::TakeError() {
  std::string error;
  error.swap(error_);
  return error;
}

Output::~Output() {
  Flush();
  if (redirected_ >= 0) close(redirected_);
}

void WriteError(std::string_view text) {
  (void)WriteAll(STDERR_FILENO, text);
}

}  // namespace traind::cli
