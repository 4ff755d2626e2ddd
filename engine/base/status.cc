// Status' out-of-line parts.
#include "engine/base/status.h"

namespace traind {

const std::string& Status::Empty() {
  static const std::string empty;
  return empty;
}

const std::vector<std::string>& Status::expected() const {
  static const std::vector<std::string> none;
  return detail_ ? detail_->expected : none;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text(info().name);
  text += ": ";
  text += message();
  return text;
}

}  // namespace traind
