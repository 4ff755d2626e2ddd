// The JSON header of a safetensors file: what tensors it holds and where.
//
// A file is: 8 bytes, little-endian, the header's length; the header; the tensors' bytes. This reader trusts
// nothing: lengths are checked before memory is taken, the header is read in pieces and never kept whole, so
// that a hostile one costs no more than its tensors' names. It knows every type whose elements are whole
// bytes, because files hold tensors besides the weights; values are read of three of them (stored_type.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/stored_type.h"

namespace traind::format {

inline constexpr int64_t kSafetensorsPrefixBytes = 8;

struct TensorInfo {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;
  StoredType type = StoredType::kF32;

  int64_t elements() const { return bytes / StoredBytes(type); }
};

// The tensors of `file`, by offset. `path` is for messages. DAMAGED_FILE names the byte offset if
//   the header's length is not within the file and the limit, the header is no JSON object of tensors, a name
//   is given twice, a dtype is unknown, a shape's product does not fit its bytes, or the tensors' bytes are
//   not contiguous from the header's end to the file's.
Result<std::vector<TensorInfo>> ReadSafetensorsHeader(const ReadableFile& file, const std::string& path);

struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};

// Length and header for tensors that follow in this order; padded with spaces to 8 bytes, marked with
// {"format": "pt"}, which transformers asks for.
std::string MakeSafetensorsHeader(std::span<const NamedShape> tensors);

}  // namespace traind::format
