// Checks text as it is read: UTF-8, and without NUL where that means something else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace traind::data {

// What is wrong, and at which byte (from 0): the first byte of the ill-formed sequence, or the NUL.
struct TextProblem {
  enum class Kind { kInvalidUtf8, kNul };
  Kind kind = Kind::kInvalidUtf8;
  int64_t offset = 0;

  bool operator==(const TextProblem&) const = default;
};

// Takes a text in pieces of any size. Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
class TextValidator {
 public:
  explicit TextValidator(bool nul_is_problem = true) : nul_is_problem_(nul_is_problem) {}

  // The first problem in the next piece. After one the validator is spent.
  std::optional<TextProblem> Check(std::string_view piece);
  // The problem of a text that ends inside a character.
  std::optional<TextProblem> Finish() const;

 private:
  std::optional<TextProblem> CheckByte(unsigned char byte);

  bool nul_is_problem_;
  int64_t offset_ = 0;           // bytes seen
  int64_t character_begin_ = 0;  // of the character that is being read
  int missing_ = 0;              // continuation bytes it still needs
  unsigned char low_ = 0x80;     // bounds of the next one
  unsigned char high_ = 0xbf;
};

}  // namespace traind::data
