// What the handles name. Each is used under its connection's guard (call.h), so none has locks of its own.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capi/config.h"
#include "capi/connect.h"
#include "capi/handles.h"
#include "capi/script.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::capi {

// Something that remembers its last error.
class Fallible : public Object {
 public:
  void Record(const Status& status) { last_error_ = status; }
  const Status& last_error() const { return last_error_; }

 private:
  Status last_error_;
};

// Says that a thread is inside; a second one is told so instead of waiting.
class Guarded : public Fallible {
 public:
  bool Enter() { return !busy_.exchange(true); }
  void Leave() { busy_.store(false); }

 private:
  std::atomic<bool> busy_{false};
};

struct ConfigObject : Guarded {
  Config config;
};

struct ConnectionObject : Guarded {
  Config config;
  Session session;                // its client is null when opening failed
  std::vector<void*> dependents;  // handles of scripts and statements, which go with the connection
  pid_t owner = getpid();         // a fork's child must not use it

  Client* client() const { return session.client.get(); }
};

// A script or statement: used under the guard of its connection.
class Dependent : public Fallible {
 public:
  explicit Dependent(void* connection) : connection_(connection) {}
  void* connection() const { return connection_; }

 private:
  void* connection_;
};

struct ScriptObject : Dependent {
  ScriptObject(void* connection, Script parsed) : Dependent(connection), script(std::move(parsed)) {}
  Script script;
};

struct ErrorObject : Object {
  Status status;
};

struct EventObject : Object {
  Event event;
  std::string json;
};

struct ResultObject : Object {
  std::string json;
};

struct Word {
  int64_t begin = 0, end = 0;  // bytes of the text
  std::string text, kind;
};
struct WordsObject : Object {
  std::vector<Word> words;
};

}  // namespace traind::capi
