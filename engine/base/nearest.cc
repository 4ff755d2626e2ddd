// Edit distance (optimal string alignment: insert, delete, replace, swap of neighbours).
#include "engine/base/nearest.h"

#include <algorithm>

namespace traind {
namespace {

// Longer words than any name of ours are not compared: the work is quadratic.
constexpr size_t kMaxCompared = 128;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_previous(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      const bool swapped =
          i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) && Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before_previous[j - 2] + 1);
    }
    std::swap(before_previous, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  size_t best_distance = std::string_view::npos;
  if (word.empty() || word.size() > kMaxCompared) return {};
  for (const std::string_view candidate : known) {
    if (candidate.size() > kMaxCompared) continue;
    const size_t distance = Distance(word, candidate);
    // A third of the longer word may differ, at least one character, never all.
    const size_t longer = std::max(word.size(), candidate.size());
    if (distance >= longer || distance > std::max<size_t>(1, longer / 3)) continue;
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string NearestWord(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return NearestWord(word, std::span<const std::string_view>(views));
}

}  // namespace traind
