// Hashes a canonical JSON text.
#include "engine/plan/plan_hash.h"

#include "engine/base/checksum.h"

namespace traind::plan {

std::string PlanHash(const ModelSpec& model, const TrainingSpec& training, const Strategy& strategy,
                     const DeviceSpec& device) {
  TrainingSpec numeric = training;
  const TrainingSpec defaults;
  numeric.until = defaults.until;
  numeric.target = defaults.target;
  numeric.validate_every_steps = defaults.validate_every_steps;
  numeric.checkpoint_every_steps = defaults.checkpoint_every_steps;
  numeric.checkpoint_every_seconds = defaults.checkpoint_every_seconds;
  numeric.keep_checkpoints = defaults.keep_checkpoints;
  const Json content = {{"model", ModelToJson(model)},
                        {"training", TrainingToJson(numeric)},
                        {"micro_batch", strategy.micro_batch},
                        {"micro_batches", strategy.micro_batches},
                        {"schedule", strategy.schedule},
                        {"kind", device.kind},
                        {"instruction_set", device.instruction_set},
                        {"threads", device.threads},
                        {"native_bf16", device.bf16_flops_per_second > 0},
                        {"libraries", device.libraries},
                        {"numeric_revision", kNumericRevision}};
  return Checksum(DumpJson(content));
}

}  // namespace traind::plan
