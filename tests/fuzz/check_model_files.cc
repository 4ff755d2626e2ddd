// The readers' invariants, checked on one input.
#include "tests/fuzz/check_model_files.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/format/safetensors_header.h"
#include "engine/plan/parameters.h"
#include "engine/train/hf_config.h"
#include "tests/unit/format/memory_file.h"

namespace traind::fuzzing {
namespace {

[[noreturn]] void Fail(std::string_view what, std::string_view bytes) {
  std::fprintf(stderr, "%.*s; %zu bytes:", static_cast<int>(what.size()), what.data(), bytes.size());
  for (const char c : bytes) {
    std::fprintf(stderr, " %02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  std::fprintf(stderr, "\n");
  std::abort();
}

bool Mentions(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

}  // namespace

void CheckSafetensors(std::string_view bytes) {
  const auto tensors = format::ReadSafetensorsHeader(testing::MemoryFile(std::string(bytes)), "/file");
  if (!tensors.ok()) {
    const bool placed =
        tensors.status().code() == ErrorCode::DAMAGED_FILE && Mentions(tensors.status(), "/file: at byte ");
    if (!placed) Fail("refused without its place: " + tensors.status().ToString(), bytes);
    return;
  }
  int64_t end = -1;
  for (const format::TensorInfo& tensor : *tensors) {
    if (end >= 0 && tensor.offset != end) Fail("tensors are not contiguous", bytes);
    if (tensor.bytes < 0 || tensor.offset < format::kSafetensorsPrefixBytes)
      Fail("a tensor lies wrong", bytes);
    int64_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= extent;
    if (elements != tensor.elements()) Fail("a shape does not fit its bytes", bytes);
    end = tensor.offset + tensor.bytes;
  }
  if (end >= 0 && end != static_cast<int64_t>(bytes.size())) Fail("bytes belong to no tensor", bytes);
}

void CheckConfig(std::string_view text) {
  const Result<ModelSpec> model = train::ModelFromHuggingFaceConfig(text, "/config.json");
  if (!model.ok()) {
    const ErrorCode code = model.status().code();
    const bool known = code == ErrorCode::MALFORMED_FRAME || code == ErrorCode::UNKNOWN_ARCHITECTURE ||
                       code == ErrorCode::INVALID_OPTION;
    if (!known) {
      Fail("refused without a reason: " + model.status().ToString(), text);
    }
    return;
  }
  if (!ValidateModel(*model).ok()) Fail("a model that is not valid", text);
  if (ParameterCount(*model) < 1) Fail("a model without parameters", text);
  const auto again = ModelFromJson(ModelToJson(*model));
  if (!again.ok() || *again != *model) Fail("a specification is not read back", text);
}

}  // namespace traind::fuzzing
