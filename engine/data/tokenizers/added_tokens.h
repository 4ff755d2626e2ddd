// Added and special tokens: finding their content in a text before the rest is tokenised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/tokenizer.h"

namespace traind::data {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;
  bool normalized = false;   // looked for in the normalised text, else in the raw one
  bool single_word = false;  // not inside a word
  bool strip_left = false;   // takes the white space before it along
  bool strip_right = false;
};

// Finds the leftmost, of those the longest, of a set of tokens.
class TokenFinder {
 public:
  explicit TokenFinder(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // Whether a token's place depends on the text around it.
  bool looks_around() const { return looks_around_; }
  size_t longest() const { return longest_; }

  struct Match {
    size_t begin = 0;
    size_t end = 0;
    const AddedToken* token = nullptr;  // nullptr: none
  };
  // The first that begins in [from, limit); `text` goes on behind `limit` as far as it is known. `taken` is
  // how far earlier ones reach: white space before that is not taken along.
  Match Find(std::string_view text, size_t from, size_t limit, size_t taken) const;

 private:
  struct Node {
    int32_t token = -1;
    std::vector<std::pair<unsigned char, int32_t>> next;
  };
  int32_t LongestAt(std::string_view text, size_t at) const;
  int32_t Child(int32_t node, unsigned char byte) const;
  size_t NextCandidate(std::string_view text, size_t from, size_t limit) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
  bool first_bytes_[256] = {};
  int only_first_byte_ = -1;  // if all begin with the same
  bool looks_around_ = false;
  size_t longest_ = 0;
};

}  // namespace traind::data
