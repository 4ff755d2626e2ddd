// What the standard streams are, and the way out for results and remarks.
#pragma once

#include <string>
#include <string_view>

namespace traind::cli {

// How a stream may be written to.
struct Terminal {
  bool is_terminal = false;
  bool colour = false;  // a terminal, and neither NO_COLOR nor TERM=dumb
  bool utf8 = false;    // the locale's character set
  int width = 80;       // columns; of a terminal, $COLUMNS or 80 otherwise
};

// Looks at a descriptor (1 or 2). The width is asked for each time: windows change.
Terminal LookAt(int descriptor);

// Standard output: buffered, and aware of a reader that has gone.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_(descriptor) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view text);
  void Flush();
  // To another file from now on (".output FILE"); "" is the first descriptor again. The reason if it cannot
  // be.
  std::string Redirect(const std::string& path);

  // The reader has gone (EPIPE): nothing is written any more, and nobody wants to hear why.
  bool closed() const { return closed_; }
  // Writing failed for another reason, "" if not; told once.
  std::string TakeError();
  int descriptor() const { return redirected_ >= 0 ? redirected_ : descriptor_; }
  ~Output();

 private:
  int descriptor_;
  int redirected_ = -1;
  std::string buffer_;
  bool closed_ = false;
  std::string error_;
};

// Writes to standard error, whole and at once.
void WriteError(std::string_view text);

}  // namespace traind::cli
