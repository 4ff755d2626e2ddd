// UTF-8 by the Unicode standard's table 3-7 (well-formed byte sequences), with a fast path for plain ASCII.
#include "engine/data/text_validator.h"

#include <cstddef>

namespace traind::data {
namespace {

constexpr size_t kBlockBytes = 64;

// Whether all of a block is ASCII other than NUL; a loop that compilers vectorise.
bool IsPlainAscii(const unsigned char* bytes) {
  unsigned char other = 0;
  for (size_t i = 0; i < kBlockBytes; ++i) {
    other = static_cast<unsigned char>(other | bytes[i] | static_cast<unsigned char>(bytes[i] - 1));
  }
  return (other & 0x80) == 0;
}

struct LeadByte {
  unsigned char first, last;  // the range of lead bytes
  int continuations;
  unsigned char low, high;  // bounds of the first continuation byte
};

constexpr LeadByte kLeadBytes[] = {
    {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf}, {0xe1, 0xec, 2, 0x80, 0xbf},
    {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf}, {0xf0, 0xf0, 3, 0x90, 0xbf},
    {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

}  // namespace

std::optional<TextProblem> TextValidator::CheckByte(unsigned char byte) {
  if (missing_ > 0) {
    if (byte < low_ || byte > high_) return TextProblem{TextProblem::Kind::kInvalidUtf8, character_begin_};
    low_ = 0x80;
    high_ = 0xbf;
    --missing_;
    return std::nullopt;
  }
  if (byte == 0 && nul_is_problem_) return TextProblem{TextProblem::Kind::kNul, offset_};
  if (byte < 0x80) return std::nullopt;
  for (const LeadByte& lead : kLeadBytes) {
    if (byte < lead.first || byte > lead.last) continue;
    character_begin_ = offset_;
    missing_ = lead.continuations;
    low_ = lead.low;
    high_ = lead.high;
    return std::nullopt;
  }
  return TextProblem{TextProblem::Kind::kInvalidUtf8, offset_};
}

std::optional<TextProblem> TextValidator::Check(std::string_view piece) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(piece.data());
  for (size_t i = 0; i < piece.size();) {
    if (missing_ == 0 && piece.size() - i >= kBlockBytes && IsPlainAscii(bytes + i)) {
      i += kBlockBytes;
      offset_ += static_cast<int64_t>(kBlockBytes);
      continue;
    }
    // A block that is not plain is read byte by byte to its end before the fast path is tried again.
    const size_t end = piece.size() - i < kBlockBytes ? piece.size() : i + kBlockBytes;
    for (; i < end; ++i, ++offset_) {
      if (const std::optional<TextProblem> problem = CheckByte(bytes[i])) return problem;
    }
  }
  return std::nullopt;
}

std::optional<TextProblem> TextValidator::Finish() const {
  if (missing_ == 0) return std::nullopt;
  return TextProblem{TextProblem::Kind::kInvalidUtf8, character_begin_};
}

}  // namespace traind::data
