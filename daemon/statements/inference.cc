// What EVALUATE and GENERATE share: the version, and a plan for a worker that only runs forward.
#include "daemon/statements/inference.h"

#include <fmt/format.h>

#include "daemon/bind/model.h"
#include "daemon/catalog/tokenizers.h"

namespace traind::daemon {

Result<InferenceModel> BindInferenceModel(const grammar::ModelRef& ref, const Context& context) {
  InferenceModel inference;
  TRAIND_ASSIGN(inference.model, FindModel(ref.name, context));
  TRAIND_ASSIGN(const int64_t number, BindVersion(ref, inference.model, context));
  TRAIND_ASSIGN(const auto version, LookUpVersion(context.reader, inference.model.id, number));
  if (!version && context.check && number > 0) return inference;  // the script would have made it
  if (!version) {
    return Status(ErrorCode::NO_SUCH_VERSION, fmt::format("{} has no version yet", ref.name.text),
                  fmt::format("TRAIN MODEL {} … makes the first", ref.name.text))
        .At(ref.name.position);
  }
  inference.weights = version->path;
  inference.tokenizer = TokenizerDirectory(context.daemon.state_directory, inference.model.spec.tokenizer_id);
  return inference;
}

// It runs beside the jobs, so only what is free now counts.
Result<plan::Plan> PlanOnOneDevice(SourcePosition position, const Context& context,
                                   const std::function<Result<plan::Plan>(const DeviceSpec& device)>& make) {
  const std::vector<DeviceSpec> devices =
      context.daemon.devices ? context.daemon.devices() : std::vector<DeviceSpec>();
  if (devices.empty()) {
    return Status(ErrorCode::NO_FEASIBLE_PLAN, "the inventory has no device", "SHOW GPUS lists it")
        .At(position);
  }
  Status refused;
  for (const DeviceSpec& device : devices) {
    auto plan = make(device);
    if (plan.ok()) return plan;
    if (refused.ok()) refused = plan.status();
  }
  return std::move(refused).At(position);
}

}  // namespace traind::daemon
