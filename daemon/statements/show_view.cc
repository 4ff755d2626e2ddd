// SHOW's rows from a view, once or followed.
#include <fmt/format.h>

#include <functional>

#include "daemon/bind/sql.h"
#include "daemon/statements/show_rows.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

using grammar::Show;

constexpr int64_t kFollowRows = 1000;  // of one reading
constexpr std::string_view kModelParameter = "_traind_model";

// " WHERE …" of the scope, the user's condition, and `beyond` for a follow.
void AddWhere(const Show& show, const ShowScope& scope, const std::string& beyond, UserSql* sql) {
  std::string_view lead = " WHERE ";
  const auto add = [&](const std::string& condition) {
    sql->Add(lead).Add(condition);
    lead = " AND ";
  };
  if (scope.model) {
    add(fmt::format("model = ${}", kModelParameter));
    sql->Bind(std::string(kModelParameter), *scope.model);
  }
  if (scope.job) add(fmt::format("{} = {}", show.what == Show::What::kJob ? "id" : "job", *scope.job));
  if (!beyond.empty()) add(beyond);
  if (show.where) {
    sql->Add(lead).Add("(").Add(*show.where).Add(")");
  }
}

UserSql QueryOf(const Show& show, const ShownView& view, const ShowScope& scope) {
  UserSql sql(show.position);
  sql.Add(fmt::format("SELECT {} FROM {}", view.columns, view.view));
  AddWhere(show, scope, "", &sql);
  sql.Add(" ORDER BY ");
  if (show.order_by) {
    sql.Add(*show.order_by);
  } else {
    sql.Add(view.order);
  }
  if (scope.limit) sql.Add(fmt::format(" LIMIT {}", *scope.limit));
  return sql;
}

// The newest `limit` rows if one is given, else all; the followed column comes last.
UserSql FirstOfFollow(const Show& show, const ShownView& view, const ShowScope& scope) {
  UserSql sql(show.position);
  sql.Add(fmt::format("SELECT * FROM (SELECT {}, {} AS _position FROM {}", view.columns, view.followed,
                      view.view));
  AddWhere(show, scope, "", &sql);
  sql.Add(
      fmt::format(" ORDER BY {} DESC LIMIT {}) ORDER BY _position", view.followed, scope.limit.value_or(-1)));
  return sql;
}

UserSql RestOfFollow(const Show& show, const ShownView& view, const ShowScope& scope, int64_t after) {
  UserSql sql(show.position);
  sql.Add(fmt::format("SELECT {}, {} AS _position FROM {}", view.columns, view.followed, view.view));
  AddWhere(show, scope, fmt::format("{} > {}", view.followed, after), &sql);
  sql.Add(fmt::format(" ORDER BY {} LIMIT {}", view.followed, kFollowRows));
  return sql;
}

// Takes the position off the rows' ends; `after` becomes the last one's.
void TakePositions(std::vector<std::vector<Cell>>* rows, int64_t* after) {
  for (auto& row : *rows) {
    if (const auto* position = std::get_if<int64_t>(&row.back())) *after = *position;
    row.pop_back();
  }
}

// What a follow needs of its context when that has gone.
struct Follower {
  Show show;
  ShownView view;
  ShowScope scope;
  SessionState session;
  std::map<std::string, grammar::Value> parameters;
  const DaemonState* daemon;

  Result<std::vector<std::vector<Cell>>> operator()(Reader& reader, int64_t* after) const {
    const Context context{session, *daemon, reader, "", "", false, parameters};
    TRAIND_ASSIGN(Reader::Table table, RestOfFollow(show, view, scope, *after).Run(context, kFollowRows));
    TakePositions(&table.rows, after);
    return std::move(table.rows);
  }
};

Result<Outcome> Follow(const Show& show, const ShownView& view, const ShowScope& scope,
                       const Context& context) {
  FollowOutcome follow;
  follow.job = scope.job.value_or(0);
  follow.what =
      show.what == Show::What::kEvents ? FollowOutcome::What::kEvents : FollowOutcome::What::kMetrics;
  TRAIND_ASSIGN(follow.reply, RunForReply(FirstOfFollow(show, view, scope), context));
  if (context.check) return Done(std::move(follow.reply));
  TakePositions(&follow.reply.rows, &follow.after);
  follow.reply.columns.pop_back();
  follow.next = Follower{show, view, scope, context.session, context.parameters, &context.daemon};
  return Done(std::move(follow));
}

}  // namespace

Result<Outcome> ShowView(const Show& show, const ShownView& view, const ShowScope& scope,
                         const Context& context) {
  if (show.follow) return Follow(show, view, scope, context);
  TRAIND_ASSIGN(Reply reply, RunForReply(QueryOf(show, view, scope), context));
  return Done(std::move(reply));
}

}  // namespace traind::daemon
