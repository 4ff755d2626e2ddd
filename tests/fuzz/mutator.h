// Random changes to texts and byte strings, repeatable from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace traind::fuzzing {

class Mutator {
 public:
  // `corpus` gives whole inputs to begin with and pieces to splice in, `dictionary` words to insert.
  Mutator(std::vector<std::string> corpus, std::vector<std::string> dictionary, uint64_t seed)
      : corpus_(std::move(corpus)), dictionary_(std::move(dictionary)), random_(seed) {}

  // An input of the corpus after one to eight changes.
  std::string Next();

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }
  void Change(std::string* text);

  std::vector<std::string> corpus_;
  std::vector<std::string> dictionary_;
  std::mt19937_64 random_;
};

// The value of an environment variable, or `standard`: how many cases a run tries.
int64_t CasesFromEnvironment(const char* name, int64_t standard);

// The contents of every file in a folder, in the order of their names.
std::vector<std::string> ReadFolder(const std::string& path);

}  // namespace traind::fuzzing
