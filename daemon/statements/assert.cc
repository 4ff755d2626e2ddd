// ASSERT: fails unless a condition holds.
#include <fmt/format.h>

#include "daemon/bind/sql.h"
#include "daemon/bind/values.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

bool Holds(const Reader::Table& table) {
  if (table.rows.empty()) return false;
  const auto* answer = std::get_if<int64_t>(&table.rows.front().front());
  return answer != nullptr && *answer == 1;
}

}  // namespace

Result<Outcome> Run(const grammar::Assert& statement, const Context& context) {
  std::string message = fmt::format("ASSERT {} does not hold", statement.condition.text);
  if (statement.message) {
    TRAIND_ASSIGN(message, BindText(*statement.message, "ASSERT's message"));
  }
  UserSql sql(statement.position);
  sql.Add("SELECT CASE WHEN (").Add(statement.condition).Add(") THEN 1 ELSE 0 END");
  if (context.check) {
    TRAIND_TRY(sql.Check(context).status());
    return Done(Reply{});
  }
  TRAIND_ASSIGN(const Reader::Table table, sql.Run(context, 1));
  if (Holds(table)) return Done(Reply{});
  return Status(ErrorCode::ASSERTION_FAILED, std::move(message)).At(statement.condition.position);
}

}  // namespace traind::daemon
