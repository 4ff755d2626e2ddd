// The planner: what it chooses, what it refuses and why, and budgets as the language defines them.
#include "engine/plan/planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/plan/candidates.h"
#include "engine/plan/memory.h"
#include "engine/plan/plan_hash.h"
#include "engine/plan/run_time.h"
#include "engine/plan/saturating.h"
#include "engine/tensor/tensor.h"
#include "tests/support/test.h"

namespace traind::plan {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr double kNow = 1.8e9;

DeviceSpec Cpu(int64_t gib) {
  DeviceSpec device;
  device.uuid = "cpu-1";
  device.type = "cpu";
  device.name = "Test CPU";
  device.threads = 2;
  device.instruction_set = "avx512";
  device.memory_bytes = gib * kGiB;
  device.free_bytes = gib * kGiB;
  device.context_bytes = 30 << 20;
  device.matmul_flops_per_second = 4e11;
  device.memory_bytes_per_second = 2e10;
  device.libraries = "oneDNN 2.6.3, OpenMP 4.5";
  return device;
}

PlanRequest Request() {
  PlanRequest request;
  request.model.hidden_size = 256;
  request.model.num_hidden_layers = 6;
  request.model.num_attention_heads = 8;
  request.model.num_key_value_heads = 4;
  request.model.intermediate_size = 704;
  request.model.vocab_size = 256;
  request.model.max_position_embeddings = 256;
  request.training.sequence_length = 256;
  request.training.batch_tokens = 8192;
  request.training.target.steps = 1000;
  request.training.checkpoint_every_seconds = 600;
  request.devices = {Cpu(16)};
  request.now = kNow;
  return request;
}

PlanChoice Must(const PlanRequest& request) {
  Result<PlanChoice> choice = PlanTraining(request);
  assert_ok(choice);
  return *std::move(choice);
}

std::string RefusalOf(const PlanRequest& request, ErrorCode code) {
  Result<PlanChoice> choice = PlanTraining(request);
  assert_code(choice, code);
  return choice.status().message() + " | " + choice.status().hint();
}

bool Has(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return true;
  std::fprintf(stderr, "\"%s\" is not in: %s\n", std::string(part).c_str(), text.c_str());
  return false;
}

void MemoryAddsUp(void**) {
  const Plan plan = Must(Request()).plan;
  int64_t sum = 0, arena = 0;
  for (const ClassBytes& row : plan.memory) {
    sum += row.bytes;
    const bool process =
        row.memory_class == "context" || row.memory_class == "process" || row.memory_class == "mapped data";
    if (!process) arena += row.bytes;
  }
  assert_int_equal(sum, plan.predicted_peak_bytes);
  assert_int_equal(arena, plan.arena_bytes);
  assert_int_equal(plan.strategy.micro_batch * plan.strategy.micro_batches, 32);
  assert_true(plan.step_seconds > 0 && plan.run_seconds > 1000 * plan.step_seconds);
}

void EveryDivisorIsConsidered(void**) {
  const PlanRequest request = Request();
  std::vector<int64_t> sizes;
  for (const Strategy& strategy : Strategies(request.training)) {
    assert_int_equal(strategy.micro_batch * strategy.micro_batches, 32);
    if (strategy.recompute == Recompute::kNone) sizes.push_back(strategy.micro_batch);
  }
  assert_true(sizes == (std::vector<int64_t>{1, 2, 4, 8, 16, 32}));
  assert_int_equal(Strategies(request.training).size(), 3 * sizes.size());
  const PlanChoice choice = Must(request);
  assert_int_equal(choice.rejected.size(), 16);  // of 17, the fastest
  for (const RejectedPlan& rejected : choice.rejected) assert_true(!rejected.reason.empty());
}

void HugeBatchesAreBounded(void**) {
  TrainingSpec training;
  training.sequence_length = 1;
  training.batch_tokens = int64_t{1} << 40;
  const std::vector<Strategy> strategies = Strategies(training);
  assert_int_equal(strategies.size(), 3 * 16);  // 1, 2, 4 … 32768
  training.sequence_length = 1 << 24;
  training.batch_tokens = int64_t{1} << 40;
  assert_int_equal(Strategies(training).size(), 3);
}

// The less memory there is, the slower the plan may be, and it always fits.
void LittleMemoryMeansSmallerAndSlower(void**) {
  PlanRequest request = Request();
  request.training.batch_tokens = 32768;
  const Plan roomy = Must(request).plan;
  Plan previous = roomy;
  assert_true(roomy.strategy.recompute == Recompute::kNone);
  bool rejected_for_memory = false;
  for (int64_t part = 20; part > 0; --part) {
    const int64_t usable = roomy.predicted_peak_bytes * part / 20;
    request.devices[0].free_bytes = usable + ReserveBytes(request.devices[0]);
    Result<PlanChoice> tight = PlanTraining(request);
    if (!tight.ok()) break;
    assert_true(tight->plan.predicted_peak_bytes <= usable);
    assert_true(tight->plan.step_seconds * 1.05 >= previous.step_seconds);
    previous = tight->plan;
    rejected_for_memory |= std::ranges::any_of(tight->rejected, [](const RejectedPlan& rejected) {
      return rejected.reason.starts_with("does not fit: needs ");
    });
  }
  assert_true(rejected_for_memory);
  assert_true(previous.strategy.micro_batch < roomy.strategy.micro_batch);
}

// A layer's activations weigh more than its weights here: full recomputation trains where nothing else does,
// and its bits are those of the same micro-batches without.
void RecomputesWhenMemoryAsksForIt(void**) {
  PlanRequest request = Request();
  request.model.num_hidden_layers = 24;
  request.training.batch_tokens = request.training.sequence_length;  // one sequence: no smaller micro-batch
  const Plan roomy = Must(request).plan;
  assert_true(roomy.strategy.recompute == Recompute::kNone);
  Recompute most = Recompute::kNone;
  for (int64_t part = 40; part > 0; --part) {
    const int64_t usable = roomy.predicted_peak_bytes * part / 40;
    request.devices[0].free_bytes = usable + ReserveBytes(request.devices[0]);
    const Result<PlanChoice> tight = PlanTraining(request);
    if (!tight.ok()) break;
    assert_true(tight->plan.predicted_peak_bytes <= usable);
    assert_true(tight->plan.strategy.recompute >= most);
    assert_text(tight->plan.hash, roomy.hash);
    most = tight->plan.strategy.recompute;
  }
  assert_true(most == Recompute::kFull);
}

// The rates that a probe measured under load do not decide the micro-batch, and so not the bits.
void MeasuredRatesDoNotChangeTheStrategy(void**) {
  for (int64_t hidden : {64, 256, 1024}) {
    PlanRequest request = Request();
    request.model.hidden_size = hidden;
    const PlanChoice base = Must(request);
    for (double matmul : {0.05, 0.5, 3.0}) {
      for (double memory : {0.05, 0.5, 3.0}) {
        request.devices[0].matmul_flops_per_second = 4e11 * matmul;
        request.devices[0].memory_bytes_per_second = 2e10 * memory;
        const PlanChoice other = Must(request);
        assert_true(other.plan.strategy == base.plan.strategy);
        assert_text(other.plan.hash, base.plan.hash);
      }
    }
  }
}

void FasterDeviceIsChosen(void**) {
  PlanRequest request = Request();
  request.devices.push_back(Cpu(16));
  request.devices[1].index = 1;
  request.devices[1].matmul_flops_per_second *= 3;
  request.devices[1].memory_bytes_per_second *= 3;
  assert_int_equal(Must(request).plan.device.index, 1);
  request.devices[1].free_bytes = 0;
  assert_int_equal(Must(request).plan.device.index, 0);
}

// Where a whole snapshot fits, a checkpoint is written in the background: more memory by exactly that,
// nothing else changes, least of all the bits.
void ASnapshotIsPlannedWhereItFits(void**) {
  PlanRequest request = Request();
  request.training.batch_tokens = 256;  // one strategy
  const Plan with = Must(request).plan;
  assert_true(with.strategy.snapshot);
  assert_true(with.checkpoint_stall_seconds == 0);
  request.devices[0].free_bytes = with.predicted_peak_bytes - 1 + ReserveBytes(request.devices[0]);
  const Plan without = Must(request).plan;
  assert_false(without.strategy.snapshot);
  assert_int_equal(without.strategy.micro_batch, with.strategy.micro_batch);
  assert_text(without.hash, with.hash);
  const int64_t state = 12 * ParameterCount(request.model);
  const int64_t more = with.predicted_peak_bytes - without.predicted_peak_bytes;
  assert_true(more >= state - kArenaGranularity && more <= state + kArenaGranularity + (1 << 20));
  const auto staging = [](const Plan& plan) {
    int64_t bytes = 0;
    for (const ClassBytes& row : plan.memory) bytes += row.memory_class == "host staging" ? row.bytes : 0;
    return bytes;
  };
  assert_true(staging(with) - staging(without) >= state);
  assert_true(with.step_seconds == without.step_seconds);
}

// A resumed attempt keeps its strategy, or is told that it does not fit now.
void KeptStrategyStays(void**) {
  PlanRequest request = Request();
  for (int64_t micro_batch : {1, 2, 32}) {
    request.keep = Strategy{micro_batch, 32 / micro_batch};
    const PlanChoice kept = Must(request);
    assert_int_equal(kept.plan.strategy.micro_batch, micro_batch);
    assert_int_equal(kept.plan.strategy.micro_batches, 32 / micro_batch);
    assert_true(kept.rejected.empty());
  }
  // First it loses its snapshot.
  for (const bool snapshot : {true, false}) {
    const Plan plan = Must(request).plan;
    assert_true(plan.strategy.snapshot == snapshot);
    request.devices[0].free_bytes = plan.predicted_peak_bytes - 1 + ReserveBytes(request.devices[0]);
  }
  assert_true(Has(RefusalOf(request, ErrorCode::NO_FEASIBLE_PLAN), "micro_batch 32"));
  request.keep.reset();
  assert_ok(PlanTraining(request));
}

// hidden_size 16384 × 160 layers is refused at once, with the right size.
void AbsurdModelIsRefusedAtOnce(void**) {
  PlanRequest request = Request();
  request.model.hidden_size = 16384;
  request.model.num_hidden_layers = 160;
  request.model.num_attention_heads = 128;
  request.model.num_key_value_heads = 128;
  request.model.intermediate_size = 65536;
  const auto begin = std::chrono::steady_clock::now();
  const std::string refusal = RefusalOf(request, ErrorCode::NO_FEASIBLE_PLAN);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  assert_true(took.count() < 2);
  assert_true(Has(refusal, "training 687B parameters needs at least "));
  assert_true(Has(refusal, "local:0 has 16.0 GiB free of 16.0 GiB"));
  assert_true(Has(refusal, "Not even one layer fits"));
  const int64_t parameters = ParameterCount(request.model);
  const int64_t arena = ArenaBytes(request.model, request.training, {1, 32}, {.threads = 2});
  assert_true(arena > 16 * parameters && arena < 16 * parameters + 64 * kGiB);
}

void EverySizeUpToTheLimitsIsAnswered(void**) {
  for (int64_t layers : {1, 4096, 4097, 65536}) {
    for (int64_t hidden : {2, 1 << 20}) {
      for (int64_t length : {1, 1 << 24}) {
        PlanRequest request = Request();
        request.model.hidden_size = hidden;
        request.model.num_hidden_layers = layers;
        request.model.num_attention_heads = hidden == 2 ? 1 : 1 << 16;
        request.model.num_key_value_heads = 1;
        request.model.intermediate_size = hidden;
        request.model.max_position_embeddings = 1 << 24;
        request.training.sequence_length = length;
        request.training.batch_tokens = length;
        Result<PlanChoice> choice = PlanTraining(request);
        if (!choice.ok())
          assert_true(choice.status().code() == ErrorCode::NO_FEASIBLE_PLAN ||
                      choice.status().code() == ErrorCode::INVALID_OPTION);
      }
    }
  }
}

void DeepModelsAreExtrapolatedExactly(void**) {
  for (int64_t micro_batches : {1, 3}) {
    for (int64_t length : {1, 64, 300}) {
      for (int64_t hidden : {8, 96}) {
        PlanRequest request = Request();
        request.model.hidden_size = hidden;
        request.model.num_attention_heads = 2;
        request.model.num_key_value_heads = 1;
        request.model.intermediate_size = 12;
        request.training.sequence_length = length;
        request.training.batch_tokens = length * micro_batches;
        for (int64_t layers : {63, 64, 65, 66, 200, 1000}) {
          request.model.num_hidden_layers = layers;
          Strategy strategy{1, micro_batches};
          strategy.recompute = kRecomputes[layers % 3];
          const TableOptions options{.threads = 2, .validates = true};
          Result<MemoryTable> table = BuildTrainingTable(request.model, request.training, strategy, options);
          assert_ok(table);
          assert_int_equal(table->arena_bytes,
                           ArenaBytes(request.model, request.training, strategy, options));
        }
      }
    }
  }
}

void WhatHelpsIsTrue(void**) {
  PlanRequest request = Request();
  request.model.hidden_size = 2048;
  request.model.intermediate_size = 5632;
  request.model.num_hidden_layers = 40;
  const std::string refusal = RefusalOf(request, ErrorCode::NO_FEASIBLE_PLAN);
  const size_t at = refusal.find("num_hidden_layers = ");
  assert_true(at != std::string::npos);
  request.model.num_hidden_layers = std::atoll(refusal.c_str() + at + 20);
  assert_ok(PlanTraining(request));
  request.model.num_hidden_layers += 1;
  assert_code(PlanTraining(request), ErrorCode::NO_FEASIBLE_PLAN);
}

void NoDeviceIsSaid(void**) {
  PlanRequest request = Request();
  request.devices.clear();
  assert_true(Has(RefusalOf(request, ErrorCode::NO_FEASIBLE_PLAN), "no device is left"));
}

// One case of a budget against a run whose parts take known times.
struct BudgetCase {
  const char* name;
  double wall_clock;  // 0: not given; the same below
  double gpu_hours;
  double deadline_in;
  double used;
  bool ok;
  const char* says;
};

void BudgetsHoldOrAreRefused(void**) {
  const double run = Must(Request()).plan.run_seconds;
  const BudgetCase cases[] = {
      {"roomy wall clock", run * 2, 0, 0, 0, true, ""},
      {"exact wall clock", run, 0, 0, 0, true, ""},
      {"short wall clock", run * 0.9, 0, 0, 0, false, "wall_clock allows "},
      {"wall clock, used up before", run * 1.5, 0, 0, run, false, "of it used before"},
      {"roomy gpu_hours", 0, run / 3600 * 1.1, 0, 0, true, ""},
      {"short gpu_hours", 0, run / 3600 * 0.5, 0, 0, false, "gpu_hours <= "},
      {"roomy deadline", 0, 0, run + 60, 1e6, true, ""},
      {"short deadline", 0, 0, run - 1, 0, false, "DEADLINE '2027-01-15 "},
      {"deadline in the past", 0, 0, -60, 0, false, "DEADLINE allows "},
      {"the tighter of two binds", run * 0.9, run / 3600 * 0.1, 0, 0, false, "gpu_hours allows "},
  };
  for (const BudgetCase& c : cases) {
    PlanRequest request = Request();
    if (c.wall_clock != 0) request.budget.wall_clock_seconds = c.wall_clock;
    if (c.gpu_hours != 0) request.budget.gpu_hours = c.gpu_hours;
    if (c.deadline_in != 0) request.budget.deadline = kNow + c.deadline_in;
    request.budget_used_seconds = c.used;
    Result<PlanChoice> choice = PlanTraining(request);
    if (choice.ok() != c.ok) std::fprintf(stderr, "case %s\n", c.name);
    assert_int_equal(choice.ok(), c.ok);
    if (c.ok) {
      for (const Headroom& row : choice->budget) assert_false(row.broken);
      continue;
    }
    assert_true(Has(RefusalOf(request, ErrorCode::BUDGET_TOO_SMALL), c.says));
    // With ELSE the same is admitted, with a warning.
    request.budget.action_explicit = true;
    const PlanChoice admitted = Must(request);
    assert_int_equal(admitted.warnings.size(), 1);
    assert_true(std::ranges::any_of(admitted.budget, &Headroom::broken));
    assert_int_equal(*admitted.plan.total_steps, 1000);
  }
}

// The smallest budget that the error names is enough, and is not more than needed by much.
void SmallestBudgetIsTrue(void**) {
  for (int64_t steps : {1, 100, 10000, 1000000, 100000000}) {
    PlanRequest request = Request();
    request.training.target.steps = steps;
    const double run = Must(request).plan.run_seconds;
    request.budget.wall_clock_seconds = run / 10;
    const std::string refusal = RefusalOf(request, ErrorCode::BUDGET_TOO_SMALL);
    const size_t at = refusal.find("wall_clock <= ");
    assert_true(at != std::string::npos);
    char unit = 0;
    double value = 0;
    assert_int_equal(std::sscanf(refusal.c_str() + at, "wall_clock <= %lf%c", &value, &unit), 2);
    const double seconds = value * (unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : 1);
    assert_true(seconds >= run && seconds <= run * 1.03 + 1);
    request.budget.wall_clock_seconds = seconds;
    assert_ok(PlanTraining(request));
  }
}

void BudgetAsTargetIsUsedUp(void**) {
  for (double seconds : {10.0, 600.0, 86400.0, 1e7}) {
    PlanRequest request = Request();
    request.training.target = {};
    request.training.validate_every_steps = 50;
    request.validates = true;
    request.validation_tokens = 100000;
    request.budget.wall_clock_seconds = seconds;
    const Plan plan = Must(request).plan;
    assert_true(plan.total_steps && *plan.total_steps >= 1);
    assert_true(plan.run_seconds <= seconds);
    const double more = plan.step_seconds + plan.validation_seconds + plan.checkpoint_seconds;
    assert_true(plan.run_seconds + 2 * more > seconds);
  }
}

void TheTightestTermIsTheTarget(void**) {
  PlanRequest request = Request();
  request.training.target = {};
  request.budget.wall_clock_seconds = 1000;
  request.budget.gpu_hours = 500.0 / 3600;
  request.budget.deadline = kNow + 250;
  const int64_t by_deadline = *Must(request).plan.total_steps;
  request.budget.deadline.reset();
  const int64_t by_gpu_hours = *Must(request).plan.total_steps;
  request.budget.gpu_hours.reset();
  const int64_t by_wall_clock = *Must(request).plan.total_steps;
  assert_true(by_deadline < by_gpu_hours && by_gpu_hours < by_wall_clock);
  request.budget_used_seconds = 600;
  request.start_step = 100;
  const int64_t later = *Must(request).plan.total_steps;
  assert_true(later > 100 && later - 100 < by_wall_clock);
}

void BudgetWithoutRoomForAStepIsRefused(void**) {
  PlanRequest request = Request();
  request.training.target = {};
  request.budget.wall_clock_seconds = 0.01;
  assert_true(Has(RefusalOf(request, ErrorCode::BUDGET_TOO_SMALL), "wall_clock <= "));
  request.budget.action_explicit = true;
  assert_int_equal(*Must(request).plan.total_steps, 1);
}

void TargetsBecomeSteps(void**) {
  PlanRequest request = Request();
  request.training.target = {};
  request.training.target.tokens = 8192 * 10 + 1;
  assert_int_equal(*Must(request).plan.total_steps, 11);
  request.training.target = {};
  request.training.target.epochs = 2;
  assert_false(Must(request).plan.total_steps.has_value());
  request.data_tokens = 256 * 32 * 5 + 1;
  assert_int_equal(*Must(request).plan.total_steps, 10);
  request.data_tokens = 256 * 32 * 5 + 1 + 256;
  assert_int_equal(*Must(request).plan.total_steps, 11);
}

void UnknownEpochsLeaveTheBudgetOpen(void**) {
  PlanRequest request = Request();
  request.training.target = {};
  request.training.target.epochs = 2;
  request.budget.wall_clock_seconds = 1;
  const PlanChoice choice = Must(request);
  assert_int_equal(choice.warnings.size(), 1);
  assert_false(choice.budget.at(0).broken);
}

void RunSecondsCountsOccasions(void**) {
  TrainingSpec training;
  training.validate_every_steps = 10;
  training.checkpoint_every_steps = 25;
  const RunTimes times{1, 2, 100, 1000, 1000};
  // 30 steps: validations at 10, 20, 30; checkpoints at 25 and at the end.
  assert_true(RunSeconds(training, times, 0, 30) == 1 + 60 + 300 + 2000);
  assert_true(RunSeconds(training, times, 0, 31) == 1 + 62 + 400 + 2000);
  assert_true(RunSeconds(training, times, 24, 25) == 1 + 2 + 100 + 1000);
  // In the background, only the last one is waited for.
  assert_true(RunSeconds(training, {1, 2, 100, 1000, 10}, 0, 30) == 1 + 60 + 300 + 1010);
  assert_true(RunSeconds(training, times, 30, 30) == 1);
  training.checkpoint_every_steps.reset();
  training.checkpoint_every_seconds = 50;
  training.validate_every_steps = 0;
  assert_true(RunSeconds(training, times, 0, 60) == 1 + 120 + 100 + 5 * 1000);
  for (double seconds : {0.5, 1.0, 1103.0, 5000.0, 1e6}) {
    const int64_t last = LastStepWithin(training, times, 7, seconds);
    if (last > 7) assert_true(RunSeconds(training, times, 7, last) <= seconds);
    assert_true(RunSeconds(training, times, 7, last + 1) > seconds);
  }
  assert_true(LastStepWithin(training, {0, 0, 0, 0}, 7, 1) == kMostSteps);
}

void JsonReadsBack(void**) {
  PlanRequest request = Request();
  request.validates = true;
  const Plan plan = Must(request).plan;
  Result<Plan> read = PlanFromJson(PlanToJson(plan));
  assert_ok(read);
  assert_text(DumpJson(PlanToJson(*read)), DumpJson(PlanToJson(plan)));
  Json open = PlanToJson(plan);
  open["total_steps"] = nullptr;
  read = PlanFromJson(open);
  assert_ok(read);
  assert_false(read->total_steps.has_value());
}

void BadJsonIsRefused(void**) {
  const Json good = PlanToJson(Must(Request()).plan);
  for (const auto& [key, value] : good.items()) {
    Json bad = good;
    if (key != "total_steps" && key != "checkpoint_stall_seconds") {
      bad.erase(key);
      assert_code(PlanFromJson(bad), ErrorCode::MALFORMED_FRAME);
    }
    bad[key] = Json::array({1, "x"});
    assert_code(PlanFromJson(bad), ErrorCode::MALFORMED_FRAME);
  }
  assert_code(PlanFromJson(Json()), ErrorCode::MALFORMED_FRAME);
  assert_code(PlanFromJson(Json(7)), ErrorCode::MALFORMED_FRAME);
  Json bad = good;
  bad["strategy"]["micro_batch"] = 0;
  assert_code(PlanFromJson(bad), ErrorCode::MALFORMED_FRAME);
  bad = good;
  bad["strategy"]["recompute"] = "some";
  assert_code(PlanFromJson(bad), ErrorCode::MALFORMED_FRAME);
}

void HashCoversWhatBitsDependOn(void**) {
  const PlanRequest base = Request();
  const std::string hash = Must(base).plan.hash;
  assert_int_equal(hash.size(), 32);
  assert_text(Must(base).plan.hash, hash);
  using Change = void (*)(PlanRequest*);
  const Change different[] = {
      [](PlanRequest* r) { r->model.rope_theta = 5e5; },
      [](PlanRequest* r) { r->model.num_hidden_layers = 5; },
      [](PlanRequest* r) { r->training.seed = 7; },
      [](PlanRequest* r) { r->training.learning_rate = 1e-3; },
      [](PlanRequest* r) { r->training.scheduler = Scheduler::kConstant; },
      [](PlanRequest* r) { r->devices[0].threads = 3; },
      [](PlanRequest* r) { r->devices[0].instruction_set = "avx2"; },
      [](PlanRequest* r) { r->devices[0].libraries = "oneDNN 3.0"; },
      [](PlanRequest* r) {
        r->keep = Strategy{16, 2};
      },
  };
  for (Change change : different) {
    PlanRequest request = base;
    change(&request);
    assert_true(Must(request).plan.hash != hash);
  }
  const Change same[] = {
      [](PlanRequest* r) { r->training.target.steps = 5; },
      [](PlanRequest* r) { r->training.keep_checkpoints = 9; },
      [](PlanRequest* r) { r->training.checkpoint_every_seconds = 5; },
      [](PlanRequest* r) { r->budget.wall_clock_seconds = 1e6; },
      [](PlanRequest* r) { r->devices[0].free_bytes -= 1; },
      [](PlanRequest* r) { r->now = 0; },
  };
  for (Change change : same) {
    PlanRequest request = base;
    change(&request);
    assert_text(Must(request).plan.hash, hash);
  }
}

DeviceSpec NativeBf16() {
  DeviceSpec device = Cpu(16);
  device.bf16_flops_per_second = 8e11;
  return device;
}

int64_t BytesOf(const Plan& plan, std::string_view memory_class) {
  int64_t bytes = 0;
  for (const ClassBytes& row : plan.memory) bytes += row.memory_class == memory_class ? row.bytes : 0;
  return bytes;
}

// 18 bytes a parameter instead of 16, half the activations, another hash, and less time.
void Bf16Plans(void**) {
  PlanRequest request = Request();
  request.devices = {NativeBf16()};
  request.keep = Strategy{16, 2};
  const Plan exact = Must(request).plan;
  request.training.precision = Precision::kBf16;
  const Plan rounded = Must(request).plan;
  const int64_t parameters = ParameterCount(request.model);
  assert_true(rounded.hash != exact.hash);
  assert_true(rounded.step_seconds < 0.75 * exact.step_seconds);
  assert_int_equal(BytesOf(exact, "master"), 0);
  assert_int_equal(BytesOf(rounded, "master") / 64, parameters * 4 / 64);
  assert_int_equal(BytesOf(rounded, "weights") / 64, parameters * 2 / 64);
  assert_int_equal(BytesOf(rounded, "moments"), BytesOf(exact, "moments"));
  assert_true(BytesOf(rounded, "logits") * 2 == BytesOf(exact, "logits"));
  assert_true(static_cast<double>(BytesOf(rounded, "activations")) <
              0.6 * static_cast<double>(BytesOf(exact, "activations")));
  assert_int_equal(rounded.checkpoint_bytes, exact.checkpoint_bytes);
}

// Only where it is native: on other devices it would be slower than fp32.
void Bf16NeedsANativeDevice(void**) {
  PlanRequest request = Request();
  request.training.precision = Precision::kBf16;
  assert_code(PlanTraining(request), ErrorCode::UNKNOWN_PRECISION);
  request.devices.push_back(NativeBf16());
  request.devices[1].index = 1;
  assert_int_equal(Must(request).plan.device.index, 1);
  request.devices.clear();
  assert_code(PlanTraining(request), ErrorCode::NO_FEASIBLE_PLAN);
}

void SameRequestSamePlan(void**) {
  PlanRequest request = Request();
  request.budget.wall_clock_seconds = 1e6;
  assert_text(DumpJson(PlanToJson(Must(request).plan)), DumpJson(PlanToJson(Must(request).plan)));
}

void InferencePlans(void**) {
  const PlanRequest request = Request();
  Result<Plan> plan = PlanInference(request.model, request.devices[0], 256, 1);
  assert_ok(plan);
  assert_true(plan->predicted_peak_bytes < Must(request).plan.predicted_peak_bytes);
  DeviceSpec full = request.devices[0];
  full.free_bytes = 100 << 20;
  assert_code(PlanInference(request.model, full, 256, 1), ErrorCode::NO_FEASIBLE_PLAN);
  // A text costs its cache, not the activations of all of it.
  const Result<Plan> text = PlanGeneration(request.model, request.devices[0], 1024);
  assert_ok(text);
  assert_true(text->arena_bytes < PlanInference(request.model, request.devices[0], 1024, 1)->arena_bytes);
  assert_code(PlanGeneration(request.model, full, 1024), ErrorCode::NO_FEASIBLE_PLAN);
}

}  // namespace
}  // namespace traind::plan

