// The state that a checkpoint holds, as borrowed memory: weights and moments in the canonical flat order.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/format/manifest.h"
#include "engine/format/safetensors.h"
#include "engine/plan/parameters.h"
#include "engine/spec/model.h"

namespace traind::train {

// The two tensors of an optimizer file, by PyTorch's names.
inline constexpr std::string_view kMoment1Tensor = "exp_avg";
inline constexpr std::string_view kMoment2Tensor = "exp_avg_sq";

struct ModelState {
  const ModelSpec& spec;
  std::span<const plan::Parameter> parameters;  // that cover the flat order
  std::span<float> weights;
  std::span<float> moment_1;  // empty, with moment_2, where there is no optimizer
  std::span<float> moment_2;
};

// The parameters as tensors of a safetensors file.
std::vector<format::TensorToWrite> WeightTensors(const ModelState& state);

// Reads model.safetensors of `directory` into the weights, by name. DAMAGED_FILE naming the tensor if one is
// missing or has another shape. `progress` is called after each tensor.
Status ReadWeights(Io& io, const std::string& directory, const ModelState& state,
                   const std::function<void()>& progress);

// Reads both moments from the files that the manifest's ranges name, whatever number of ranks wrote them.
// DAMAGED_CHECKPOINT if the ranges are not those of this model.
Status ReadMoments(Io& io, const std::string& directory, const format::Manifest& manifest,
                   const ModelState& state, const std::function<void()>& progress);

// The bytes of weights and moments.
int64_t StateBytes(const ModelState& state);

// Copies weights and moments into `memory`, which holds StateBytes, piece by piece; `proceed` is asked before
// each and ends the copy with its error.
Result<ModelState> CopyState(const ModelState& state, std::span<std::byte> memory,
                             const std::function<Status()>& proceed);

// NON_FINITE naming the parameter of the first weight or moment that is NaN or infinite.
Status CheckFinite(const ModelState& state);

}  // namespace traind::train
