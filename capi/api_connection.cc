// traind.h: connections and events.
#include <cstdlib>
#include <cstring>

#include "capi/call.h"

using namespace traind;        // NOLINT(google-build-using-namespace)
using namespace traind::capi;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::string_view kAllKinds = "state,metric,log,budget";

Result<Config> ConfigOf(const traind_config* handle) {
  if (handle == nullptr) return Config();
  Pin pin = Find(Kind::kConfig, handle);
  if (!pin) return Misuse("the configuration is no handle, or was freed");
  auto& object = *static_cast<ConfigObject*>(pin.object());
  Entry entry(&object);
  if (!entry) return Misuse("the configuration is in use by another thread");
  return object.config;
}

Status Open(const char* address, const traind_config* config, ConnectionObject* connection) {
  if (address == nullptr) return Misuse("the address is NULL", "\"\" means your own daemon");
  TRAIND_ASSIGN(connection->config, ConfigOf(config));
  TRAIND_ASSIGN(connection->session, OpenSession(address, connection->config));
  return Ok();
}

Result<Json> KindsFrom(const char* list) {
  Json kinds = Json::array();
  std::string_view rest = list == nullptr ? kAllKinds : list;
  while (!rest.empty()) {
    size_t comma = rest.find(',');
    std::string kind(rest.substr(0, comma));
    std::erase(kind, ' ');
    if (("," + std::string(kAllKinds) + ",").find("," + kind + ",") == std::string::npos) {
      return Status(ErrorCode::INVALID_OPTION, "'" + kind + "' is no kind of event",
                    "the kinds are state, metric, log, budget");
    }
    kinds.push_back(kind);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return kinds;
}

int32_t Pump(traind_conn* handle, int timeout_ms) {
  return OnClient(
      handle, [&](ConnectionObject& connection) { return connection.client()->Pump(timeout_ms).status(); });
}

template <typename Value, typename Body>
Value EventPart(const traind_event* event, Value fallback, Body body) {
  return Part<EventObject, Kind::kEvent>(event, fallback, body);
}

// The field at a path ("loss", "preparing.0"), or nullptr.
const Json* FieldOf(const EventObject& event, const char* path) {
  if (path == nullptr) return nullptr;
  const Json* field = &event.event.body;
  for (std::string_view rest = path; field != nullptr && !rest.empty();) {
    size_t dot = rest.find('.');
    std::string step(rest.substr(0, dot));
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    size_t index = static_cast<size_t>(atoi(step.c_str()));
    if (field->is_object() && field->contains(step)) {
      field = &(*field)[step];
    } else {
      field = field->is_array() && index < field->size() ? &(*field)[index] : nullptr;
    }
  }
  return field;
}

}  // namespace

