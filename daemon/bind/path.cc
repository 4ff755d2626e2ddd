// Makes paths absolute.
#include "daemon/bind/path.h"

#include <fmt/format.h>

#include "daemon/bind/values.h"
#include "engine/base/io.h"
#include "engine/base/limits.h"

namespace traind::daemon {

Result<std::string> PathOf(const std::string& text, const Context& context) {
  if (text.empty()) return Status(ErrorCode::INVALID_OPTION, "a path must not be empty");
  if (text.find('\0') != std::string::npos)
    return Status(ErrorCode::INVALID_OPTION, "a path must not hold a NUL");
  std::string path = AbsolutePath(context.session.directory, text);
  if (static_cast<int64_t>(path.size()) > kMaxPathBytes) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("the path has {} bytes; the limit is {}", path.size(), kMaxPathBytes));
  }
  return path;
}

Result<std::string> BindPath(const grammar::Value& value, std::string_view what, const Context& context) {
  TRAIND_ASSIGN(const std::string text, BindText(value, what));
  Result<std::string> path = PathOf(text, context);
  if (!path.ok()) return path.status().At(value.position);
  return path;
}

}  // namespace traind::daemon
