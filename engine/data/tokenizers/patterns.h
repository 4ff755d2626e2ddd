// The patterns by which published tokenizers cut a text into words, under short names.
#pragma once

#include <span>
#include <string_view>

namespace traind::data {

struct NamedPattern {
  std::string_view name;
  std::string_view expression;
};

// gpt2; llama3 (case-insensitive contractions, digits in threes, line ends stay together); qwen (digits
// alone).
inline constexpr NamedPattern kPatterns[] = {
    {"gpt2", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"},
    {"llama3",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
    {"qwen",
     R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
};

// nullptr if there is none of that name.
inline const NamedPattern* FindPattern(std::string_view name) {
  for (const NamedPattern& pattern : kPatterns) {
    if (pattern.name == name) return &pattern;
  }
  return nullptr;
}

}  // namespace traind::data
