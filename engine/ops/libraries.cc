// Asks the libraries for their versions.
#include "engine/ops/libraries.h"

#include <gnu/libc-version.h>

#include <oneapi/dnnl/dnnl.hpp>

namespace traind::ops {
namespace {

// The standard's version by the month that the compiler's macro names.
std::string OpenMpVersion() {
#if _OPENMP >= 202111
  return "5.2";
#elif _OPENMP >= 202011
  return "5.1";
#elif _OPENMP >= 201811
  return "5.0";
#else
  return "4.5";
#endif
}

}  // namespace

std::string LibraryVersions() {
  const dnnl_version_t* dnnl = dnnl_version();
  return "oneDNN " + std::to_string(dnnl->major) + "." + std::to_string(dnnl->minor) + "." +
         std::to_string(dnnl->patch) + ", OpenMP " + OpenMpVersion() + ", glibc " + gnu_get_libc_version();
}

}  // namespace traind::ops
