// TRAIN: binds, plans, and writes the job.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/bind/train.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

// What the transaction finds or makes.
struct Submission {
  int64_t id = 0;
  bool existing = false;
  bool made_target = false;
};

SourcePosition TargetPosition(const grammar::Train& statement) {
  return statement.into ? statement.into->position : statement.model.name.position;
}

// The parts of two canonical texts that differ, with a little around them.
std::string Difference(const std::string& existing, const std::string& wanted) {
  const auto at_word = [](const std::string& text, size_t position) {
    while (position > 0 && text[position - 1] != ' ') --position;
    return position;
  };
  const size_t shorter = std::min(existing.size(), wanted.size());
  size_t begin = 0;
  while (begin < shorter && existing[begin] == wanted[begin]) ++begin;
  begin = at_word(existing, begin);
  size_t tail = 0;
  while (tail < shorter - begin && existing[existing.size() - 1 - tail] == wanted[wanted.size() - 1 - tail])
    ++tail;
  while (tail > 0 && existing[existing.size() - tail] != ' ') --tail;
  const auto part = [&](const std::string& text) {
    const std::string middle = text.substr(begin, text.size() - tail - begin);
    return middle.empty() ? std::string("nothing") : "'" + middle + "'";
  };
  return fmt::format("there stands {}, here {}", part(existing), part(wanted));
}

// The job that this very submission made before, or that IF NOT EXISTS means.
Result<std::optional<int64_t>> FindExisting(Connection& connection, const grammar::Train& statement,
                                            const std::string& canonical, const Context& context) {
  TRAIND_ASSIGN(const auto submitted, JobOfToken(connection, context.client_token));
  if (submitted || !statement.job_name) return submitted;
  TRAIND_ASSIGN(const auto named, NewestJobNamed(connection, statement.job_name->text));
  if (!named) return named;
  TRAIND_ASSIGN(const JobRecord job, LoadJob(connection, *named));
  if (statement.if_not_exists && job.state != JobState::kFailed) {
    if (job.canonical == canonical) return named;
    return Status(ErrorCode::SPEC_DIFFERS,
                  fmt::format("{} exists with another statement: {}", job.Display(),
                              Difference(job.canonical, canonical)),
                  fmt::format("SHOW CREATE JOB {} gives its statement; choose another name", job.id))
        .At(statement.job_name->position);
  }
  if (!InfoOf(job.state).terminal) {
    return Status(ErrorCode::JOB_EXISTS, fmt::format("{} is {}", job.Display(), JobStateName(job.state)),
                  "choose another name, or IF NOT EXISTS to take that job")
        .At(statement.job_name->position);
  }
  return std::optional<int64_t>();
}

// The catalog may have changed since the statement was bound.
Status CheckModelUnchanged(Transaction& transaction, const grammar::Train& statement,
                           const BoundTrain& train) {
  TRAIND_ASSIGN(const auto model, LookUpModel(transaction, train.model.name));
  if (model && model->id == train.model.id) return {};
  return Status(ErrorCode::NO_SUCH_MODEL,
                fmt::format("the model {} was just dropped or replaced", train.model.name))
      .At(statement.model.name.position);
}

Result<int64_t> TargetId(Transaction& transaction, const grammar::Train& statement, const BoundTrain& train,
                         double now, Submission* submission) {
  TRAIND_ASSIGN(const auto target, LookUpModel(transaction, train.target_name));
  if (!target) {
    submission->made_target = true;
    return InsertModel(transaction, train.target_name, train.model.spec, now);
  }
  if (!(target->spec == train.model.spec)) {
    return Status(ErrorCode::SPEC_DIFFERS, fmt::format("{} was just made otherwise", train.target_name))
        .At(TargetPosition(statement));
  }
  Status busy = CheckNotBusy(transaction, target->id, target->name, false);
  if (!busy.ok()) return std::move(busy).At(TargetPosition(statement));
  return target->id;
}

JobRecord RecordOf(const grammar::Train& statement, const Context& context, const BoundTrain& train,
                   const std::string& canonical) {
  JobRecord job;
  if (statement.job_name) job.name = statement.job_name->text;
  job.model_id = train.model.id;
  job.model = train.model.name;
  job.target_model = train.target_name;
  job.from_version = train.from_version;
  job.model_spec = train.model.spec;
  job.training = train.training.spec;
  job.budget = train.draft.budget;
  job.data = train.data.spec();
  if (train.validation) job.validation = train.validation->spec();
  job.plan = plan::PlanToJson(train.choice.plan);
  job.devices = train.hardware.wanted;
  job.resume_checkpoint = train.resume_checkpoint;
  job.statement = context.statement_text;
  job.canonical = canonical;
  job.client_token = context.client_token;
  job.labels = train.draft.labels;
  job.max_retries = train.draft.retries;
  job.predicted_peak_bytes = train.choice.plan.predicted_peak_bytes;
  job.predicted_step_ms = train.choice.plan.step_seconds * 1000;
  // Epochs are counted when the data is: a data set's files may have changed since it was last.
  const bool counted_later = train.training.spec.target.epochs.has_value();
  job.total_steps = counted_later ? 0 : train.choice.plan.total_steps.value_or(0);
  return job;
}

