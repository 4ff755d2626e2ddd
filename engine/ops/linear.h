// Linear: y = x · weightᵀ, with the weight as Hugging Face stores it: [output features, input features], or
// the other way round as gpt2's Conv1D does. The gradient of its bias is an operator of its own (bias.h).
//
// Computed by oneDNN, mostly (matmul.h). A product is prepared when its shape is first seen and kept; at most
// kMaxPreparedProducts are kept, the least recently used goes first. Each call needs
// LinearWorkspaceBytes(threads).
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/ops/context.h"
#include "engine/tensor/workspace.h"

namespace traind::ops {

inline constexpr int kMaxPreparedProducts = 256;

// Of the weight and its gradient.
enum class WeightOrder { kOutputInput, kInputOutput };

struct LinearShape {
  int64_t rows = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
  WeightOrder order = WeightOrder::kOutputInput;
};

enum class Accumulate { kNo, kYes };

// y = x · weightᵀ + bias; `bias_O` may be nullptr: none.
template <typename T>
Status LinearForward(Context& context, const LinearShape& shape, const T* x_RI, const T* weight_OI,
                     const std::type_identity_t<T>* bias_O, T* y_RO, Workspace workspace);

// dx = dy · weight, or dx += dy · weight.
template <typename T>
Status LinearBackwardInput(Context& context, const LinearShape& shape, const T* dy_RO, const T* weight_OI,
                           T* dx_RI, Accumulate accumulate, Workspace workspace);

// dweight = dyᵀ · x, or dweight += dyᵀ · x.
template <typename T>
Status LinearBackwardWeight(Context& context, const LinearShape& shape, const T* dy_RO, const T* x_RI,
                            float* dweight_OI, Accumulate accumulate, Workspace workspace);

}  // namespace traind::ops
