// Brings a run up: checkpoint, data, memory, weights; then the loop.
#include "engine/train/run.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "engine/base/log.h"
#include "engine/base/publish.h"
#include "engine/data/sampler.h"
#include "engine/model/model.h"
#include "engine/ops/context.h"
#include "engine/train/checkpoint.h"
#include "engine/train/checkpoint_store.h"
#include "engine/train/loop.h"
#include "engine/train/model_state.h"
#include "engine/train/training_data.h"

namespace traind::train {
namespace {

// Keeps the session from watching a model that has gone.
class WatchGuard {
 public:
  WatchGuard(Session* session, const model::Model& model) : session_(session) {
    session_->Watch(&model.completed_operators());
  }
  ~WatchGuard() { session_->Watch(nullptr); }
  WatchGuard(const WatchGuard&) = delete;
  WatchGuard& operator=(const WatchGuard&) = delete;

 private:
  Session* session_;
};

class Run {
 public:
  Run(const TrainTask& task, const RunPlan& plan, const RunEnvironment& environment)
      : task_(task), plan_(plan), environment_(environment), deadlines_(plan.predicted, task.deadline_scale) {
    start_.begin_seconds = environment.clock.MonotonicSeconds();
  }

  Result<Outcome> Go() {
    TRAIND_TRY(ChooseCheckpoint());
    const Status prepared = PrepareData();
    if (prepared.code() == ErrorCode::INTERRUPTED) return Stopped();
    TRAIND_TRY(prepared);
    TRAIND_TRY(Allocate());
    const WatchGuard watch(&environment_.session, *model_);
    if (environment_.session.Poll().stop) return Stopped();
    TRAIND_TRY(LoadState());
    FillManifest();
    environment_.session.Running(plan_.hash, model_->table().arena_bytes, start_.manifest.step);
    return Loop(task_, plan_, environment_, &data_, model_.get(), std::move(start_)).Run();
  }

 private:
  // Told to stop before there was anything to save.
  Outcome Stopped() const {
    return {std::string(StopReasonName(*environment_.session.Poll().stop)), start_.manifest.step,
            start_.checkpoint};
  }

  bool resumes() const { return !start_.checkpoint.empty(); }
  bool ResumesOwnJob() const { return resumes() && start_.manifest.job == task_.job; }

  void DoFiles(std::string_view what) {
    environment_.session.Doing(what, start_.manifest.step, deadlines_.Files());
  }

  Status ChooseCheckpoint() {
    TRAIND_TRY(environment_.io.MakeDirectories(task_.checkpoint_directory));
    TRAIND_TRY(RemoveTemporaries(environment_.io, task_.checkpoint_directory));
    if (task_.resume_checkpoint.empty()) return Ok();
    DoFiles("verify");
    TRAIND_ASSIGN(std::optional<FoundCheckpoint> found,
                  FindUsableCheckpoint(environment_.io, task_.resume_checkpoint));
    if (!found) return NoCheckpoint();
    if (found->path != task_.resume_checkpoint) {
      Tell(LogLevel::kWarning, fmt::format("{} is damaged or gone; the run goes on from {}",
                                           task_.resume_checkpoint, found->path));
    }
    start_.checkpoint = std::move(found->path);
    start_.manifest = std::move(found->manifest);
    return ReadRow();
  }

  // A job whose own checkpoints are all lost can do its work again; another's cannot be replaced by nothing.
  Status NoCheckpoint() {
    if (!task_.resume_checkpoint.starts_with(task_.checkpoint_directory + "/")) {
      return Status(
          ErrorCode::DAMAGED_CHECKPOINT,
          fmt::format("{}: neither it nor an older one beside it is intact", task_.resume_checkpoint),
          "start from a version of the model instead");
    }
    Tell(LogLevel::kError,
         fmt::format("no checkpoint in {} is intact; training begins again", task_.checkpoint_directory));
    return Ok();
  }

  void Tell(LogLevel level, const std::string& text) {
    Log(level, "{}", text);
    environment_.session.Message(level, text);
  }

  // The newest row, which goes out again once its validation is there.
  Status ReadRow() {
    if (!start_.manifest.validation_due) return Ok();
    TRAIND_ASSIGN(const std::vector<MetricRow> rows,
                  ReadCheckpointMetrics(environment_.io, start_.checkpoint));
    if (!rows.empty() && rows.back().step == start_.manifest.step) start_.row = rows.back();
    return Ok();
  }

