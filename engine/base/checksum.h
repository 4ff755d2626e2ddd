// Content hashes (XXH3-128, from xxhash): cache keys, manifests, plan hashes. Not against malice.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace traind {

// 32 lower-case hexadecimal digits.
std::string Checksum(std::string_view bytes);

// The same over pieces.
class ChecksumStream {
 public:
  ChecksumStream();
  ~ChecksumStream();
  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view bytes);
  std::string Hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace traind
