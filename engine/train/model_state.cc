// Moves weights and moments between memory and files.
#include "engine/train/model_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace traind::train {
namespace {

std::span<float> PartOf(std::span<float> flat, const plan::Parameter& parameter) {
  return flat.subspan(static_cast<size_t>(parameter.offset), static_cast<size_t>(parameter.elements));
}

Status ReadRange(const format::SafetensorsFile& file, std::string_view name, int64_t elements,
                 std::span<float> out) {
  const int64_t shape[] = {elements};
  return file.Read(name, shape, out);
}

// A float's magnitude as an integer; from here on it is infinite or NaN.
constexpr uint32_t kMagnitude = 0x7fffffff;
constexpr uint32_t kInfinity = 0x7f800000;

uint32_t LargestMagnitude(const float* values, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & kMagnitude);
  }
  return largest;
}

bool AllFinite(std::span<const float> values) {
  constexpr size_t kBlock = 1024;  // a fixed length, so that the compiler vectorises it
  for (; values.size() >= kBlock; values = values.subspan(kBlock)) {
    if (LargestMagnitude(values.data(), kBlock) >= kInfinity) return false;
  }
  return LargestMagnitude(values.data(), values.size()) < kInfinity;
}

}  // namespace

std::vector<format::TensorToWrite> WeightTensors(const ModelState& state) {
  std::vector<format::TensorToWrite> tensors;
  for (const plan::Parameter& parameter : state.parameters) {
    tensors.push_back({parameter.name, parameter.shape, {PartOf(state.weights, parameter)}});
  }
  return tensors;
}

Status ReadWeights(Io& io, const std::string& directory, const ModelState& state,
                   const std::function<void()>& progress) {
  const std::string path = directory + "/" + std::string(format::kWeightsName);
  TRAIND_ASSIGN(const format::SafetensorsFile file, format::SafetensorsFile::Open(io, path));
  for (const plan::Parameter& parameter : state.parameters) {
    TRAIND_TRY(file.Read(parameter.name, parameter.shape, PartOf(state.weights, parameter)));
    progress();
  }
  return Ok();
}

Status ReadMoments(Io& io, const std::string& directory, const format::Manifest& manifest,
                   const ModelState& state, const std::function<void()>& progress) {
  const int64_t end = manifest.optimizer.empty() ? 0 : manifest.optimizer.back().end;
  if (end != std::ssize(state.moment_1)) {
    return Status(ErrorCode::DAMAGED_CHECKPOINT,
                  fmt::format("{}: the optimizer's state has {} elements; the model has {}", directory, end,
                              state.moment_1.size()));
  }
  for (const format::OptimizerRange& range : manifest.optimizer) {
    TRAIND_ASSIGN(const format::SafetensorsFile file,
                  format::SafetensorsFile::Open(io, directory + "/" + range.file));
    const auto begin = static_cast<size_t>(range.begin);
    const auto count = static_cast<size_t>(range.end - range.begin);
    TRAIND_TRY(
        ReadRange(file, kMoment1Tensor, range.end - range.begin, state.moment_1.subspan(begin, count)));
    progress();
    TRAIND_TRY(
        ReadRange(file, kMoment2Tensor, range.end - range.begin, state.moment_2.subspan(begin, count)));
    progress();
  }
  return Ok();
}

int64_t StateBytes(const ModelState& state) {
  return std::ssize(state.weights) * 4 + std::ssize(state.moment_1) * 4 + std::ssize(state.moment_2) * 4;
}

Result<ModelState> CopyState(const ModelState& state, std::span<std::byte> memory,
                             const std::function<Status()>& proceed) {
  if (std::ssize(memory) < StateBytes(state)) {
    return Status(ErrorCode::INTERNAL,
                  fmt::format("a snapshot of {} bytes in {} bytes", StateBytes(state), memory.size()));
  }
  constexpr size_t kPieceElements = size_t{1} << 20;
  ModelState copy = state;
  auto* place = reinterpret_cast<float*>(memory.data());
  for (std::span<float> ModelState::*part :
       {&ModelState::weights, &ModelState::moment_1, &ModelState::moment_2}) {
    const std::span<float> from = state.*part;
    copy.*part = {place, from.size()};
    for (size_t begin = 0; begin < from.size(); begin += kPieceElements) {
      TRAIND_TRY(proceed());
      const std::span<float> piece = from.subspan(begin, std::min(kPieceElements, from.size() - begin));
      std::ranges::copy(piece, place + begin);
    }
    place += from.size();
  }
  return copy;
}

Status CheckFinite(const ModelState& state) {
  const std::pair<std::string_view, std::span<float>> arrays[] = {
      {"weights", state.weights}, {"first moments", state.moment_1}, {"second moments", state.moment_2}};
  for (const auto& [what, flat] : arrays) {
    if (flat.empty()) continue;
    for (const plan::Parameter& parameter : state.parameters) {
      if (AllFinite(PartOf(flat, parameter))) continue;
      return Status(ErrorCode::NON_FINITE,
                    fmt::format("the {} of {} are NaN or infinite", what, parameter.name),
                    "lower learning_rate, or raise warmup_steps");
    }
  }
  return Ok();
}

}  // namespace traind::train
