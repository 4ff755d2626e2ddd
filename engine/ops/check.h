// The checks that operators make of their arguments.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

struct Dimension {
  std::string_view name;
  int64_t value;
};

// Every dimension is at least 1 and no pointer is null.
inline Status CheckArguments(std::string_view op, std::initializer_list<Dimension> dimensions,
                             std::initializer_list<const void*> pointers) {
  for (const Dimension& dimension : dimensions) {
    if (dimension.value < 1) {
      return Status(ErrorCode::INTERNAL, std::string(op) + ": " + std::string(dimension.name) + " is " +
                                             std::to_string(dimension.value) + ", at least 1 is needed");
    }
  }
  for (const void* pointer : pointers) {
    if (pointer == nullptr) return Status(ErrorCode::INTERNAL, std::string(op) + ": a tensor is null");
  }
  return Ok();
}

inline Status CheckWorkspace(std::string_view op, Workspace workspace, int64_t needed_bytes) {
  if (workspace.bytes < needed_bytes || (needed_bytes > 0 && workspace.data == nullptr)) {
    return Status(ErrorCode::INTERNAL, std::string(op) + ": a workspace of " + std::to_string(needed_bytes) +
                                           " bytes is needed, " + std::to_string(workspace.bytes) +
                                           " are given");
  }
  return Ok();
}

// Every index in [0, limit).
inline Status CheckIndices(std::string_view op, int64_t count, const int32_t* index, int64_t limit) {
  for (int64_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= limit) {
      return Status(ErrorCode::TOKEN_OUT_OF_RANGE,
                    std::string(op) + ": token " + std::to_string(index[i]) + " at position " +
                        std::to_string(i) + " is not below the vocabulary of " + std::to_string(limit));
    }
  }
  return Ok();
}

}  // namespace traind::ops
