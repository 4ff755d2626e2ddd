// Paths that stay below their root.
#include "engine/base/rooted_path.h"

namespace traind {

Result<std::string> RootedPath(std::string_view root, std::initializer_list<std::string_view> parts) {
  std::string path(root);
  for (const std::string_view part : parts) {
    constexpr std::string_view kForbidden("/\0", 2);
    if (part.empty() || part == "." || part == ".." ||
        part.find_first_of(kForbidden) != std::string_view::npos) {
      return Status(ErrorCode::FORBIDDEN_PATH,
                    "'" + std::string(part) + "' cannot name something in " + std::string(root),
                    "A part of a path may not be empty, '.' or '..', nor hold '/' or NUL.");
    }
    if (path.empty() || path.back() != '/') path += '/';
    path += part;
  }
  return path;
}

}  // namespace traind
