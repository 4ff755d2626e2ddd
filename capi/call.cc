// What the interface's functions share.
#include "capi/call.h"

#include <cstring>

namespace traind::capi {

bool TakeText(const char* text, int64_t length, std::string_view* out) {
  if (text == nullptr || length < -1) return false;
  *out = std::string_view(text, length < 0 ? strlen(text) : static_cast<size_t>(length));
  return true;
}

Status HandOutError(const Status& status, traind_error** out) {
  auto error = std::make_unique<ErrorObject>();
  error->status = status;
  return HandOut(Kind::kError, std::move(error), out);
}

bool FreeDependent(Kind kind, void* handle) {
  Pin pin = Find(kind, handle);
  if (!pin) return false;
  void* owner = static_cast<Dependent*>(pin.object())->connection();
  int32_t code = OnConnection(owner, [&](ConnectionObject& connection) {
    if (kind == Kind::kStatement) static_cast<StatementObject*>(pin.object())->Reset(connection.client());
    std::erase(connection.dependents, handle);
    pin.Drop();
    Release(kind, handle);
    return Ok();
  });
  return code == TRAIND_OK;
}

}  // namespace traind::capi
