// AdamW: checks, the step's factors in double, and dispatch.
#include "engine/ops/adamw.h"

#include <cmath>

#include "engine/ops/check.h"
#include "engine/ops/cpu_kernels.h"

namespace traind::ops {

namespace {

AdamwFactors FactorsOf(const AdamwSettings& settings) {
  const auto step = static_cast<double>(settings.step);
  const double correction1 = 1 - std::pow(settings.beta1, step);
  const double correction2 = 1 - std::pow(settings.beta2, step);
  return {
      .gradient_scale = static_cast<float>(settings.gradient_scale),
      .beta1 = static_cast<float>(settings.beta1),
      .one_minus_beta1 = static_cast<float>(1 - settings.beta1),
      .beta2 = static_cast<float>(settings.beta2),
      .one_minus_beta2 = static_cast<float>(1 - settings.beta2),
      .keep = static_cast<float>(1 - settings.learning_rate * settings.weight_decay),
      .step_size = static_cast<float>(settings.learning_rate / correction1),
      .v_scale = static_cast<float>(1 / std::sqrt(correction2)),
      .epsilon = static_cast<float>(settings.epsilon),
  };
}

}  // namespace

Status Adamw(Context& context, const AdamwSettings& settings, int64_t elements, const float* gradient,
             float* weight, float* m, float* v, Bfloat16* rounded) {
  TRAIND_TRY(
      CheckArguments("adamw", {{"elements", elements}, {"step", settings.step}}, {gradient, weight, m, v}));
  context.kernels().adamw(context.ThreadsFor(elements), FactorsOf(settings), elements, gradient, weight, m, v,
                          rounded);
  return Ok();
}

}  // namespace traind::ops
