// TRAIN's clauses that need neither catalog nor inventory.
#include <fmt/format.h>

#include <cmath>

#include "daemon/bind/budget.h"
#include "daemon/bind/data.h"
#include "daemon/bind/training.h"
#include "daemon/bind/values.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr int64_t kManySteps = int64_t{1} << 53;
constexpr int64_t kManyRetries = 1000;
constexpr int64_t kManyCheckpoints = 1000000;
constexpr double kManyEpochs = 1e9;

Status BindTarget(const grammar::TargetClause& clause, Target* target) {
  switch (clause.unit) {
    case grammar::TargetClause::Unit::kSteps: {
      TRAIND_ASSIGN(target->steps, BindInteger(clause.amount, "FOR … STEPS", 1, kManySteps));
      return {};
    }
    case grammar::TargetClause::Unit::kTokens: {
      TRAIND_ASSIGN(target->tokens, BindInteger(clause.amount, "FOR … TOKENS", 1, kManySteps));
      return {};
    }
    case grammar::TargetClause::Unit::kEpochs:
      break;
  }
  TRAIND_ASSIGN(const Quantity epochs, BindQuantity(clause.amount, Dimension::kNumber, "FOR … EPOCHS"));
  if (!(epochs.value > 0 && epochs.value <= kManyEpochs)) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("FOR … EPOCHS is {}; it must be above 0 and at most {}", PrintQuantity(epochs),
                              kManyEpochs))
        .At(clause.amount.position);
  }
  target->epochs = epochs.value;
  return {};
}

Status BindUntil(const grammar::Train& statement, TrainingSpec* spec) {
  const grammar::UntilClause& clause = *statement.until;
  if (clause.metric.text != "loss" && clause.metric.text != "val_loss") {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("UNTIL watches loss or val_loss, not {}", clause.metric.text))
        .At(clause.metric.position);
  }
  if (clause.metric.text == "val_loss" && !statement.validate) {
    return Status(ErrorCode::INVALID_OPTION, "UNTIL val_loss needs data to validate on",
                  "add VALIDATE FROM heldout EVERY 100 STEPS, say")
        .At(clause.metric.position);
  }
  TRAIND_ASSIGN(const Quantity below, BindQuantity(clause.below, Dimension::kNumber, "UNTIL"));
  spec->until = StopCondition{clause.metric.text, below.value};
  return {};
}

Status BindCheckpoint(const grammar::Train& statement, const SessionState& session, TrainingDraft* draft) {
  TrainingSpec& spec = draft->spec;
  TRAIND_ASSIGN(const BoundOption every, SessionSetting(session, "checkpoint_every"));
  TRAIND_ASSIGN(const BoundOption keep, SessionSetting(session, "keep_checkpoints"));
  JobSetting every_setting = {"checkpoint_every", every.text,
                              session.settings.contains("checkpoint_every") ? "session" : "default"};
  JobSetting keep_setting = {"keep_checkpoints", keep.text,
                             session.settings.contains("keep_checkpoints") ? "session" : "default"};
  spec.checkpoint_every_seconds = every.real;
  spec.keep_checkpoints = keep.integer;
  if (statement.checkpoint) {
    const grammar::CheckpointClause& clause = *statement.checkpoint;
    spec.checkpoint_every_seconds.reset();
    if (clause.in_steps) {
      TRAIND_ASSIGN(spec.checkpoint_every_steps,
                    BindInteger(clause.every, "CHECKPOINT EVERY … STEPS", 1, kManySteps));
      every_setting.value = fmt::format("{} steps", *spec.checkpoint_every_steps);
    } else {
      TRAIND_ASSIGN(spec.checkpoint_every_seconds, BindSeconds(clause.every, "CHECKPOINT EVERY"));
      every_setting.value = FormatDuration(*spec.checkpoint_every_seconds);
    }
    every_setting.source = "statement";
    if (clause.keep) {
      TRAIND_ASSIGN(spec.keep_checkpoints, BindInteger(*clause.keep, "KEEP … LATEST", 2, kManyCheckpoints));
      keep_setting = {"keep_checkpoints", std::to_string(spec.keep_checkpoints), "statement"};
    }
  }
  draft->clauses.push_back(std::move(every_setting));
  draft->clauses.push_back(std::move(keep_setting));
  return {};
}

Status BindRetries(const grammar::Train& statement, const SessionState& session, TrainingDraft* draft) {
  if (statement.retry) {
    TRAIND_ASSIGN(draft->retries, BindInteger(*statement.retry, "RETRY … TIMES", 0, kManyRetries));
    draft->clauses.push_back({"retries", std::to_string(draft->retries), "statement"});
    return {};
  }
  TRAIND_ASSIGN(const BoundOption retries, SessionSetting(session, "retries"));
  draft->retries = retries.integer;
  draft->clauses.push_back(
      {"retries", retries.text, session.settings.contains("retries") ? "session" : "default"});
  return {};
}