  Status PrepareData() {
    TRAIND_ASSIGN(const std::unique_ptr<data::Tokenizer> tokenizer,
                  data::OpenTokenizer(environment_.io, task_.tokenizer));
    DataRequest request;
    request.cache_directory = task_.cache_directory;
    request.unique = environment_.unique;
    request.tokenizer = tokenizer.get();
    request.vocab_size = task_.model.vocab_size;
    request.sequence_length = task_.training.sequence_length;
    request.threads = environment_.device.capability().threads;
    request.deadline_seconds = deadlines_.Files();
    TRAIND_ASSIGN(data_, PrepareTrainingData(environment_.io, task_, resumes() ? &start_.manifest : nullptr,
                                             request, &environment_.session));
    SettleCursor();
    TRAIND_TRY(SettleTotalSteps());
    std::optional<DataCounts> validation;
    if (data_.validation) validation = data_.validation->counts();
    environment_.session.Prepared(data_.train->counts(), validation, start_.manifest.total_steps);
    return Ok();
  }

  // Another job's place means nothing in other data.
  void SettleCursor() {
    format::DataCursor& cursor = start_.manifest.cursor;
    const std::string key = data_.train->key();
    if (cursor.key != key) cursor.position = 0;
    cursor.key = key;
    cursor.validation = data_.validation ? data_.validation->key() : "";
  }

  // As the target says; for a budget that is the target as the checkpoint says, else 0: to be laid out.
  Status SettleTotalSteps() {
    const TrainingSpec& training = task_.training;
    const Target& target = training.target;
    int64_t& total = start_.manifest.total_steps;
    if (target.steps) {
      total = *target.steps;
    } else if (target.tokens) {
      total = (*target.tokens + training.batch_tokens - 1) / training.batch_tokens;
    } else if (target.epochs) {
      total = data::StepsForEpochs(*target.epochs, data_.train->sequences->count(),
                                   training.sequences_per_batch());
    } else if (task_.seconds_left > 0) {
      if (!ResumesOwnJob()) total = 0;
    } else {
      return Status(ErrorCode::INTERNAL, "a training task with neither a target nor a budget");
    }
    if (task_.total_steps > 0 && task_.seconds_left <= 0) total = task_.total_steps;
    return Ok();
  }

  Status Allocate() {
    const int64_t sequences = plan_.strategy.micro_batch * plan_.strategy.micro_batches;
    if (sequences != task_.training.sequences_per_batch()) {
      return Status(ErrorCode::INTERNAL, fmt::format("the plan's batch has {} sequences, the task's {}",
                                                     sequences, task_.training.sequences_per_batch()));
    }
    plan::TableOptions options;
    options.threads = environment_.device.capability().threads;
    options.validates = task_.validation.has_value();
    TRAIND_ASSIGN(plan::MemoryTable table,
                  plan::BuildTrainingTable(task_.model, task_.training, plan_.strategy, options));
    if (table.arena_bytes > plan_.arena_bytes) {
      return Status(ErrorCode::INTERNAL, fmt::format("the run needs {} bytes; its plan says {}",
                                                     table.arena_bytes, plan_.arena_bytes));
    }
    environment_.session.Doing("allocate", start_.manifest.step, deadlines_.Files());
    TRAIND_ASSIGN(arena_, environment_.device.AllocateArena(table.arena_bytes));
    TRAIND_ASSIGN(context_, ops::Context::Create(environment_.device));
    TRAIND_ASSIGN(
        model_, model::Model::Create(std::move(table), {arena_->data(), static_cast<size_t>(arena_->bytes())},
                                     *context_));
    return Ok();
  }

  Status LoadState() {
    DoFiles("load");
    const ModelState state{task_.model, model_->table().parameters, model_->weights(), model_->moment_1(),
                           model_->moment_2()};
    const auto progress = [this] { environment_.session.Advance(); };
    if (resumes()) {
      return ReadCheckpointState(environment_.io, start_.checkpoint, start_.manifest, state, progress);
    }
    model_->Initialize(task_.training.seed);
    if (task_.initial_weights.empty()) return Ok();
    return ReadWeights(environment_.io, task_.initial_weights, state, progress);
  }

  void FillManifest() {
    format::Manifest& manifest = start_.manifest;
    manifest.job = task_.job;
    manifest.attempt = task_.attempt;
    manifest.seed = task_.training.seed;
    manifest.plan_hash = plan_.hash;
    manifest.ranks = 1;
    manifest.statement = task_.statement;
  }

  const TrainTask& task_;
  const RunPlan& plan_;
  const RunEnvironment& environment_;
  Deadlines deadlines_;
  StartState start_;
  TrainingData data_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<ops::Context> context_;
  std::unique_ptr<model::Model> model_;
};

}  // namespace

Result<Outcome> RunTraining(const TrainTask& task, const RunPlan& plan, const RunEnvironment& environment) {
  return Run(task, plan, environment).Go();
}

}  // namespace traind::train
