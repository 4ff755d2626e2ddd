// Plans as JSON: what START carries, the job keeps and EXPLAIN (format=json) prints.
#include "engine/plan/planner.h"

namespace traind::plan {
namespace {

// A number of the plan under its name.
struct RealField {
  const char* name;
  double Plan::*value;
};
constexpr RealField kReals[] = {
    {"compute_seconds", &Plan::compute_seconds},
    {"communication_seconds", &Plan::communication_seconds},
    {"bubble_seconds", &Plan::bubble_seconds},
    {"step_seconds", &Plan::step_seconds},
    {"validation_seconds", &Plan::validation_seconds},
    {"checkpoint_seconds", &Plan::checkpoint_seconds},
    {"start_seconds", &Plan::start_seconds},
    {"run_seconds", &Plan::run_seconds},
    {"gpu_hours", &Plan::gpu_hours},
    {"cost", &Plan::cost},
};

struct IntegerField {
  const char* name;
  int64_t Plan::*value;
};
constexpr IntegerField kIntegers[] = {
    {"arena_bytes", &Plan::arena_bytes},
    {"predicted_peak_bytes", &Plan::predicted_peak_bytes},
    {"checkpoint_bytes", &Plan::checkpoint_bytes},
    {"disk_bytes", &Plan::disk_bytes},
};

Json StrategyToJson(const Strategy& strategy) {
  return {{"micro_batch", strategy.micro_batch},
          {"micro_batches", strategy.micro_batches},
          {"schedule", strategy.schedule},
          {"recompute", RecomputeName(strategy.recompute)},
          {"snapshot", strategy.snapshot}};
}

Status Malformed(const std::string& what) {
  return Status(ErrorCode::MALFORMED_FRAME, "a plan: " + what);
}

Result<Strategy> StrategyFromJson(const Json& object) {
  Strategy strategy;
  TRAIND_ASSIGN(strategy.micro_batch, GetInt(object, "micro_batch"));
  TRAIND_ASSIGN(strategy.micro_batches, GetInt(object, "micro_batches"));
  TRAIND_ASSIGN(strategy.schedule, GetString(object, "schedule"));
  TRAIND_ASSIGN(const std::string recompute, GetString(object, "recompute"));
  const auto mode = ParseRecompute(recompute);
  if (!mode.ok()) return Malformed(mode.status().message());
  strategy.recompute = *mode;
  TRAIND_ASSIGN(strategy.snapshot, GetBoolOr(object, "snapshot", false));
  if (strategy.micro_batch < 1 || strategy.micro_batches < 1)
    return Malformed("micro-batches must be at least 1");
  if (strategy.schedule != kGradientAccumulation)
    return Malformed("unknown schedule '" + strategy.schedule + "'");
  return strategy;
}

Result<const Json*> Field(const Json& object, const char* name, bool (Json::*is)() const noexcept,
                          const char* type) {
  if (!object.is_object() || !object.contains(name) || !(object.at(name).*is)()) {
    return Malformed(std::string(name) + " must be " + type);
  }
  return &object.at(name);
}

}  // namespace

Json PlanToJson(const Plan& plan) {
  Json object = {{"strategy", StrategyToJson(plan.strategy)},
                 {"device", DeviceToJson(plan.device)},
                 {"memory", Json::array()},
                 {"total_steps", plan.total_steps ? Json(*plan.total_steps) : Json()},
                 {"hash", plan.hash},
                 {"checkpoint_stall_seconds", plan.checkpoint_stall_seconds}};
  for (const ClassBytes& row : plan.memory) {
    object["memory"].push_back({{"class", row.memory_class}, {"bytes", row.bytes}});
  }
  for (const RealField& field : kReals) object[field.name] = plan.*field.value;
  for (const IntegerField& field : kIntegers) object[field.name] = plan.*field.value;
  return object;
}

Result<Plan> PlanFromJson(const Json& object) {
  Plan plan;
  TRAIND_ASSIGN(const Json* strategy, Field(object, "strategy", &Json::is_object, "an object"));
  TRAIND_ASSIGN(plan.strategy, StrategyFromJson(*strategy));
  TRAIND_ASSIGN(const Json* device, Field(object, "device", &Json::is_object, "an object"));
  TRAIND_ASSIGN(plan.device, DeviceFromJson(*device));
  TRAIND_ASSIGN(const Json* memory, Field(object, "memory", &Json::is_array, "an array"));
  for (const Json& row : *memory) {
    ClassBytes total;
    TRAIND_ASSIGN(total.memory_class, GetString(row, "class"));
    TRAIND_ASSIGN(total.bytes, GetInt(row, "bytes"));
    plan.memory.push_back(std::move(total));
  }
  TRAIND_ASSIGN(const int64_t total_steps, GetIntOr(object, "total_steps", -1));
  if (total_steps >= 0) plan.total_steps = total_steps;
  TRAIND_ASSIGN(plan.hash, GetString(object, "hash"));
  // Plans that were kept before checkpoints were written in the background have none.
  TRAIND_ASSIGN(plan.checkpoint_stall_seconds, GetDoubleOr(object, "checkpoint_stall_seconds", 0));
  for (const RealField& field : kReals) {
    TRAIND_ASSIGN(plan.*field.value, GetDouble(object, field.name));
  }
  for (const IntegerField& field : kIntegers) {
    TRAIND_ASSIGN(plan.*field.value, GetInt(object, field.name));
  }
  return plan;
}

}  // namespace traind::plan
