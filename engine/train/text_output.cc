// Looks for the stop string and for unfinished characters at the text's end.
#include "engine/train/text_output.h"

#include <algorithm>

namespace traind::train {
namespace {

// Bytes at the end that begin a UTF-8 character and lack its rest; 0 if there are none.
size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

// The longest end of `text` that `stop` begins with, shorter than stop itself.
size_t BegunBytes(std::string_view text, std::string_view stop) {
  if (stop.empty()) return 0;
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.substr(text.size() - length) == stop.substr(0, length)) return length;
  }
  return 0;
}

}  // namespace

bool TextOutput::Add(std::string_view piece) {
  if (stopped_) return true;
  const size_t before = text_.size();
  text_ += piece;
  if (stop_.empty()) return false;
  const size_t from = before < stop_.size() ? 0 : before - stop_.size() + 1;
  const size_t found = text_.find(stop_, from);
  if (found == std::string::npos) return false;
  text_.resize(found);
  stopped_ = true;
  return true;
}

std::string_view TextOutput::settled() const {
  const std::string_view text = text_;
  if (stopped_) return text;
  return text.substr(0, text.size() - std::max(UnfinishedBytes(text), BegunBytes(text, stop_)));
}

}  // namespace traind::train
