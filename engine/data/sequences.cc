// Cuts and copies sequences.
#include "engine/data/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

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

Result<Sequences> Sequences::Open(const std::vector<NamedTokens>& files, int64_t sequence_length) {
  std::vector<const TokenFile*> opened;
  std::vector<int64_t> counts;
  for (const NamedTokens& tokens : files) {
    const int64_t count = SequenceCount(tokens.file->tokens(), sequence_length);
    if (count == 0) {
      return Status(ErrorCode::DATA_TOO_SHORT,
                    fmt::format("data '{}' has {} tokens; one sequence of length {} needs {}", tokens.name,
                                tokens.file->tokens(), sequence_length, sequence_length + 1),
                    "add data or choose a smaller sequence_length");
    }
    opened.push_back(tokens.file);
    counts.push_back(count);
  }
  return Sequences(std::move(opened), std::move(counts), sequence_length);
}

Sequences::Sequences(std::vector<const TokenFile*> files, std::vector<int64_t> counts, int64_t length)
    : files_(std::move(files)),
      counts_(std::move(counts)),
      length_(length),
      count_(std::accumulate(counts_.begin(), counts_.end(), int64_t{0})) {}

std::string Sequences::PlaceOf(int64_t index) const {
  size_t file = 0;
  for (; file + 1 < counts_.size() && index >= counts_[file]; ++file) index -= counts_[file];
  const int64_t token = index * length_;
  const TokenizedFile& source = files_[file]->FileOf(token);
  return fmt::format("token {} of {}", token - source.token_begin, source.path);
}

void Sequences::Read(int64_t index, std::span<int32_t> inputs, std::span<int32_t> targets) {
  size_t source = 0;
  for (; index >= counts_[source]; ++source) index -= counts_[source];
  const TokenFile& file = *files_[source];
  file.Read(index * length_, inputs);
  std::copy(inputs.begin() + 1, inputs.end(), targets.begin());
  file.Read((index + 1) * length_, targets.last(1));
  resident_bytes_ += (length_ + 1) * file.width() + kFaultAroundBytes;
  // A run has two of these, for training and for validation.
  if (resident_bytes_ < kMaxResidentDataBytes / 2) return;
  for (const TokenFile* each : files_) each->ReleasePages();
  resident_bytes_ = 0;
}

}  // namespace traind::data
