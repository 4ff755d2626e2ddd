// The rows of SHOW: of a view, or of a job's log, once or followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct ShownView {
  grammar::Show::What what;
  std::string_view view;
  std::string_view columns;
  std::string_view order;     // when there is no ORDER BY
  std::string_view followed;  // the column that grows with each new row; empty: no FOLLOW
};

// What the statement names, looked up.
struct ShowScope {
  std::optional<std::string> model;  // OF
  std::optional<int64_t> job;        // JOB n, FOR JOB n
  std::optional<int64_t> limit;      // with FOLLOW: how many of the newest rows come first
};

Result<Outcome> ShowView(const grammar::Show& show, const ShownView& view, const ShowScope& scope,
                         const Context& context);
// One column, line. MISSING_OPTION without FOR JOB.
Result<Outcome> ShowLogs(const grammar::Show& show, const ShowScope& scope, const Context& context);

}  // namespace traind::daemon
