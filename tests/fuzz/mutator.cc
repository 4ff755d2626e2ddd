// Mutations of bytes and of words.
#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace traind::fuzzing {

std::string Mutator::Next() {
  std::string text = corpus_[Below(corpus_.size())];
  for (size_t changes = 1 + Below(8); changes > 0; --changes) Change(&text);
  return text;
}

void Mutator::Change(std::string* text) {
  constexpr size_t kMostBytes = 16384;
  const size_t place = Below(text->size() + 1);
  const size_t length = Below(1 + std::min<size_t>(text->size() - place, 1 + Below(32)));
  switch (Below(9)) {
    case 0:  // a random byte in place of one
      if (place < text->size()) (*text)[place] = static_cast<char>(Below(256));
      break;
    case 1:  // one bit
      if (place < text->size()) (*text)[place] = static_cast<char>((*text)[place] ^ (1 << Below(8)));
      break;
    case 2:
      text->insert(place, 1, static_cast<char>(Below(256)));
      break;
    case 3:
      text->erase(place, length);
      break;
    case 4:
      text->insert(Below(text->size() + 1), text->substr(place, length));
      break;
    case 5:
      text->resize(place);
      break;
    case 6:
      text->insert(place, dictionary_[Below(dictionary_.size())]);
      break;
    case 7:
      text->insert(place, " " + dictionary_[Below(dictionary_.size())] + " ");
      break;
    default: {  // the head of one input, the tail of another
      const std::string& other = corpus_[Below(corpus_.size())];
      *text = text->substr(0, place) + other.substr(Below(other.size() + 1));
      break;
    }
  }
  if (text->size() > kMostBytes) text->resize(kMostBytes);
}

int64_t CasesFromEnvironment(const char* name, int64_t standard) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoll(value, nullptr, 10) : standard;
}

std::vector<std::string> ReadFolder(const std::string& path) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(path)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> contents;
  for (const auto& file_path : paths) {
    std::ifstream file(file_path, std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return contents;
}

}  // namespace traind::fuzzing
