// The reader's connection: internal queries, and users' queries under the authorizer.
#include "daemon/catalog/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "daemon/catalog/open.h"
#include "daemon/catalog/prepared.h"
#include "daemon/catalog/query_memory.h"
#include "daemon/catalog/sqlite_status.h"
#include "daemon/catalog/user_query.h"
#include "daemon/catalog/views.h"
#include "engine/base/limits.h"
#include "engine/base/nearest.h"

namespace traind::daemon {
namespace {

constexpr int kProgressOperations =
    2000;  // between two looks at the interrupt flag: well under a millisecond

// Not to be guessed from outside the process: see views.h.
std::string MakeInnerPrefix() {
  std::random_device random;
  return fmt::format("_inner_{:08x}{:08x}_", random(), random());
}

int64_t SizeOf(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text ? static_cast<int64_t>(text->size()) + 8 : 16;
}

std::string JoinViewNames() {
  std::string names;
  for (const std::string& name : ViewNames()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

// "no such table: jobs" means sys_jobs.
std::string NearestView(std::string_view message) {
  const size_t colon = message.rfind(": ");
  const std::string name(colon == std::string_view::npos ? "" : message.substr(colon + 2));
  const std::vector<std::string> views = ViewNames();
  const std::string nearest = NearestWord(name, views);
  return nearest.empty() ? NearestWord("sys_" + name, views) : nearest;
}

Status NoSuchTable(std::string_view message) {
  const std::string nearest = NearestView(message);
  return {ErrorCode::SQL, std::string(message),
          fmt::format("{}the views are {}", nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest),
                      JoinViewNames())};
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

class ReaderConnection final : public Reader {
 public:
  explicit ReaderConnection(Handle handle)
      : Reader(handle.get()), owned_(std::move(handle)), inner_prefix_(MakeInnerPrefix()) {}

  Status Prepare() {
    const std::string script = ViewScript(inner_prefix_);
    const int code = sqlite3_exec(handle_, script.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return SqliteStatus(handle_, code, "the views");
    LimitConnection(handle_);
    sqlite3_progress_handler(handle_, kProgressOperations, &ReaderConnection::Poll, this);
    return {};
  }

  Status SetLive(const std::vector<LiveDevice>& devices, const std::vector<LiveSetting>& settings) override {
    TRAIND_TRY(Run("BEGIN"));
    Status status = FillLive(devices, settings);
    Status end = Run(status.ok() ? "COMMIT" : "ROLLBACK");
    return status.ok() ? end : status;
  }

  Result<Table> UserQuery(std::string_view sql, const Parameters& parameters, int64_t max_rows) override {
    UserAuthorizer authorizer(handle_, inner_prefix_);
    QueryMemory memory(kMaxQueryBytes, &interrupted_);
    auto table = RunUser(sql, parameters, max_rows, authorizer);
    if (table.ok()) return table;
    return WithoutMemory(table.status(), memory);
  }

  Result<std::vector<std::string>> CheckUserQuery(std::string_view sql) override {
    UserAuthorizer authorizer(handle_, inner_prefix_);
    QueryMemory memory(kMaxQueryBytes, &interrupted_);
    auto statement = PrepareUser(sql, authorizer);
    if (!statement.ok()) return WithoutMemory(statement.status(), memory);
    return ColumnNames(statement->get());
  }

  void Interrupt() override {
    interrupted_.store(true);
    sqlite3_interrupt(handle_);
  }
  void ClearInterrupt() override { interrupted_.store(false); }

 private:
  static int Poll(void* self) { return static_cast<ReaderConnection*>(self)->interrupted_.load() ? 1 : 0; }

  Status FillLive(const std::vector<LiveDevice>& devices, const std::vector<LiveSetting>& settings);
  Result<Table> RunUser(std::string_view sql, const Parameters& parameters, int64_t max_rows,
                        const UserAuthorizer& authorizer);
  Status WithoutMemory(Status status, const QueryMemory& memory) const;
  Result<Prepared> PrepareUser(std::string_view sql, const UserAuthorizer& authorizer);
  Status UserStatus(int code, const UserAuthorizer& authorizer);
  Status BindParameters(sqlite3_stmt* statement, const Parameters& parameters);
  Result<Table> FetchRows(sqlite3_stmt* statement, int64_t max_rows);
  static std::vector<std::string> ColumnNames(sqlite3_stmt* statement);

  Handle owned_;
  std::string inner_prefix_;
  std::atomic<bool> interrupted_{false};
};

Status ReaderConnection::FillLive(const std::vector<LiveDevice>& devices,
                                  const std::vector<LiveSetting>& settings) {
  TRAIND_TRY(Run("DELETE FROM temp._live_gpus"));
  for (const LiveDevice& live : devices) {
    const DeviceSpec& device = live.device;
    const int64_t foreign =
        std::max<int64_t>(0, device.memory_bytes - device.free_bytes - live.reserved_bytes);
    TRAIND_TRY(
        Run("INSERT INTO temp._live_gpus VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)",
            {device.uuid, device.node, device.index, device.type, device.kind, device.memory_bytes,
             device.memory_bytes, device.free_bytes, live.reserved_bytes, foreign,
             std::string(live.busy ? "ALLOCATED" : "IDLE"), int64_t{0}, device.price_per_hour, device.name,
             device.threads, device.instruction_set}));
  }
  TRAIND_TRY(Run("DELETE FROM temp._live_settings"));
  for (const LiveSetting& setting : settings) {
    TRAIND_TRY(Run("INSERT INTO temp._live_settings VALUES (?1,?2,?3)",
                   {setting.name, setting.value, setting.source}));
  }
  return {};
}

Result<Reader::Table> ReaderConnection::RunUser(std::string_view sql, const Parameters& parameters,
                                                int64_t max_rows, const UserAuthorizer& authorizer) {
  TRAIND_ASSIGN(Prepared statement, PrepareUser(sql, authorizer));
  TRAIND_TRY(BindParameters(statement.get(), parameters));
  return FetchRows(statement.get(), max_rows);
}

// A query that got no more memory: because it was interrupted, or took too much.
Status ReaderConnection::WithoutMemory(Status status, const QueryMemory& memory) const {
  if (interrupted_.load()) return {ErrorCode::INTERRUPTED, "the query was interrupted"};
  if (!memory.exceeded()) return status;
  return {ErrorCode::TOO_MANY, fmt::format("the query needs more than {} bytes of memory", kMaxQueryBytes),
          "its sub-selects may multiply each other; write it in smaller parts"};
}

Status ReaderConnection::UserStatus(int code, const UserAuthorizer& authorizer) {
  if (!authorizer.refused().empty()) {
    return {ErrorCode::READ_ONLY,
            fmt::format("a SELECT may only read the views; {} is refused", authorizer.refused()),
            "the views are " + JoinViewNames()};
  }
  const std::string_view message = sqlite3_errmsg(handle_);
  Status status = SqliteStatus(handle_, code, "the query");
  if (message.starts_with("no such table")) {
    status = NoSuchTable(message);
  }
  const int offset = sqlite3_error_offset(handle_);
  if (offset >= 0) status.set_position({offset, 1, 1});
  return status;
}

Result<Prepared> ReaderConnection::PrepareUser(std::string_view sql, const UserAuthorizer& authorizer) {
  if (interrupted_.load()) return Status(ErrorCode::INTERRUPTED, "the query was interrupted");
  sqlite3_stmt* statement = nullptr;
  const char* tail = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), 0, &statement, &tail);
  Prepared prepared(statement);
  if (code != SQLITE_OK) return UserStatus(code, authorizer);
  if (statement == nullptr) return Status(ErrorCode::SQL, "the query is empty");
  if (!IsBlank(sql.substr(static_cast<size_t>(tail - sql.data())))) {
    return Status(ErrorCode::SQL, "more than one statement in a query").At({tail - sql.data(), 1, 1});
  }
  if (sqlite3_stmt_readonly(statement) == 0) {
    return Status(ErrorCode::READ_ONLY, "a SELECT may only read the views");
  }
  return prepared;
}

Status ReaderConnection::BindParameters(sqlite3_stmt* statement, const Parameters& parameters) {
  const int count = sqlite3_bind_parameter_count(statement);
  for (int i = 1; i <= count; ++i) {
    const char* written = sqlite3_bind_parameter_name(statement, i);
    const std::string name = written ? written + 1 : std::to_string(i);
    const auto found = std::ranges::find(parameters, name, &std::pair<std::string, Cell>::first);
    if (found == parameters.end()) {
      return {ErrorCode::UNBOUND_PARAMETER,
              fmt::format("the parameter {} has no value", written ? written : "?"),
              "give it with --param or LET"};
    }
    TRAIND_TRY(BindCell(handle_, statement, i, found->second));
  }
  return {};
}

std::vector<std::string> ReaderConnection::ColumnNames(sqlite3_stmt* statement) {
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(statement); ++i) {
    const char* name = sqlite3_column_name(statement, i);
    names.emplace_back(name ? name : "");
  }
  return names;
}

Result<Reader::Table> ReaderConnection::FetchRows(sqlite3_stmt* statement, int64_t max_rows) {
  Table table;
  table.columns = ColumnNames(statement);
  int64_t bytes = 0;
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    if (static_cast<int64_t>(table.rows.size()) >= max_rows) {
      table.more = true;
      return table;
    }
    table.rows.push_back(RowCells(statement));
    int64_t row_bytes = 0;
    for (const Cell& cell : table.rows.back()) row_bytes += SizeOf(cell);
    if (row_bytes > kMaxReplyFrameBytes) {
      return Status(ErrorCode::TOO_MANY, fmt::format("a row is larger than {} bytes", kMaxReplyFrameBytes),
                    "select less of it: substr(…)");
    }
    bytes += row_bytes;
    if (bytes > kMaxResultBytes) {
      return Status(ErrorCode::TOO_MANY, fmt::format("the result is larger than {} bytes", kMaxResultBytes),
                    "select fewer columns, or use LIMIT");
    }
  }
  if (code == SQLITE_DONE) return table;
  return SqliteStatus(handle_, code, "the query");
}

}  // namespace

Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> OpenReaderOn(const std::string& state_directory, const std::string& vfs) {
  TRAIND_ASSIGN(Handle handle, OpenForReading(state_directory, vfs));
  auto reader = std::make_unique<ReaderConnection>(std::move(handle));
  TRAIND_TRY(reader->Prepare());
  return std::unique_ptr<Reader>(std::move(reader));
}

}  // namespace traind::daemon
