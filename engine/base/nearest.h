// "Did you mean": the known word that is most like a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace traind {

// The word of `known` with the fewest single-character edits (case ignored) to `word`, the first of equals;
// empty if even that one shares too little with it to be what was meant.
std::string NearestWord(std::string_view word, std::span<const std::string_view> known);
std::string NearestWord(std::string_view word, const std::vector<std::string>& known);

}  // namespace traind