Status Submit(Transaction& transaction, const grammar::Train& statement, const Context& context,
              const BoundTrain& train, JobRecord job, Submission* submission) {
  TRAIND_ASSIGN(const auto existing, FindExisting(transaction, statement, job.canonical, context));
  if (existing) {
    submission->id = *existing;
    submission->existing = true;
    return {};
  }
  const double now = Now(context);
  TRAIND_TRY(CheckModelUnchanged(transaction, statement, train));
  TRAIND_ASSIGN(job.target_model_id, TargetId(transaction, statement, train, now, submission));
  TRAIND_ASSIGN(submission->id,
                InsertJob(transaction, job, train.training.settings, context.daemon.state_directory, now));
  for (const std::string& warning : train.choice.warnings) {
    TRAIND_TRY(AddEvent(transaction, submission->id, "warning", warning, now));
  }
  transaction.AfterCommit([changed = context.daemon.job_changed, id = submission->id] {
    if (changed) changed(id);
  });
  return {};
}

Result<Outcome> OutcomeOf(const grammar::Train& statement, const Context& context, int64_t job,
                          std::optional<double> timeout, std::vector<std::string> notices) {
  TRAIND_ASSIGN(Reply reply, JobReply(context.reader, {job}));
  reply.notices = std::move(notices);
  if (!statement.wait) return Done(std::move(reply));
  return Done(WaitOutcome{std::move(reply), {job}, timeout});
}

// What the rest of the script may name.
Reply CheckedReply(const grammar::Train& statement, const Context& context, const BoundTrain& train) {
  Reply reply;
  reply.session = context.session;
  if (!train.target) reply.session->checked_models[train.target_name] = train.model.spec;
  reply.session->checked_versions[train.target_name] = train.to_version();
  reply.session->checked_jobs.push_back(statement.job_name ? statement.job_name->text : "");
  return reply;
}

Status CheckMode(const grammar::Train& statement, const Context& context) {
  if (statement.detach && context.session.embedded) {
    return Status(ErrorCode::MISUSE,
                  "DETACH needs a daemon that goes on: this private one ends with its handle",
                  "use WAIT, or connect to the user's own daemon")
        .At(statement.position);
  }
  if (statement.if_not_exists && !statement.job_name) {
    return Status(ErrorCode::NAME_REQUIRED, "IF NOT EXISTS needs AS jobname: it says what must not exist",
                  "TRAIN IF NOT EXISTS MODEL m AS nightly …")
        .At(statement.if_position);
  }
  return {};
}

}  // namespace

Result<Outcome> Run(const grammar::Train& statement, const Context& context) {
  TRAIND_TRY(CheckMode(statement, context));
  TRAIND_ASSIGN(const TrainingDraft draft, DraftTraining(statement, context.session));
  TRAIND_ASSIGN(const std::string canonical, CanonicalTrain(statement, context));
  TRAIND_ASSIGN(const auto existing, FindExisting(context.reader, statement, canonical, context));
  if (existing && !context.check) return OutcomeOf(statement, context, *existing, draft.wait_timeout, {});

  TRAIND_ASSIGN(BoundTrain train, BindTrain(statement, context));
  if (train.target && !context.check) {
    Status busy = CheckNotBusy(context.reader, train.target->id, train.target_name, false);
    if (!busy.ok()) return std::move(busy).At(TargetPosition(statement));
  }
  TRAIND_TRY(PlanTrain(statement, context, &train));
  if (context.check) return Done(CheckedReply(statement, context, train));

  Submission submission;
  JobRecord job = RecordOf(statement, context, train, canonical);
  TRAIND_TRY(context.daemon.catalog->Write([&](Transaction& transaction) {
    return Submit(transaction, statement, context, train, std::move(job), &submission);
  }));
  std::vector<std::string> notices;
  if (!submission.existing) notices = train.choice.warnings;
  if (submission.made_target) {
    notices.push_back(
        fmt::format("made the model {} with the specification of {}", train.target_name, train.model.name));
  }
  if (!submission.existing && !context.session.embedded && context.daemon.reboot_notice) {
    auto notice = context.daemon.reboot_notice();
    if (notice) notices.push_back(*std::move(notice));
  }
  return OutcomeOf(statement, context, submission.id, draft.wait_timeout, std::move(notices));
}

}  // namespace traind::daemon
