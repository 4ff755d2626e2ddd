// The handlers of statements, one per struct of the tree, each in the file of its name.
//
// A handler sees its statement without parameters (bind/parameters.h). With Context::check it binds and plans
// only.
#pragma once

#include "daemon/statement.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::CreateModel& statement, const Context& context);
Result<Outcome> Run(const grammar::CreateDataset& statement, const Context& context);
Result<Outcome> Run(const grammar::CreateTokenizer& statement, const Context& context);
Result<Outcome> Run(const grammar::DropModel& statement, const Context& context);
Result<Outcome> Run(const grammar::DropDataset& statement, const Context& context);
Result<Outcome> Run(const grammar::DropTokenizer& statement, const Context& context);
Result<Outcome> Run(const grammar::DescribeModel& statement, const Context& context);
Result<Outcome> Run(const grammar::DescribeDataset& statement, const Context& context);
Result<Outcome> Run(const grammar::DescribeTokenizer& statement, const Context& context);
Result<Outcome> Run(const grammar::Show& statement, const Context& context);
Result<Outcome> Run(const grammar::ShowCreate& statement, const Context& context);
Result<Outcome> Run(const grammar::Train& statement, const Context& context);
Result<Outcome> Run(const grammar::TrainTokenizer& statement, const Context& context);
Result<Outcome> Run(const grammar::Explain& statement, const Context& context);
Result<Outcome> Run(const grammar::ExplainJob& statement, const Context& context);
Result<Outcome> Run(const grammar::Evaluate& statement, const Context& context);
Result<Outcome> Run(const grammar::Generate& statement, const Context& context);
Result<Outcome> Run(const grammar::ImportModel& statement, const Context& context);
Result<Outcome> Run(const grammar::ExportModel& statement, const Context& context);
Result<Outcome> Run(const grammar::JobVerb& statement, const Context& context);
Result<Outcome> Run(const grammar::AlterJob& statement, const Context& context);
Result<Outcome> Run(const grammar::WaitForJob& statement, const Context& context);
Result<Outcome> Run(const grammar::Help& statement, const Context& context);
Result<Outcome> Run(const grammar::Set& statement, const Context& context);
Result<Outcome> Run(const grammar::Reset& statement, const Context& context);
Result<Outcome> Run(const grammar::Let& statement, const Context& context);
Result<Outcome> Run(const grammar::Assert& statement, const Context& context);
Result<Outcome> Run(const grammar::Include& statement, const Context& context);
Result<Outcome> Run(const grammar::Select& statement, const Context& context);

// A handler's result. Out of line, because GCC 12 takes the moves of an inlined variant for uses of what was
// never set.
Result<Outcome> Done(Reply reply);
Result<Outcome> Done(WaitOutcome wait);
Result<Outcome> Done(FollowOutcome follow);
Result<Outcome> Done(WorkerOutcome worker);

}  // namespace traind::daemon
