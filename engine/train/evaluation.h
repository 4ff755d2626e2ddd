// The mean loss of held-out data, for validation during training and for EVALUATE.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/sequences.h"
#include "engine/model/model.h"

namespace traind::train {

// The loss over the first `max_sequences` sequences (0: all), in their order, micro-batch by micro-batch; the
// last may be smaller. With `weights` of the sequences' sources it is all of them, source by source, and the
// mean is that of the sources' means by weight. `at_border` is asked before each; false gives it up: nullopt.
Result<std::optional<model::LossSum>> MeanLoss(
    data::Sequences sequences, const std::vector<double>& weights, int64_t max_sequences,
    const std::function<Result<bool>(int64_t micro_batch)>& at_border, model::Model* model);

}  // namespace traind::train
