// XXH3-128 as hexadecimal text.
#include "engine/base/checksum.h"

#include <xxhash.h>

namespace traind {
namespace {

std::string ToHex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(sizeof canonical.digest * 2);
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace

struct ChecksumStream::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() { XXH3_128bits_reset(xxh); }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

std::string Checksum(std::string_view bytes) {
  return ToHex(XXH3_128bits(bytes.data(), bytes.size()));
}

ChecksumStream::ChecksumStream() : state_(std::make_unique<State>()) {}
ChecksumStream::~ChecksumStream() = default;

void ChecksumStream::Update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

void ChecksumStream::Update(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::string ChecksumStream::Hex() const {
  return ToHex(XXH3_128bits_digest(state_->xxh));
}

}  // namespace traind
