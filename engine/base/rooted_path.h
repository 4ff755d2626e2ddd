// Paths built from ids and names that can never leave their root.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

// root/part/part…; FORBIDDEN_PATH if a part is empty, "." or "..", or holds '/' or NUL.
Result<std::string> RootedPath(std::string_view root, std::initializer_list<std::string_view> parts);

}  // namespace traind