Json LabelValue(const grammar::Option& label) {
  if (!label.value) return true;
  if (label.value->kind != grammar::Value::Kind::kQuantity) return label.value->text;
  const Quantity& quantity = label.value->quantity;
  if (quantity.dimension != Dimension::kNumber) return PrintQuantity(quantity);
  return quantity.integral ? Json(quantity.integer) : Json(quantity.value);
}

Result<std::string> BindLabels(const grammar::Options& labels) {
  Json object = Json::object();
  for (const grammar::Option& label : labels) {
    if (object.contains(label.key.text)) {
      return Status(ErrorCode::DUPLICATE_OPTION, fmt::format("the label {} is given twice", label.key.text))
          .At(label.key.position);
    }
    object[label.key.text] = LabelValue(label);
  }
  return DumpJson(object);
}

Status BindValidation(const grammar::Train& statement, TrainingDraft* draft) {
  if (!statement.validate || !statement.validate->every_steps) return {};
  TRAIND_ASSIGN(draft->spec.validate_every_steps,
                BindInteger(*statement.validate->every_steps, "VALIDATE … EVERY … STEPS", 1, kManySteps));
  return {};
}

Status CheckTarget(const grammar::Train& statement) {
  if (statement.target || statement.budget) return {};
  return Status(ErrorCode::MISSING_OPTION, "TRAIN needs a target or a budget: how long is it to train?",
                "FOR 1000 STEPS, FOR 2 EPOCHS, or WITH BUDGET 4h, say")
      .At(statement.position);
}

Status CheckWeights(const grammar::Train& statement) {
  TRAIND_ASSIGN(const std::vector<double> weights, BindWeights(statement.sources));
  if (statement.validate) TRAIND_TRY(BindWeights(statement.validate->sources).status());
  if (weights.empty() || !statement.target ||
      statement.target->unit != grammar::TargetClause::Unit::kEpochs) {
    return {};
  }
  return Status(ErrorCode::EPOCHS_WITH_WEIGHT,
                "with weights the sources end at different times: there is no epoch of all of them",
                "say FOR … TOKENS or FOR … STEPS; without WEIGHT sources are mixed by size, and an epoch is "
                "every sequence once")
      .At(statement.sources.front().weight_position);
}

Status CheckStart(const grammar::Train& statement) {
  const auto& version = statement.model.version;
  if (statement.from_scratch && version) {
    return Status(ErrorCode::INVALID_OPTION, "FROM SCRATCH and a version exclude each other")
        .At(version->position);
  }
  if (statement.resume && (statement.from_scratch || version)) {
    return Status(ErrorCode::INVALID_OPTION,
                  "RESUME says where to start: FROM SCRATCH or a version cannot stand beside it")
        .At(statement.resume->position);
  }
  return {};
}

}  // namespace

Result<BoundOption> SessionSetting(const SessionState& session, std::string_view name) {
  const OptionInfo* info = FindSetting(name);
  const auto set = session.settings.find(std::string(name));
  grammar::Value value;
  value.text = set == session.settings.end() ? std::string(info->default_text) : set->second;
  return BindOption(*info, &value, {});
}

Result<BoundOptions> SessionOptions(const SessionState& session) {
  BoundOptions options;
  for (const auto& [name, text] : session.settings) {
    if (FindOption(OptionList::kTrain, name) == nullptr) continue;
    TRAIND_ASSIGN(BoundOption option, SessionSetting(session, name));
    options.Add(std::move(option));
  }
  return options;
}

Result<TrainingDraft> DraftTraining(const grammar::Train& statement, const SessionState& session) {
  TrainingDraft draft;
  TRAIND_TRY(CheckStart(statement));
  TRAIND_TRY(CheckWeights(statement));
  TRAIND_ASSIGN(draft.given, BindOptions(OptionList::kTrain, statement.using_options));
  TRAIND_ASSIGN(draft.session, SessionOptions(session));
  if (statement.target) TRAIND_TRY(BindTarget(*statement.target, &draft.spec.target));
  if (statement.until) TRAIND_TRY(BindUntil(statement, &draft.spec));
  if (statement.budget) {
    TRAIND_ASSIGN(draft.budget, BindBudget(*statement.budget));
  }
  TRAIND_TRY(BindValidation(statement, &draft));
  TRAIND_TRY(BindCheckpoint(statement, session, &draft));
  TRAIND_TRY(BindRetries(statement, session, &draft));
  TRAIND_ASSIGN(draft.labels, BindLabels(statement.labels));
  if (statement.wait && statement.wait->timeout) {
    TRAIND_ASSIGN(draft.wait_timeout, BindSeconds(*statement.wait->timeout, "WAIT TIMEOUT"));
  }
  TRAIND_TRY(CheckTarget(statement));
  return draft;
}

}  // namespace traind::daemon
