// The text of a generation as it comes: whole characters only, and an end where a stop string begins.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace traind::train {

class TextOutput {
 public:
  // An empty `stop` never ends the text.
  explicit TextOutput(std::string stop) : stop_(std::move(stop)) {}

  // Adds what a token stands for. True if the text holds the stop string: it has been cut before it, and
  // nothing more is added.
  bool Add(std::string_view piece);

  // All of it, as it is at the end.
  const std::string& text() const { return text_; }
  // What will not change any more: without a character whose bytes are not all there, and without what may
  // be the begin of the stop string.
  std::string_view settled() const;

 private:
  const std::string stop_;
  std::string text_;
  bool stopped_ = false;
};

}  // namespace traind::train
