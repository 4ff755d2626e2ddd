// Opens the planned device and runs the task on it.
#include "engine/worker/tasks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/fault.h"
#include "engine/base/io.h"
#include "engine/base/log.h"
#include "engine/device/cpu/cpu_device.h"
#include "engine/device/cpu/machine.h"
#include "engine/plan/planner.h"
#include "engine/spec/task.h"
#include "engine/train/inference.h"
#include "engine/train/make_tokenizer.h"
#include "engine/train/model_directory.h"
#include "engine/train/run.h"
#include "engine/worker/socket_session.h"

namespace traind::worker {
namespace {

// The device with the threads and kernels that the plan's bits depend on.
Result<std::unique_ptr<Device>> OpenPlannedDevice(const DeviceSpec& spec) {
  CpuOptions options;
  options.threads = static_cast<int>(spec.threads);
  for (const InstructionSet set :
       {InstructionSet::kGeneric, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (spec.instruction_set == InstructionSetName(set)) options.instruction_set = set;
  }
  if (!options.instruction_set) {
    return Status(
        ErrorCode::INTERNAL,
        fmt::format("the plan is for the instruction set '{}', which is unknown", spec.instruction_set));
  }
  return OpenCpuDevice(options);
}

// A process id may come again; with the time it does not.
std::string UniqueName() {
  return fmt::format("{}-{:.0f}", getpid(), SystemClock().WallSeconds());
}

Json ColumnsToJson(std::initializer_list<std::pair<const char*, const char*>> columns) {
  Json array = Json::array();
  for (const auto& [name, type] : columns) array.push_back({{"name", name}, {"type", type}});
  return array;
}

struct Setting {
  plan::Plan plan;
  std::unique_ptr<Device> device;
};

Result<Setting> SetUp(const Json& plan_object) {
  Setting setting;
  TRAIND_ASSIGN(setting.plan, plan::PlanFromJson(plan_object));
  TRAIND_ASSIGN(setting.device, OpenPlannedDevice(setting.plan.device));
  return setting;
}

Result<Json> Train(const Json& message, train::Session* session) {
  TRAIND_ASSIGN(const TrainTask task, TrainTaskFromJson(message));
  TRAIND_TRY(OpenLog(fmt::format("worker {}.{}", task.job, task.attempt), "", LogLevel::kInfo, 0));
  TRAIND_TRY(PassFaultPoint(FaultPoint::worker_start));
  TRAIND_ASSIGN(const Setting setting, SetUp(task.plan));
  const plan::Plan& plan = setting.plan;
  const train::RunPlan run_plan{
      plan.strategy,
      plan.hash,
      plan.arena_bytes,
      {plan.step_seconds, plan.validation_seconds, plan.checkpoint_seconds, plan.checkpoint_stall_seconds},
      task.training.precision == Precision::kBf16 ? plan.device.bf16_flops_per_second
                                                  : plan.device.matmul_flops_per_second};
  TRAIND_ASSIGN(const train::Outcome outcome,
                train::RunTraining(task, run_plan,
                                   {PosixIo(), SystemClock(), *setting.device, *session, UniqueName()}));
  TRAIND_TRY(PassFaultPoint(FaultPoint::worker_finished));
  Log(LogLevel::kInfo, "{} at step {}", outcome.name, outcome.step);
  return Json{{"type", "finished"},
              {"outcome", outcome.name},
              {"step", outcome.step},
              {"checkpoint", outcome.checkpoint},
              {"peak_bytes", Machine().PeakResidentBytes()}};
}

Result<Json> Evaluate(const Json& message, train::Session* session) {
  TRAIND_ASSIGN(const EvaluateTask task, EvaluateTaskFromJson(message));
  TRAIND_ASSIGN(const Setting setting, SetUp(task.plan));
  TRAIND_ASSIGN(const train::Evaluation result,
                train::Evaluate(task, setting.plan.arena_bytes,
                                {PosixIo(), SystemClock(), *setting.device, *session, UniqueName()}));
  return Json{{"type", "result"},
              {"columns", ColumnsToJson({{"loss", "real"},
                                         {"perplexity", "real"},
                                         {"bits_per_byte", "real"},
                                         {"tokens", "integer"},
                                         {"sequences", "integer"}})},
              {"rows", Json::array({Json::array({result.loss, result.perplexity, result.bits_per_byte,
                                                 result.tokens, result.sequences})})}};
}

Result<Json> Generate(const Json& message, train::Session* session) {
  TRAIND_ASSIGN(const GenerateTask task, GenerateTaskFromJson(message));
  TRAIND_ASSIGN(const Setting setting, SetUp(task.plan));
  TRAIND_ASSIGN(const train::Generation generation,
                train::Generate(task, setting.plan.arena_bytes,
                                {PosixIo(), SystemClock(), *setting.device, *session, UniqueName()}));
  return Json{{"type", "result"},
              {"columns", ColumnsToJson({{"prompt", "text"}, {"text", "text"}})},
              {"rows", Json::array({Json::array({task.prompt, generation.text})})},
              {"notices", generation.notices}};
}

Result<Json> Import(const Json& message, train::Session* session) {
  TRAIND_ASSIGN(const ImportTask task, ImportTaskFromJson(message));
  TRAIND_ASSIGN(const train::MovedModel moved, train::ImportModel(task, PosixIo(), UniqueName(), session));
  return Json{{"type", "result"},
              {"model", ModelToJson(moved.spec)},
              {"bytes", moved.bytes},
              {"tokenizer", moved.tokenizer ? TokenizerFactsToJson(*moved.tokenizer) : Json()},
              {"notices", moved.notices}};
}

Result<Json> Export(const Json& message, train::Session* session) {
  TRAIND_ASSIGN(const ExportTask task, ExportTaskFromJson(message));
  TRAIND_ASSIGN(const train::MovedModel moved, train::ExportModel(task, PosixIo(), UniqueName(), session));
  return Json{{"type", "result"},
              {"columns", ColumnsToJson({{"path", "text"}, {"parameters", "integer"}, {"bytes", "bytes"}})},
              {"rows", Json::array({Json::array({task.target, moved.parameters, moved.bytes})})},
              {"notices", moved.notices}};
}

// It needs no device.
Result<Json> MakeTokenizer(const Json& message, train::Session* session) {
  TRAIND_ASSIGN(const TokenizerTask task, TokenizerTaskFromJson(message));
  TRAIND_ASSIGN(const TokenizerFacts facts, train::MakeTokenizer(task, PosixIo(), UniqueName(), session));
  return Json{{"type", "result"}, {"tokenizer", TokenizerFactsToJson(facts)}};
}

}  // namespace

Result<Json> CarryOut(const Json& message, Control* control, Heartbeat* heartbeat) {
  SocketSession session(control, heartbeat);
  TRAIND_ASSIGN(const std::string type, GetString(message, "type"));
  if (type == "train") return Train(message, &session);
  if (type == "evaluate") return Evaluate(message, &session);
  if (type == "import") return Import(message, &session);
  if (type == "export") return Export(message, &session);
  if (type == "make_tokenizer") return MakeTokenizer(message, &session);
  return Generate(message, &session);
}

}  // namespace traind::worker
