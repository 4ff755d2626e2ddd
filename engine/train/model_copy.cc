// Matches tensors with parameters and moves them through one buffer.
#include "engine/train/model_copy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "engine/format/manifest.h"

namespace traind::train {
namespace {

using format::ShardedWeights;

constexpr int64_t kPieceElements = 1 << 20;
constexpr std::string_view kTiedHead = "lm_head.weight";
// Tensors that models keep beside their weights: causal masks and rotary frequencies, which are computed.
constexpr std::string_view kBuffers[] = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"};

// Without the name of the base model, as its own class saves it: "layers.0.…" for "model.layers.0.…".
std::string_view WithoutPrefix(std::string_view name) {
  for (const std::string_view prefix : {"model.", "transformer."}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

bool IsBuffer(std::string_view name) {
  return std::ranges::any_of(kBuffers, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

Status Damaged(std::string message) {
  return Status(ErrorCode::DAMAGED_FILE, std::move(message),
                "config.json and the weights must be of the same model");
}

Result<ShardedWeights::Place> PlaceOf(const ShardedWeights& weights, const plan::Parameter& parameter) {
  const std::string_view shorter = WithoutPrefix(parameter.name);
  const ShardedWeights::Place full = weights.Find(parameter.name);
  const ShardedWeights::Place bare =
      shorter == parameter.name ? ShardedWeights::Place{} : weights.Find(shorter);
  if (full.file != nullptr && bare.file != nullptr) {
    return Damaged(fmt::format("{}: at byte {}: tensor '{}' is there as '{}' too", bare.file->path(),
                               bare.tensor->offset, shorter, parameter.name));
  }
  const ShardedWeights::Place place = full.file != nullptr ? full : bare;
  if (place.file == nullptr) {
    return Damaged(fmt::format("{}: no tensor '{}'", weights.path(), parameter.name));
  }
  if (place.tensor->shape != parameter.shape) {
    return Damaged(fmt::format("{}: at byte {}: tensor '{}' has shape [{}]; config.json makes it [{}]",
                               place.file->path(), place.tensor->offset, place.tensor->name,
                               fmt::join(place.tensor->shape, ", "), fmt::join(parameter.shape, ", ")));
  }
  if (!format::HoldsWeights(place.tensor->type)) {
    return Damaged(fmt::format("{}: at byte {}: tensor '{}' holds neither F32 nor BF16 nor F16",
                               place.file->path(), place.tensor->offset, place.tensor->name));
  }
  return place;
}

}  // namespace

Result<std::vector<ShardedWeights::Place>> MatchParameters(const ShardedWeights& weights,
                                                           const std::vector<plan::Parameter>& parameters) {
  std::vector<ShardedWeights::Place> places;
  std::set<const format::TensorInfo*> used;
  for (const plan::Parameter& parameter : parameters) {
    TRAIND_ASSIGN(const ShardedWeights::Place place, PlaceOf(weights, parameter));
    used.insert(place.tensor);
    places.push_back(place);
  }
  const bool tied = plan::FindParameter(parameters, kTiedHead) == nullptr;
  for (const auto& [name, place] : weights.tensors()) {
    if (used.contains(place.tensor) || IsBuffer(name) || (tied && name == kTiedHead)) continue;
    return Damaged(fmt::format("{}: at byte {}: tensor '{}' is none that config.json's model has",
                               place.file->path(), place.tensor->offset, name));
  }
  return places;
}

Status ModelCopy::Done(int64_t bytes) {
  done_bytes_ += bytes;
  session_->Advance();
  session_->Preparing(std::min(done_bytes_, total_bytes_), total_bytes_);
  if (session_->Poll().stop) return Status(ErrorCode::INTERRUPTED, "asked to stop");
  return Ok();
}

Status ModelCopy::Tensor(const plan::Parameter& parameter, const ShardedWeights::Place& place,
                         WritableFile* file) {
  for (int64_t begin = 0; begin < parameter.elements;) {
    const int64_t count = std::min(kPieceElements, parameter.elements - begin);
    const std::span<float> piece = std::span(piece_).first(static_cast<size_t>(count));
    TRAIND_TRY(place.file->ReadRange(*place.tensor, begin, piece));
    const auto bad = std::ranges::find_if(piece, [](float value) { return !std::isfinite(value); });
    if (bad != piece.end()) {
      const int64_t element = begin + (bad - piece.begin());
      return Status(ErrorCode::NON_FINITE,
                    fmt::format("{}: at byte {}: element {} of tensor '{}' is {}", place.file->path(),
                                place.tensor->offset + element * format::StoredBytes(place.tensor->type),
                                element, place.tensor->name, *bad),
                    "such weights are of no use: nothing could be trained or generated from them");
    }
    TRAIND_TRY(file->Append(std::as_bytes(piece)));
    begin += count;
    TRAIND_TRY(Done(std::ssize(std::as_bytes(piece))));
  }
  return Ok();
}

Status ModelCopy::Weights(const std::vector<plan::Parameter>& parameters,
                          const std::vector<ShardedWeights::Place>& places) {
  piece_.resize(static_cast<size_t>(kPieceElements));
  std::vector<format::NamedShape> shapes;
  for (const plan::Parameter& parameter : parameters) shapes.push_back({parameter.name, parameter.shape});
  const std::string header = format::MakeSafetensorsHeader(shapes);
  TRAIND_ASSIGN(const std::unique_ptr<WritableFile> file,
                io_.Create(directory_ + "/" + std::string(format::kWeightsName)));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(header))));
  for (size_t i = 0; i < parameters.size(); ++i) TRAIND_TRY(Tensor(parameters[i], places[i], file.get()));
  TRAIND_TRY(file->Sync());
  return file->Close();
}

Status ModelCopy::Text(std::string_view name, std::string_view text) {
  TRAIND_ASSIGN(const std::unique_ptr<WritableFile> file, io_.Create(directory_ + "/" + std::string(name)));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(text))));
  TRAIND_TRY(file->Sync());
  return file->Close();
}

Status ModelCopy::Files(const std::string& source, std::span<const std::string_view> names,
                        int64_t max_bytes) {
  for (const std::string_view name : names) {
    const std::string path = fmt::format("{}/{}", source, name);
    TRAIND_ASSIGN(const FileInfo info, io_.Stat(path));
    if (info.kind == FileKind::kMissing) continue;
    TRAIND_ASSIGN(const std::string content, ReadWholeFile(io_, path, max_bytes));
    TRAIND_TRY(Text(name, content));
    TRAIND_TRY(Done(0));
  }
  return Ok();
}

}  // namespace traind::train
