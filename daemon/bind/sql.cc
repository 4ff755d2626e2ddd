// A statement's pieces of SQL as queries.
#include "daemon/bind/sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "daemon/bind/live.h"
#include "daemon/bind/parameters.h"
#include "daemon/bind/training.h"
#include "engine/base/limits.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

constexpr std::string_view kLiveViews[] = {"sys_gpus", "sys_nodes", "sys_settings"};

bool MentionsLiveView(std::string sql) {
  std::ranges::transform(sql, sql.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::ranges::any_of(kLiveViews,
                             [&](std::string_view view) { return sql.find(view) != std::string::npos; });
}

Cell CellOf(const grammar::Value& value) {
  if (value.kind != grammar::Value::Kind::kQuantity) {
    if (value.kind == grammar::Value::Kind::kWord && value.text == "true") return int64_t{1};
    if (value.kind == grammar::Value::Kind::kWord && value.text == "false") return int64_t{0};
    return value.text;
  }
  if (value.quantity.integral) return value.quantity.integer;
  return value.quantity.value;
}

// Unlike elsewhere, NULL is a value here.
Result<Cell> SqlValueOf(const grammar::Parameter& parameter, const Context& context) {
  for (const auto* values : {&context.parameters, &context.session.variables}) {
    const auto found = values->find(parameter.name);
    if (found != values->end() && IsNull(found->second)) return Cell();
    if (found != values->end()) break;
  }
  TRAIND_ASSIGN(const grammar::Value value, ValueOf(parameter, context));
  return CellOf(value);
}

// SQLite gives no offset for a query that is cut off, nor for a table or function that does not exist, but
// says its name: "no such table: jobs".
std::optional<int64_t> OffsetOfMissing(const Status& status, std::string_view sql) {
  const std::string& message = status.message();
  if (message == "incomplete input") return static_cast<int64_t>(sql.size());
  const size_t colon = message.rfind(": ");
  if (!message.starts_with("no such ") || colon == std::string::npos) return std::nullopt;
  const std::string_view name = std::string_view(message).substr(colon + 2);
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = sql.find(name); at != std::string_view::npos; at = sql.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !is_word(sql[at - 1])) && (end == sql.size() || !is_word(sql[end])))
      return static_cast<int64_t>(at);
  }
  return std::nullopt;
}

}  // namespace

UserSql& UserSql::Add(std::string_view own_text) {
  sql_ += own_text;
  return *this;
}

UserSql& UserSql::Add(const grammar::Sql& piece) {
  pieces_.push_back({sql_.size(), &piece});
  sql_ += piece.sql;
  return *this;
}

UserSql& UserSql::Bind(std::string name, Cell value) {
  own_.emplace_back(std::move(name), std::move(value));
  return *this;
}

Result<Reader::Parameters> UserSql::Parameters(const Context& context) const {
  Reader::Parameters parameters = own_;
  std::set<std::string> seen;
  for (const Piece& piece : pieces_) {
    for (const grammar::Parameter& parameter : piece.piece->parameters) {
      if (!seen.insert(parameter.name).second) continue;
      TRAIND_ASSIGN(Cell value, SqlValueOf(parameter, context));
      parameters.emplace_back(parameter.name, std::move(value));
    }
  }
  return parameters;
}

// SQLite's offset is in our text; the user's pieces know where their tokens stand.
Status UserSql::Place(Status status) const {
  if (status.ok()) return status;
  SourcePosition position = position_;
  std::optional<int64_t> offset = OffsetOfMissing(status, sql_);
  if (status.position().known()) offset = status.position().offset;
  if (offset) {
    for (const Piece& piece : pieces_) {
      const auto begin = static_cast<int64_t>(piece.begin);
      if (*offset >= begin && *offset <= begin + static_cast<int64_t>(piece.piece->sql.size())) {
        position = grammar::PositionIn(*piece.piece, *offset - begin);
      }
    }
  } else if (pieces_.size() == 1) {
    position = pieces_.front().piece->position;
  }
  status.set_position(position);
  return status;
}

Status UserSql::FillLive(const Context& context) const {
  if (!MentionsLiveView(sql_)) return {};
  TRAIND_ASSIGN(const std::vector<LiveDevice> devices, LiveDevices(context));
  return context.reader.SetLive(devices, LiveSettings(context.session));
}

Result<Reader::Table> UserSql::Run(const Context& context, int64_t max_rows) const {
  TRAIND_ASSIGN(const Reader::Parameters parameters, Parameters(context));
  TRAIND_TRY(FillLive(context));
  auto table = context.reader.UserQuery(sql_, parameters, max_rows);
  if (!table.ok()) return Place(table.status());
  return table;
}

Result<std::vector<std::string>> UserSql::Check(const Context& context) const {
  TRAIND_TRY(Parameters(context).status());
  auto columns = context.reader.CheckUserQuery(sql_);
  if (!columns.ok()) return Place(columns.status());
  return columns;
}

Result<Reply> RunForReply(const UserSql& sql, const Context& context) {
  Reply reply;
  if (context.check) {
    TRAIND_TRY(sql.Check(context).status());
    return reply;
  }
  TRAIND_ASSIGN(const BoundOption wanted, SessionSetting(context.session, "output_rows"));
  const int64_t most = wanted.integer > 0 ? wanted.integer : kMaxResultRows;
  TRAIND_ASSIGN(Reader::Table table, sql.Run(context, most));
  if (table.more && wanted.integer == 0) {
    return Status(ErrorCode::TOO_MANY, fmt::format("the result has more than {} rows", kMaxResultRows),
                  "use LIMIT");
  }
  if (table.more) {
    reply.notices.push_back(fmt::format(
        "only the first {} rows: there are more (SET output_rows = 0 gives all)", wanted.integer));
  }
  reply.columns = ColumnsOf(table);
  reply.rows = std::move(table.rows);
  return reply;
}

std::string ColumnType(std::string_view name, const std::vector<std::vector<Cell>>& rows, size_t index) {
  if (name.ends_with("_bytes") || name == "bytes" || name == "memory") return "bytes";
  if (name.ends_with("_at") || name == "time" || name == "predicted_end") return "time";
  if (name.ends_with("_seconds")) return "seconds";
  for (const auto& row : rows) {
    const Cell& cell = row[index];
    if (std::holds_alternative<std::monostate>(cell)) continue;
    if (std::holds_alternative<int64_t>(cell)) return "integer";
    return std::holds_alternative<double>(cell) ? "real" : "text";
  }
  return "text";
}

std::vector<Column> ColumnsOf(const Reader::Table& table) {
  std::vector<Column> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    columns.push_back({table.columns[i], ColumnType(table.columns[i], table.rows, i)});
  }
  return columns;
}

}  // namespace traind::daemon