extern "C" {

int32_t traind_open(const char* address, const traind_config* config, traind_conn** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return CodeOf(Contain([&] {
    auto object = std::make_unique<ConnectionObject>();
    ConnectionObject* connection = object.get();
    Status opened = Contain([&] { return Open(address, config, connection); });
    connection->Record(opened);
    if (!opened.ok()) connection->session = Session();
    TRAIND_TRY(HandOut(Kind::kConnection, std::move(object), out));
    if (opened.ok()) SetWake(*out, connection->client()->wake_descriptor());
    return opened;
  }));
}

int32_t traind_close(traind_conn* handle, char** message) {
  if (message != nullptr) *message = nullptr;
  if (handle == nullptr) return TRAIND_OK;
  int32_t outcome = TRAIND_OK;
  bool mine = false;
  int32_t entered = OnConnection(handle, [&](ConnectionObject& connection) {
    mine = true;
    for (void* dependent : connection.dependents) Release(KindOf(dependent), dependent);
    connection.dependents.clear();
    if (connection.client() == nullptr) return Ok();
    Result<std::string> said = CloseSession(&connection.session);
    if (!said.ok()) outcome = CodeOf(said.status());
    if (said.ok() && !said->empty() && message != nullptr) *message = strdup(said->c_str());
    return Ok();
  });
  if (!mine) return entered;
  Release(Kind::kConnection, handle);
  return entered == TRAIND_OK ? outcome : entered;
}

const char* traind_conn_info(traind_conn* handle, const char* key) {
  const char* value = nullptr;
  OnConnection(handle, [&](ConnectionObject& connection) {
    auto found = key == nullptr ? connection.session.info.end() : connection.session.info.find(key);
    if (found != connection.session.info.end()) value = found->second.c_str();
    return Ok();
  });
  return value;
}

int32_t traind_interrupt(traind_conn* conn) {
  return Interrupt(conn) ? TRAIND_OK : TRAIND_MISUSE;
}

int32_t traind_fd(traind_conn* handle) {
  int32_t descriptor = -1;
  OnClient(handle, [&](ConnectionObject& connection) {
    if (connection.client()->lost().ok()) descriptor = connection.client()->poll_descriptor();
    return Ok();
  });
  return descriptor;
}

int32_t traind_events_wanted(traind_conn* handle) {
  // Whether the socket takes more is watched behind the descriptor, so that it is always readable news.
  return OnClient(handle, [](ConnectionObject&) { return Ok(); }) == TRAIND_OK ? TRAIND_POLL_IN : 0;
}

int32_t traind_process(traind_conn* handle) {
  return Pump(handle, kNoWait);
}

int32_t traind_poll(traind_conn* handle, int32_t timeout_ms) {
  return Pump(handle, timeout_ms < 0 ? kNoLimit : timeout_ms);
}

int32_t traind_subscribe(traind_conn* handle, int64_t job, const char* kinds, int64_t* subscription) {
  return OnClient(handle, [&](ConnectionObject& connection) -> Status {
    if (job < 0) return Misuse("a job's number is not negative", "0 means all jobs");
    TRAIND_ASSIGN(Json wanted, KindsFrom(kinds));
    int64_t id = 0;
    TRAIND_TRY(connection.client()
                   ->Call({{"op", "subscribe"}, {"job", job == 0 ? Json() : Json(job)}, {"kinds", wanted}},
                          kNoLimit, &id)
                   .status());
    if (subscription != nullptr) *subscription = id;
    return Ok();
  });
}

int32_t traind_unsubscribe(traind_conn* handle, int64_t subscription) {
  return OnClient(handle, [&](ConnectionObject& connection) {
    return connection.client()->Call({{"op", "unsubscribe"}, {"target", subscription}}).status();
  });
}

int32_t traind_next_event(traind_conn* handle, traind_event** out) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return OnClient(handle, [&](ConnectionObject& connection) -> Status {
    std::optional<Event> event = connection.client()->NextEvent();
    if (!event.has_value()) return Ok();
    auto object = std::make_unique<EventObject>();
    object->json = DumpJson(event->body);
    object->event = *std::move(event);
    return HandOut(Kind::kEvent, std::move(object), out);
  });
}

const char* traind_event_kind(const traind_event* event) {
  return EventPart<const char*>(event, "",
                                [](const EventObject& object) { return object.event.kind.c_str(); });
}

int64_t traind_event_job(const traind_event* event) {
  return EventPart<int64_t>(event, 0, [](const EventObject& object) { return object.event.job; });
}

int64_t traind_event_subscription(const traind_event* event) {
  return EventPart<int64_t>(event, 0, [](const EventObject& object) { return object.event.subscription; });
}

const char* traind_event_json(const traind_event* event) {
  return EventPart<const char*>(event, "", [](const EventObject& object) { return object.json.c_str(); });
}

const char* traind_event_text(const traind_event* event, const char* key) {
  return EventPart<const char*>(event, nullptr, [&](const EventObject& object) -> const char* {
    const Json* field = FieldOf(object, key);
    const auto* text = field == nullptr ? nullptr : field->get_ptr<const std::string*>();
    return text == nullptr ? nullptr : text->c_str();
  });
}

int32_t traind_event_number(const traind_event* event, const char* key, double* out) {
  if (out == nullptr) return TRAIND_MISUSE;
  return EventPart<int32_t>(event, TRAIND_MISUSE, [&](const EventObject& object) -> int32_t {
    const Json* field = FieldOf(object, key);
    if (field == nullptr || !field->is_number()) return TRAIND_MISUSE;
    *out = field->get<double>();
    return TRAIND_OK;
  });
}

void traind_event_free(traind_event* event) {
  Release(Kind::kEvent, event);
}

}  // extern "C"
