// The libraries that results depend on, with their versions.
#pragma once

#include <string>

namespace traind::ops {

// "oneDNN 2.6.3, OpenMP 4.5, glibc 2.36": part of every plan's hash, because with another version the bits
// may differ.
std::string LibraryVersions();

}  // namespace traind::ops
