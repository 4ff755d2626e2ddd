// Initial weights from a seed, value by value.
#pragma once

#include <cstdint>
#include <span>

#include "engine/plan/parameters.h"

namespace traind::model {

// Fills the weights of one parameter: ones, zeros, or normal(0, standard_deviation) from Philox4x32-10
// (Salmon et al. 2011) with the Box-Muller transform. A value depends only on the seed, the parameter's name
// and its index there; not on threads, layout or other parameters.
void InitializeParameter(const plan::Parameter& parameter, int64_t seed, double standard_deviation,
                         std::span<float> weights);

}  // namespace traind::model
