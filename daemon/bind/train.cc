// TRAIN bound: what it names, looked up; how it learns; where it may run; and its plan.
#include "daemon/bind/train.h"

#include <fmt/format.h>

#include "daemon/bind/resume.h"
#include "daemon/bind/values.h"
#include "engine/base/limits.h"
#include "engine/base/quantity.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

Status BindTargetModel(const grammar::Train& statement, const Context& context, BoundTrain* train) {
  if (!statement.into) {
    train->target_name = train->model.name;
    train->target = train->model;
    return {};
  }
  train->target_name = statement.into->text;
  TRAIND_ASSIGN(train->target, FindModelIfAny(train->target_name, context));
  if (!train->target) return {};
  const std::string difference = ModelDifference(train->target->spec, train->model.spec);
  if (difference.empty()) return {};
  return Status(ErrorCode::SPEC_DIFFERS,
                fmt::format("{} exists with another specification than {}: {}", train->target_name,
                            train->model.name, difference),
                "INTO makes a new model, or trains into one of the same specification")
      .At(statement.into->position);
}

Status BindStart(const grammar::Train& statement, const Context& context, BoundTrain* train) {
  if (statement.resume) {
    const ModelRecord& target = train->target ? *train->target : train->model;
    TRAIND_ASSIGN(const ResumePoint point, BindResume(*statement.resume, train->model, target, context));
    train->resume_checkpoint = point.checkpoint;
    train->start_step = point.step;
    train->from_version = point.from_version;
    return {};
  }
  TRAIND_ASSIGN(const int64_t version, BindVersion(statement.model, train->model, context));
  train->from_version = statement.from_scratch ? 0 : version;
  return {};
}

Status CheckLength(const BoundMixture& data, int64_t sequence_length) {
  for (const BoundData& source : data.sources) {
    const int64_t most = source.MostOfFiles();
    if (most > sequence_length) continue;
    return Status(ErrorCode::DATA_TOO_SHORT,
                  fmt::format("{} has at most {} tokens; one sequence needs {}", source.spec.name, most,
                              sequence_length + 1),
                  "give more data, or a smaller sequence_length")
        .At(source.position);
  }
  return {};
}

Status BindAllData(const grammar::Train& statement, const Context& context, BoundTrain* train) {
  TRAIND_ASSIGN(train->data, BindSources(statement.sources, context));
  train->tokens_exact = train->data.TokensAreKnown();
  TRAIND_TRY(CheckLength(train->data, train->training.spec.sequence_length));
  if (!statement.validate) return {};
  TRAIND_ASSIGN(train->validation, BindSources(statement.validate->sources, context));
  return CheckLength(*train->validation, train->training.spec.sequence_length);
}

std::optional<int64_t> StepsOf(const TrainingSpec& spec) {
  if (spec.target.steps) return spec.target.steps;
  if (spec.target.tokens) return (*spec.target.tokens + spec.batch_tokens - 1) / spec.batch_tokens;
  return std::nullopt;
}

Status CheckSomethingLeft(const grammar::Train& statement, const BoundTrain& train) {
  const std::optional<int64_t> steps = StepsOf(train.training.spec);
  if (!statement.resume || !steps || *steps > train.start_step) return {};
  return Status(ErrorCode::INVALID_OPTION,
                fmt::format("the checkpoint is already at step {}, and FOR asks for {} in all",
                            train.start_step, *steps),
                "give FOR more than that")
      .At(statement.target->amount.position);
}

// A string is a file, unless it came as a parameter and there is a data set of that name.
Status Settle(grammar::Source* source, const Context& context) {
  if (source->value.kind != grammar::Value::Kind::kString) return {};
  if (!source->value.parameter.name.empty()) {
    TRAIND_ASSIGN(const auto dataset, FindDatasetIfAny(source->value.text, context));
    if (dataset) source->value.kind = grammar::Value::Kind::kWord;
    if (dataset) return {};
  }
  source->value.text = AbsolutePath(context.session.directory, source->value.text);
  return {};
}

}  // namespace

Result<BoundTrain> BindTrain(const grammar::Train& statement, const Context& context) {
  BoundTrain train;
  TRAIND_ASSIGN(train.draft, DraftTraining(statement, context.session));
  TRAIND_ASSIGN(train.model, FindModel(statement.model.name, context));
  TRAIND_TRY(BindTargetModel(statement, context, &train));
  TRAIND_TRY(BindStart(statement, context, &train));
  TRAIND_ASSIGN(train.training, BindTraining(train.draft, train.model.spec, statement));
  TRAIND_TRY(BindAllData(statement, context, &train));
  TRAIND_TRY(CheckSomethingLeft(statement, train));
  TRAIND_ASSIGN(train.hardware, BindHardware(statement.on, context));
  TRAIND_TRY(SettlePrecision(train.hardware.devices,
                             train.draft.given.KeyPosition("precision", statement.position),
                             &train.training));
  return train;
}

Status PlanTrain(const grammar::Train& statement, const Context& context, BoundTrain* train) {
  plan::PlanRequest request;
  request.model = train->model.spec;
  request.training = train->training.spec;
  request.budget = train->draft.budget;
  request.devices = train->hardware.devices;
  request.data_tokens = train->data.MostTokens();
  if (train->validation) {
    request.validates = true;
    request.validation_tokens = train->validation->MostTokens();
  }
  request.now = context.daemon.clock->WallSeconds();
  request.start_step = train->start_step;
  auto choice = plan::PlanTraining(request);
  if (!choice.ok()) {
    const bool budget = choice.status().code() == ErrorCode::BUDGET_TOO_SMALL && statement.budget;
    return choice.status().At(budget ? statement.budget->position : statement.position);
  }
  train->choice = *std::move(choice);
  return {};
}

Result<std::string> CanonicalTrain(const grammar::Train& statement, const Context& context) {
  grammar::Train canonical = statement;
  canonical.if_not_exists = false;
  canonical.wait.reset();
  canonical.detach = false;
  for (grammar::Source& source : canonical.sources) TRAIND_TRY(Settle(&source, context));
  if (!canonical.validate) return grammar::Print(canonical);
  for (grammar::Source& source : canonical.validate->sources) TRAIND_TRY(Settle(&source, context));
  return grammar::Print(canonical);
}

}  // namespace traind::daemon