int main() {
  using namespace traind::plan;
  const CMUnitTest tests[] = {
      cmocka_unit_test(MemoryAddsUp),
      cmocka_unit_test(EveryDivisorIsConsidered),
      cmocka_unit_test(HugeBatchesAreBounded),
      cmocka_unit_test(LittleMemoryMeansSmallerAndSlower),
      cmocka_unit_test(RecomputesWhenMemoryAsksForIt),
      cmocka_unit_test(MeasuredRatesDoNotChangeTheStrategy),
      cmocka_unit_test(FasterDeviceIsChosen),
      cmocka_unit_test(ASnapshotIsPlannedWhereItFits),
      cmocka_unit_test(KeptStrategyStays),
      cmocka_unit_test(AbsurdModelIsRefusedAtOnce),
      cmocka_unit_test(EverySizeUpToTheLimitsIsAnswered),
      cmocka_unit_test(DeepModelsAreExtrapolatedExactly),
      cmocka_unit_test(WhatHelpsIsTrue),
      cmocka_unit_test(NoDeviceIsSaid),
      cmocka_unit_test(BudgetsHoldOrAreRefused),
      cmocka_unit_test(SmallestBudgetIsTrue),
      cmocka_unit_test(BudgetAsTargetIsUsedUp),
      cmocka_unit_test(TheTightestTermIsTheTarget),
      cmocka_unit_test(BudgetWithoutRoomForAStepIsRefused),
      cmocka_unit_test(TargetsBecomeSteps),
      cmocka_unit_test(UnknownEpochsLeaveTheBudgetOpen),
      cmocka_unit_test(RunSecondsCountsOccasions),
      cmocka_unit_test(JsonReadsBack),
      cmocka_unit_test(BadJsonIsRefused),
      cmocka_unit_test(HashCoversWhatBitsDependOn),
      cmocka_unit_test(Bf16Plans),
      cmocka_unit_test(Bf16NeedsANativeDevice),
      cmocka_unit_test(SameRequestSamePlan),
      cmocka_unit_test(InferencePlans),
  };
  return cmocka_run_group_tests_name("planner", tests, nullptr, nullptr);
}
