// How long one piece of work may take without progress before a worker counts as hung.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/plan/schedule.h"
#include "engine/train/pace.h"

namespace traind::train {

// max(30 s, 20 × predicted), four times that for the first of its kind (it prepares things), and 120 s at
// least for what reads or writes files; `scale` is for tests.
class Deadlines {
 public:
  Deadlines(const PaceSeconds& predicted, double scale) : predicted_(predicted), scale_(scale) {}

  double Files() const { return scale_ * std::max(kFileSeconds, kFactor * predicted_.checkpoint); }

  // One operator belongs to an instruction; a whole step is a bound on it that is never too small.
  double Of(plan::InstructionKind kind) {
    const bool validates = kind == plan::InstructionKind::kValidate;
    const double predicted = validates ? predicted_.validation : predicted_.step;
    const double seconds = scale_ * std::max(kLeastSeconds, kFactor * predicted);
    const uint32_t bit = uint32_t{1} << static_cast<int>(kind);
    const bool first = (seen_ & bit) == 0;
    seen_ |= bit;
    return first ? kFirstFactor * seconds : seconds;
  }

 private:
  static constexpr double kLeastSeconds = 30;
  static constexpr double kFileSeconds = 120;
  static constexpr double kFactor = 20;
  static constexpr double kFirstFactor = 4;

  PaceSeconds predicted_;
  double scale_;
  uint32_t seen_ = 0;
};

}  // namespace traind::train
