// What must hold of any bytes that are taken for a file of a model directory.
#pragma once

#include <string_view>

namespace traind::fuzzing {

// A safetensors file is refused with its place, or all of its tensors lie within it, one behind the other.
void CheckSafetensors(std::string_view bytes);

// A config.json is refused with a known error that names it, or describes a model that can be laid out.
void CheckConfig(std::string_view text);

}  // namespace traind::fuzzing
