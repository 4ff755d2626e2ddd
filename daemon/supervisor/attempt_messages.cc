// What a worker says, and what becomes of it.
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/supervisor/adopt.h"
#include "daemon/supervisor/attempt.h"
#include "daemon/version.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/format/manifest.h"

namespace traind::daemon {
namespace {

constexpr double kSmoothing = 0.1;  // weight of the newest step in the smoothed step time

// A list of sources.
Result<PreparedData> PreparedFromJson(const Json& list) {
  PreparedData data;
  if (!list.is_array()) return Status(ErrorCode::MALFORMED_FRAME, "prepared data is no list of sources");
  for (const Json& object : list) {
    PreparedSource& source = data.emplace_back();
    TRAIND_ASSIGN(source.tokens, GetInt(object, "tokens"));
    TRAIND_ASSIGN(source.documents, GetInt(object, "documents"));
    TRAIND_ASSIGN(source.bytes, GetInt(object, "bytes"));
    TRAIND_ASSIGN(source.files, GetInt(object, "files"));
    TRAIND_ASSIGN(source.largest_token, GetInt(object, "largest_token"));
  }
  return data;
}

const Json& FieldOf(const Json& object, const char* key) {
  static const Json none;
  const auto field = object.find(key);
  return field == object.end() ? none : *field;
}

}  // namespace

void Attempt::Received(const Json& message) {
  struct Row {
    std::string_view type;
    void (Attempt::*take)(const Json&);
  };
  static constexpr std::array<Row, 11> kMessages = {{{"hello", &Attempt::TakeHello},
                                                     {"preparing", &Attempt::TakePreparing},
                                                     {"prepared", &Attempt::TakePrepared},
                                                     {"running", &Attempt::TakeRunning},
                                                     {"metrics", &Attempt::TakeMetrics},
                                                     {"checkpoint", &Attempt::TakeCheckpoint},
                                                     {"checkpoint_failed", &Attempt::TakeCheckpointFailed},
                                                     {"total_steps", &Attempt::TakeTotalSteps},
                                                     {"log", &Attempt::TakeLog},
                                                     {"finished", &Attempt::TakeFinished},
                                                     {"failed", &Attempt::TakeFailed}}};
  const auto type = message["type"].get<std::string>();
  for (const Row& row : kMessages) {
    if (row.type == type) {
      (this->*row.take)(message);
      return;
    }
  }
  Log(LogLevel::kWarning, "{}: a message of unknown type \"{}\"", job_.Display(), type.substr(0, 64));
}

void Attempt::TakeHello(const Json& message) {
  const auto version = GetStringOr(message, "version", "");
  if (version.ok() && *version == kVersion) return;
  ending_.failure =
      Status(ErrorCode::PROTOCOL_MISMATCH,
             fmt::format("traind-worker is version {}, traind {}", version.ok() ? *version : "?", kVersion),
             "install both from one release");
  worker_->Kill();
}

void Attempt::TakePreparing(const Json& message) {
  const auto done = GetIntOr(message, "done_bytes", 0);
  const auto total = GetIntOr(message, "total_bytes", 0);
  if (!done.ok() || !total.ok()) return;
  progress_.preparing_done = *done;
  progress_.preparing_total = *total;
  tools_->hub->SetProgress(job_.id, progress_);
}

void Attempt::TakePrepared(const Json& message) {
  const auto data = PreparedFromJson(FieldOf(message, "data"));
  const auto total = GetIntOr(message, "total_steps", 0);
  if (!data.ok() || !total.ok()) {
    Log(LogLevel::kWarning, "{}: \"prepared\": {}", job_.Display(), data.status().ToString());
    return;
  }
  PreparedData validation;
  if (const auto found = PreparedFromJson(FieldOf(message, "validation")); found.ok()) validation = *found;
  progress_.preparing_done.reset();
  progress_.preparing_total.reset();
  if (*total > 0) progress_.total_steps = *total;
  job_.data_tokens = TokensOf(*data);
  tools_->hub->SetProgress(job_.id, progress_);
  Write([job = job_, data = *data, validation, total = *total](Transaction& transaction) {
    return SetPrepared(transaction, job, data, validation, total);
  });
}

void Attempt::TakeRunning(const Json& message) {
  const int64_t planned = start_step_;
  const auto start = GetIntOr(message, "start_step", start_step_);
  if (start.ok()) start_step_ = *start;
  progress_.step = start_step_;
  running_since_ = tools_->daemon->clock->MonotonicSeconds();
  tools_->hub->SetProgress(job_.id, progress_);
  if (start_step_ < planned) MarkUnread(planned);
  std::string reason = start_step_ > 0 ? fmt::format("from step {}", start_step_) : std::string();
  Write(
      [job = job_.id, reason = std::move(reason),
       now = tools_->daemon->clock->WallSeconds()](Transaction& transaction) {
        return Apply(transaction, job, JobChange::kPrepared, reason, now).status();
      },
      [this](const Status&) { Changed(); });
}

// The worker could not use the checkpoint it was given and went back to an older one, or to the beginning.
void Attempt::MarkUnread(int64_t planned) {
  Event("warning",
        fmt::format("the checkpoint of step {} is damaged: it goes on from step {}", planned, start_step_));
  Write([job = job_.id, start = start_step_](Transaction& transaction) {
    return transaction.Run(
        "UPDATE _checkpoints SET state = 'damaged' WHERE job_id = ?1 AND step > ?2 AND state = 'complete'",
        {job, start});
  });
}

void Attempt::TakeMetrics(const Json& message) {
  std::vector<MetricRow> rows;
  for (const Json& object : FieldOf(message, "rows")) {
    const auto row = MetricRowFromJson(object);
    if (!row.ok()) {
      Log(LogLevel::kWarning, "{}: a metric row: {}", job_.Display(), row.status().ToString());
      continue;
    }
    tools_->hub->Publish(EventKind::kMetric, job_.id, object);
    rows.push_back(*row);
    progress_.step = row->step;
    progress_.loss = row->loss;
    if (row->val_loss) progress_.val_loss = row->val_loss;
    progress_.tokens_per_second = row->tokens_per_second;
    if (row->tokens_per_second > 0) {
      const double seconds = static_cast<double>(job_.training.batch_tokens) / row->tokens_per_second;
      const double before = progress_.step_seconds.value_or(seconds);
      progress_.step_seconds = before + kSmoothing * (seconds - before);
    }
  }
  if (rows.empty()) return;
  last_row_ = rows.back();
  tools_->hub->SetProgress(job_.id, progress_);
  tools_->daemon->catalog->SubmitMetrics(job_.id, std::move(rows), false);
}

// Metric rows first and durable, then the checkpoint's row, then the word to the worker.
void Attempt::TakeCheckpoint(const Json& message) {
  const auto step = GetInt(message, "step");
  const auto bytes = GetIntOr(message, "bytes", 0);
  const auto total = GetIntOr(message, "total_steps", 0);
  if (!step.ok() || !bytes.ok() || !total.ok()) {
    Log(LogLevel::kWarning, "{}: \"checkpoint\": {}", job_.Display(), step.status().ToString());
    return;
  }
  std::optional<double> val_loss;
  if (const Json& value = FieldOf(message, "val_loss"); value.is_number()) val_loss = value.get<double>();
  if (*total > 0) progress_.total_steps = *total;
  // The last row again, so that there is something to sync.
  if (last_row_) tools_->daemon->catalog->SubmitMetrics(job_.id, {*last_row_}, true);
  const auto seconds = GetDoubleOr(message, "seconds", 0);
  const auto stall = GetDoubleOr(message, "stall_seconds", 0);
  std::string timing;
  if (seconds.ok() && stall.ok() && *seconds > 0) {
    timing = fmt::format(", written in {:.3f} s, training waited {:.3f} s", *seconds, *stall);
  }
  checkpoint_failing_ = false;
  std::string path = CheckpointRoot(job_) + "/" + format::CheckpointName(*step);
  const bool asked = std::exchange(checkpoint_asked_, false);
  Write(
      [job = job_.id, step = *step, bytes = *bytes, total = *total, val_loss, asked, path = std::move(path),
       timing = std::move(timing), keep = job_.training.keep_checkpoints,
       now = tools_->daemon->clock->WallSeconds()](Transaction& transaction) -> Status {
        TRAIND_TRY(AddCheckpoint(transaction, job, step, path, bytes, val_loss, now, timing));
        TRAIND_TRY(MarkSurplus(transaction, job, keep));
        if (total > 0) TRAIND_TRY(SetTotalSteps(transaction, job, total));
        return asked ? CloseCheckpointRequest(transaction, job) : Ok();
      },
      [this, step = *step](const Status& status) { CheckpointCommitted(step, status); });
}

void Attempt::CheckpointCommitted(int64_t step, const Status& status) {
  if (!status.ok()) return;  // the directory is there: it is adopted when the attempt ends
  worker_->Send(Json{{"type", "saved"}, {"step", step}});
  Changed();
}

// Training goes on. Who asked for it is answered by an event, and no longer waits; a disk that stays full
// says so once, not at every checkpoint that is due.
void Attempt::TakeCheckpointFailed(const Json& message) {
  const auto step = GetIntOr(message, "step", 0);
  const Status failure = StatusFromJson(FieldOf(message, "error"));
  const bool asked = std::exchange(checkpoint_asked_, false);
  if (std::exchange(checkpoint_failing_, true) && !asked) return;
  std::string detail =
      fmt::format("the checkpoint of step {}{} could not be written: {}; training goes on",
                  step.ok() ? *step : 0, asked ? " that was asked for" : "", failure.ToString());
  Log(LogLevel::kWarning, "{}: {}", job_.Display(), detail);
  Write(
      [job = job_.id, asked, detail = std::move(detail),
       now = tools_->daemon->clock->WallSeconds()](Transaction& transaction) -> Status {
        TRAIND_TRY(AddEvent(transaction, job, "warning", detail, now));
        return asked ? CloseCheckpointRequest(transaction, job) : Ok();
      },
      [this](const Status&) { Changed(); });
}

void Attempt::TakeTotalSteps(const Json& message) {
  const auto total = GetInt(message, "total_steps");
  if (!total.ok() || *total <= 0) return;
  progress_.total_steps = *total;
  tools_->hub->SetProgress(job_.id, progress_);
  Write([job = job_.id, total = *total](Transaction& transaction) {
    return SetTotalSteps(transaction, job, total);
  });
}

void Attempt::TakeLog(const Json& message) {
  const auto level = GetStringOr(message, "level", "info");
  const auto text = GetStringOr(message, "text", "");
  if (!level.ok() || !text.ok()) return;
  const double now = tools_->daemon->clock->WallSeconds();
  log_.Add(now, *level, *text);
  tools_->hub->Publish(EventKind::kLog, job_.id, Json{{"level", *level}, {"text", *text}, {"time", now}});
}

void Attempt::TakeFinished(const Json& message) {
  const auto outcome = GetString(message, "outcome");
  const auto peak = GetIntOr(message, "peak_bytes", 0);
  const auto checkpoint = GetStringOr(message, "checkpoint", "");
  finished_at_ = tools_->daemon->clock->MonotonicSeconds();
  ending_.outcome = outcome.ok() ? *outcome : "nothing";
  if (checkpoint.ok()) ending_.checkpoint = *checkpoint;
  if (peak.ok() && *peak > 0) ending_.peak_bytes = *peak;
}

void Attempt::TakeFailed(const Json& message) {
  finished_at_ = tools_->daemon->clock->MonotonicSeconds();
  const Status failure = StatusFromJson(FieldOf(message, "error"));
  ending_.failure =
      failure.ok() ? Status(ErrorCode::INTERNAL, "the worker failed without an error") : failure;
  if (const auto peak = GetIntOr(message, "peak_bytes", 0); peak.ok() && *peak > 0)
    ending_.peak_bytes = *peak;
}

}  // namespace traind::daemon
