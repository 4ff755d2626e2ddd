// What a statement's handler gets and gives. One file per statement in daemon/statements; all run on a pool
// thread, where they may read, write and wait for the commit, but never wait for a job or a worker: those
// outcomes are handed to the loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/catalog/catalog.h"
#include "engine/base/clock.h"
#include "engine/base/io.h"
#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/spec/data.h"
#include "engine/spec/device.h"
#include "engine/spec/model.h"
#include "grammar/ast.h"

namespace traind::daemon {

// What belongs to one client. Copied to the pool thread with each statement; changes come back in Reply.
struct SessionState {
  std::string directory;  // the client's working directory: relative paths mean this
  bool embedded = false;  // DETACH is refused
  std::map<std::string, std::string>
      settings;  // SET: name → canonical value (settings.def has names, types, defaults)
  std::map<std::string, grammar::Value> variables;  // LET: name without $
  // What the script would have made, when it is only checked: later statements may name it. Absent: dropped.
  std::map<std::string, std::optional<ModelSpec>> checked_models;
  std::map<std::string, std::optional<DataSpec>> checked_datasets;
  std::map<std::string, std::optional<int64_t>> checked_tokenizers;  // vocab_size; 0: not known
  std::map<std::string, int64_t> checked_versions;  // a model's newest, once the script's jobs have succeeded
  std::vector<std::string> checked_jobs;            // their names; empty for one without
};

// What the daemon is, the same for all sessions.
struct DaemonState {
  std::string state_directory;
  Catalog* catalog = nullptr;
  Io* io = nullptr;
  const Clock* clock = nullptr;
  std::function<std::vector<DeviceSpec>()> devices;  // the inventory with free memory as of now; any thread
  std::function<bool(const std::string& node, int64_t index)> device_busy;
  std::function<void(int64_t job)>
      job_changed;  // tells the supervisor and waiters, after a commit; any thread
  std::function<std::optional<std::string>()>
      reboot_notice;  // what a submission adds, if anything; any thread
};

struct Column {
  std::string name;
  std::string type;  // integer | real | text | json; display hints: bytes | seconds | time (wall seconds)
};

struct Reply {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> notices;     // for stderr
  std::optional<SessionState> session;  // SET, RESET, LET
};

// Reply first (TRAIN … WAIT's row), then wait until each job is terminal or stopped.
struct WaitOutcome {
  Reply reply;
  std::vector<int64_t> jobs;
  std::optional<double> timeout_seconds;
};
// Rows now, then new rows as they come, until interrupted or the job is terminal.
struct FollowOutcome {
  Reply reply;
  int64_t job = 0;
  enum class What { kLogs, kMetrics, kEvents } what = What::kLogs;
  int64_t after = 0;  // position of the last row sent: log offset, step or event id
  // The rows beyond `after`, in the columns of `reply`, at most about a thousand; moves `after` on. Called on
  // a pool thread whenever there may be more; nothing new is an empty result.
  std::function<Result<std::vector<std::vector<Cell>>>(Reader& reader, int64_t* after)> next;
};
// A synchronous run in a worker (GENERATE, EVALUATE, IMPORT, EXPORT, CREATE and TRAIN TOKENIZER): its
// "result" message becomes the reply.
struct WorkerOutcome {
  Json task;  // the first message to the worker
  // Makes the reply of the worker's result, and takes over what it has made, on a pool thread. Without it the
  // result's columns, rows and notices are the reply. It is called unless the statement ended before.
  std::function<Result<Reply>(const Json& result)> conclude = {};
  // Removes what a worker left that ended without a result; on a pool thread.
  std::function<void()> undo = {};
};
using Outcome = std::variant<Reply, WaitOutcome, FollowOutcome, WorkerOutcome>;

struct Context {
  const SessionState& session;
  const DaemonState& daemon;
  Reader& reader;              // this pool thread's own
  std::string statement_text;  // as written, for SHOW CREATE JOB
  std::string client_token;    // unique per submission; empty if the client sent none
  bool check = false;          // bind and plan only: change nothing, run nothing, reply without rows
  // The values of this statement's own parameters: name without $, or number. They go before the session's.
  std::map<std::string, grammar::Value> parameters = {};
};

// Binds, plans and executes `statement`: the table of handlers in daemon/statements/table.cc.
Result<Outcome> Execute(const grammar::Statement& statement, const Context& context);

}  // namespace traind::daemon
