// The border of the C interface: from a handle to its object, under the rules that traind.h promises.
//
// A call pins its object, enters its guard, runs, records the error and lets no exception out. Everything
// that is wrong with the call itself is TRAIND_MISUSE.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include "capi/objects.h"
#include "capi/statement.h"
#include "capi/traind.h"

namespace traind::capi {

inline int32_t CodeOf(const Status& status) {
  return static_cast<int32_t>(status.code());
}

inline Status Misuse(std::string message, std::string hint = {}) {
  return Status(ErrorCode::MISUSE, std::move(message), std::move(hint));
}

// Text as callers pass it: -1 is "up to the NUL". False for NULL or another negative length.
bool TakeText(const char* text, int64_t length, std::string_view* out);

// Runs `body`; exceptions of libraries (out of memory above all) become INTERNAL.
template <typename Body>
Status Contain(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& problem) {
    return Status(ErrorCode::INTERNAL, problem.what());
  } catch (...) {
    return Status(ErrorCode::INTERNAL, "an unknown exception");
  }
}

// Holds a guard for the length of a call.
class Entry {
 public:
  explicit Entry(Guarded* guarded) : guarded_(guarded->Enter() ? guarded : nullptr) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() {
    if (guarded_ != nullptr) guarded_->Leave();
  }
  explicit operator bool() const { return guarded_ != nullptr; }

 private:
  Guarded* guarded_;
};

// A call on a connection. The body gets the object; its Status is recorded on it.
template <typename Body>
int32_t OnConnection(const void* handle, Body&& body) noexcept {
  Pin pin = Find(Kind::kConnection, handle);
  if (!pin) return TRAIND_MISUSE;
  auto& connection = *static_cast<ConnectionObject*>(pin.object());
  Entry entry(&connection);
  if (!entry || connection.owner != getpid()) return TRAIND_MISUSE;
  Status status = Contain([&] { return body(connection); });
  if (!status.ok()) connection.Record(status);
  return CodeOf(status);
}

// A call that needs the daemon: an opening that failed is answered with its own error.
template <typename Body>
int32_t OnClient(const void* handle, Body&& body) noexcept {
  return OnConnection(handle, [&](ConnectionObject& connection) -> Status {
    if (connection.client() == nullptr) return connection.last_error();
    return body(connection);
  });
}

// A call on a script or statement, under its connection's guard; the error is recorded on both.
template <typename T, Kind kind, typename Body>
int32_t OnDependent(const void* handle, Body&& body) noexcept {
  Pin pin = Find(kind, handle);
  if (!pin) return TRAIND_MISUSE;
  auto& object = *static_cast<T*>(pin.object());
  return OnConnection(object.connection(), [&](ConnectionObject& connection) -> Status {
    Status status = body(object, connection);
    if (!status.ok()) object.Record(status);
    return status;
  });
}

template <typename Body>
int32_t OnStatement(const void* handle, Body&& body) noexcept {
  return OnDependent<StatementObject, Kind::kStatement>(handle, std::forward<Body>(body));
}

template <typename Body>
int32_t OnScript(const void* handle, Body&& body) noexcept {
  return OnDependent<ScriptObject, Kind::kScript>(handle, std::forward<Body>(body));
}

// A part of an error, result or event, which never change; `fallback` if the handle names none.
template <typename T, Kind kind, typename Value, typename Body>
Value Part(const void* handle, Value fallback, Body&& body) noexcept {
  Pin pin = Find(kind, handle);
  return pin ? body(*static_cast<const T*>(pin.object())) : fallback;
}

// Gives an object its handle. INTERNAL if there are too many.
template <typename T>
Status HandOut(Kind kind, std::unique_ptr<Object> object, T** out) {
  void* handle = Register(kind, std::move(object));
  if (handle == nullptr) return Status(ErrorCode::INTERNAL, "more than a million handles are open");
  *out = static_cast<T*>(handle);
  return Ok();
}

// The same for a script or statement, which is then freed with its connection at the latest.
template <typename T>
Status HandOut(Kind kind, std::unique_ptr<Object> object, ConnectionObject* connection, T** out) {
  connection->dependents.reserve(connection->dependents.size() + 1);
  TRAIND_TRY(HandOut(kind, std::move(object), out));
  connection->dependents.push_back(*out);
  return Ok();
}

// Hands out an error object with a copy of `status`.
Status HandOutError(const Status& status, traind_error** out);

// Frees one script or statement; false if the handle names none, or its connection is in use.
bool FreeDependent(Kind kind, void* handle);

}  // namespace traind::capi
