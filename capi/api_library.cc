// traind.h: the library itself, configurations, errors.
#include <cstdlib>

#include "capi/call.h"

using namespace traind;        // NOLINT(google-build-using-namespace)
using namespace traind::capi;  // NOLINT(google-build-using-namespace)

static_assert(TRAIND_MAX_SCRIPT_BYTES == kMaxScriptBytes);
static_assert(TRAIND_MAX_INCLUDE_DEPTH == kMaxIncludeDepth);

namespace {

const ErrorInfo* InfoOfCode(int32_t code) {
  const ErrorInfo& info = InfoOf(static_cast<ErrorCode>(code));
  return static_cast<int32_t>(info.code) == code ? &info : nullptr;
}

struct PlainCode {
  int32_t code;
  const char* name;
  const char* text;
};
constexpr PlainCode kPlainCodes[] = {
    {TRAIND_OK, "OK", "Done."},
    {TRAIND_ROW, "ROW", "A row can be read."},
    {TRAIND_DONE, "DONE", "The statement has ended well."},
    {TRAIND_AGAIN, "AGAIN", "Nothing has arrived yet."},
};

// The last error of whatever carries one, copied under its guard; false on misuse.
bool LastError(const void* handle, Status* out) {
  auto take = [&](Fallible& object) {
    *out = object.last_error();
    return Ok();
  };
  switch (handle == nullptr ? Kind::kError : KindOf(handle)) {
    case Kind::kConnection:
      return OnConnection(handle, take) == TRAIND_OK;
    case Kind::kScript:
      return OnScript(handle, [&](ScriptObject& s, auto&) { return take(s); }) == TRAIND_OK;
    case Kind::kStatement:
      return OnStatement(handle, [&](StatementObject& s, auto&) { return take(s); }) == TRAIND_OK;
    case Kind::kConfig: {
      Pin pin = Find(Kind::kConfig, handle);
      if (!pin) return false;
      auto& config = *static_cast<ConfigObject*>(pin.object());
      Entry entry(&config);
      return entry && take(config).ok();
    }
    default:
      return false;
  }
}

template <typename Value, typename Body>
Value ErrorPart(const traind_error* error, Value fallback, Body body) {
  return Part<ErrorObject, Kind::kError>(error, fallback,
                                         [&](const ErrorObject& object) { return body(object.status); });
}

// The text of the last traind_errmsg of this thread, so that it stays valid while other handles change.
thread_local std::string last_message;

}  // namespace

extern "C" {

int32_t traind_abi_version(void) {
  return TRAIND_ABI_VERSION;
}

const char* traind_version_string(void) {
  return TRAIND_VERSION;
}

int32_t traind_has_feature(const char* name) {
  if (name == nullptr) return 0;
  std::string_view feature(name);
  return feature == "unix" || feature == "embed" ? 1 : 0;
}

const char* traind_errstr(int32_t code) {
  for (const PlainCode& plain : kPlainCodes) {
    if (plain.code == code) return plain.text;
  }
  const ErrorInfo* info = InfoOfCode(code);
  return info == nullptr ? "An error that this version of libtraind does not know." : info->text.data();
}

const char* traind_errname(int32_t code) {
  for (const PlainCode& plain : kPlainCodes) {
    if (plain.code == code) return plain.name;
  }
  const ErrorInfo* info = InfoOfCode(code);
  return info == nullptr ? "UNKNOWN" : info->name.data();
}

int32_t traind_exit_code(int32_t code) {
  for (const PlainCode& plain : kPlainCodes) {
    if (plain.code == code) return TRAIND_EXIT_OK;
  }
  const ErrorInfo* info = InfoOfCode(code);
  return info == nullptr ? TRAIND_EXIT_FAILED : info->exit_code;
}

void traind_free(void* string) {
  std::free(string);
}

int32_t traind_config_new(traind_config** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return CodeOf(Contain([&] { return HandOut(Kind::kConfig, std::make_unique<ConfigObject>(), out); }));
}

int32_t traind_config_set(traind_config* handle, const char* key, const char* value) {
  Pin pin = Find(Kind::kConfig, handle);
  if (!pin) return TRAIND_MISUSE;
  auto& config = *static_cast<ConfigObject*>(pin.object());
  Entry entry(&config);
  if (!entry) return TRAIND_MISUSE;
  Status status = Contain([&] {
    if (key == nullptr || value == nullptr) return Misuse("a key or value that is NULL");
    return SetOption(key, value, &config.config);
  });
  if (!status.ok()) config.Record(status);
  return CodeOf(status);
}

void traind_config_free(traind_config* config) {
  Release(Kind::kConfig, config);
}

const char* traind_errmsg(const void* handle) {
  Status status;
  Status copied = Contain([&] {
    if (LastError(handle, &status))
      last_message = status.message();
    else
      last_message.clear();
    return Ok();
  });
  return copied.ok() ? last_message.c_str() : "";
}

int32_t traind_error_get(const void* handle, traind_error** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return CodeOf(Contain([&]() -> Status {
    Status status;
    if (!LastError(handle, &status)) return Misuse("no handle that carries errors");
    return status.ok() ? Ok() : HandOutError(status, out);
  }));
}

int32_t traind_error_code(const traind_error* error) {
  return ErrorPart<int32_t>(error, TRAIND_MISUSE, [](const Status& status) { return CodeOf(status); });
}

const char* traind_error_name(const traind_error* error) {
  return ErrorPart<const char*>(error, "", [](const Status& status) { return status.info().name.data(); });
}

const char* traind_error_class(const traind_error* error) {
  return ErrorPart<const char*>(error, "",
                                [](const Status& status) { return status.info().error_class.data(); });
}

const char* traind_error_message(const traind_error* error) {
  return ErrorPart<const char*>(error, "", [](const Status& status) { return status.message().c_str(); });
}

const char* traind_error_hint(const traind_error* error) {
  return ErrorPart<const char*>(error, "", [](const Status& status) { return status.hint().c_str(); });
}

const char* traind_error_detail(const traind_error* error) {
  return ErrorPart<const char*>(error, "", [](const Status& status) { return status.detail_json().c_str(); });
}

int32_t traind_error_retryable(const traind_error* error) {
  return ErrorPart<int32_t>(error, 0, [](const Status& status) { return status.info().retryable ? 1 : 0; });
}

int64_t traind_error_offset(const traind_error* error) {
  return ErrorPart<int64_t>(error, 0, [](const Status& status) { return status.position().offset; });
}

int32_t traind_error_line(const traind_error* error) {
  return ErrorPart<int32_t>(error, 0, [](const Status& status) { return status.position().line; });
}

int32_t traind_error_column(const traind_error* error) {
  return ErrorPart<int32_t>(error, 0, [](const Status& status) { return status.position().column; });
}

int32_t traind_error_expected_count(const traind_error* error) {
  return ErrorPart<int32_t>(
      error, 0, [](const Status& status) { return static_cast<int32_t>(status.expected().size()); });
}

const char* traind_error_expected(const traind_error* error, int32_t index) {
  return ErrorPart<const char*>(error, "", [&](const Status& status) {
    bool inside = index >= 0 && static_cast<size_t>(index) < status.expected().size();
    return inside ? status.expected()[static_cast<size_t>(index)].c_str() : "";
  });
}

void traind_error_free(traind_error* error) {
  Release(Kind::kError, error);
}

}  // extern "C"
