// Cuts and copies sequences.
#include "engine/data/sequences.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/limits.h"

namespace traind::data {
namespace {

// What one access may make resident besides its own pages: the kernel maps the cached pages around a fault
// (fault_around_bytes, 64 KiB by default), at both ends.
constexpr int64_t kFaultAroundBytes = 2 * 65536;

}  // namespace

int64_t SequenceCount(int64_t tokens, int64_t sequence_length) {
  return std::max<int64_t>(0, (tokens - 1) / sequence_length);
}

Result<Sequences> Sequences::Open(const TokenFile& file, const std::string& name, int64_t sequence_length) {
  const int64_t tokens = std::ssize(file.tokens());
  const int64_t count = SequenceCount(tokens, sequence_length);
  if (count == 0) {
    return Status(ErrorCode::DATA_TOO_SHORT,
                  fmt::format("data '{}' has {} tokens; one sequence of length {} needs {}", name, tokens,
                              sequence_length, sequence_length + 1),
                  "add data or choose a smaller sequence_length");
  }
  return Sequences(&file, sequence_length, count);
}

void Sequences::Read(int64_t index, std::span<int32_t> inputs, std::span<int32_t> targets) {
  const std::span<const Token> tokens = file_->tokens().subspan(static_cast<size_t>(index * length_));
  const auto length = static_cast<size_t>(length_);
  std::copy_n(tokens.begin(), length, inputs.begin());
  std::copy_n(tokens.begin() + 1, length, targets.begin());
  resident_bytes_ += (length_ + 1) * static_cast<int64_t>(sizeof(Token)) + kFaultAroundBytes;
  // A run has two of these, for training and for validation.
  if (resident_bytes_ < kMaxResidentDataBytes / 2) return;
  file_->ReleasePages();
  resident_bytes_ = 0;
}

}  // namespace traind::data
