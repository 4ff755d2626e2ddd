// Names of operators and passes, for messages and EXPLAIN.
#include "engine/plan/program.h"

namespace traind::plan {

std::string_view OpKindName(OpKind kind) {
  static constexpr std::string_view kNames[kOpKinds] = {
      "embedding", "position",         "rms_norm", "layer_norm", "linear",        "rope",
      "attention", "cached_attention", "swiglu",   "gelu",       "cross_entropy", "fill",
      "add",       "square_norm",      "adamw"};
  return kNames[static_cast<int>(kind)];
}

std::string_view PassName(Pass pass) {
  static constexpr std::string_view kNames[] = {"forward", "backward_input", "backward_weight"};
  return kNames[static_cast<int>(pass)];
}

}  // namespace traind::plan
