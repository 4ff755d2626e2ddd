// Errors that point at an option.
#include "engine/spec/names.h"

#include "engine/base/json.h"

namespace traind::spec {

Status InvalidOption(std::string_view option, const std::string& message, const std::string& hint) {
  return Status(ErrorCode::INVALID_OPTION, message, hint)
      .With(DumpJson(Json{{"option", std::string(option)}}));
}

}  // namespace traind::spec
