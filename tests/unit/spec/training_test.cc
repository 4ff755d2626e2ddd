// TrainingSpec: ranges, the learning rate's course against its formula, JSON there and back.
#include "engine/spec/training.h"

#include <cmath>

#include "tests/support/test.h"

namespace traind {
namespace {

TrainingSpec Sound() {
  TrainingSpec training;
  training.sequence_length = 128;
  training.batch_tokens = 1024;
  training.target.steps = 100;
  return training;
}

std::string Blamed(const TrainingSpec& training) {
  const Status status = ValidateTraining(training);
  if (status.ok()) return "";
  assert_int_equal(status.code(), ErrorCode::INVALID_OPTION);
  return *GetString(*ParseJson(status.detail_json()), "option");
}

bool Near(double a, double b) {
  return std::fabs(a - b) <= 1e-12 * std::max(1.0, std::fabs(b));
}

void a_sound_specification_passes(void**) {
  assert_ok(ValidateTraining(Sound()));
  TrainingSpec budget_is_target = Sound();
  budget_is_target.target = {};
  assert_ok(ValidateTraining(budget_is_target));
  assert_int_equal(Sound().sequences_per_batch(), 8);
}

void real_settings_have_ranges(void**) {
  const struct {
    const char* option;
    double TrainingSpec::*value;
    double good_low, bad_low, good_high, bad_high;
  } rows[] = {
      {"learning_rate", &TrainingSpec::learning_rate, 1e-30, 0, 1000, 1000.5},
      {"min_lr_ratio", &TrainingSpec::min_learning_rate_ratio, 0, -1e-9, 1, 1.0001},
      {"weight_decay", &TrainingSpec::weight_decay, 0, -0.1, 1000, 1001},
      {"adam_beta1", &TrainingSpec::adam_beta1, 0, -0.1, 0.9999, 1},
      {"adam_beta2", &TrainingSpec::adam_beta2, 0, -0.1, 0.9999, 1},
      {"adam_epsilon", &TrainingSpec::adam_epsilon, 1e-30, 0, 1, 1.1},
      {"max_grad_norm", &TrainingSpec::max_grad_norm, 0, -1, 1e30, 1e31},
      {"decay_ratio", &TrainingSpec::decay_ratio, 0.001, 0, 1, 1.1},
  };
  for (const auto& row : rows) {
    TrainingSpec training = Sound();
    for (const double good : {row.good_low, row.good_high}) {
      training.*row.value = good;
      assert_text(Blamed(training), "");
    }
    for (const double bad : {row.bad_low, row.bad_high, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      training.*row.value = bad;
      assert_text(Blamed(training), row.option);
    }
  }
  TrainingSpec training = Sound();
  training.learning_rate = -1;
  assert_text(ValidateTraining(training).message(),
              "learning_rate is -1.0; it must be above 0.0 and at most 1000.0");
}

void whole_settings_have_ranges(void**) {
  const struct {
    const char* option;
    int64_t TrainingSpec::*value;
    int64_t bad;
  } rows[] = {{"warmup_steps", &TrainingSpec::warmup_steps, -1},
              {"sequence_length", &TrainingSpec::sequence_length, 0},
              {"sequence_length", &TrainingSpec::sequence_length, INT64_MAX},
              {"batch_tokens", &TrainingSpec::batch_tokens, 0},
              {"batch_tokens", &TrainingSpec::batch_tokens, INT64_MAX},
              {"batch_tokens", &TrainingSpec::batch_tokens, 1000},
              {"batch_tokens", &TrainingSpec::batch_tokens, 64},
              {"validate_every_steps", &TrainingSpec::validate_every_steps, -5},
              {"keep_checkpoints", &TrainingSpec::keep_checkpoints, 1}};
  for (const auto& row : rows) {
    TrainingSpec training = Sound();
    training.*row.value = row.bad;
    assert_text(Blamed(training), row.option);
  }
}

void targets_are_amounts(void**) {
  TrainingSpec training = Sound();
  training.target.tokens = 5;
  assert_text(Blamed(training), "target");  // two
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    training.target = {bad, {}, {}};
    assert_text(Blamed(training), "target");
    training.target = {{}, bad, {}};
    assert_text(Blamed(training), "target");
  }
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    training.target = {{}, {}, bad};
    assert_text(Blamed(training), "target");
  }
  training.target = {{}, {}, 0.5};
  assert_text(Blamed(training), "");
}

void checkpoints_and_stops(void**) {
  TrainingSpec training = Sound();
  training.checkpoint_every_steps = 0;
  assert_text(Blamed(training), "checkpoint");
  training.checkpoint_every_steps = 1;
  assert_text(Blamed(training), "");
  training.checkpoint_every_seconds = 0;
  assert_text(Blamed(training), "checkpoint");
  training.checkpoint_every_seconds = std::nan("");
  assert_text(Blamed(training), "checkpoint");
  training.checkpoint_every_seconds = 60;
  training.until = StopCondition{"perplexity", 3};
  assert_text(Blamed(training), "until");
  training.until = StopCondition{"val_loss", std::nan("")};
  assert_text(Blamed(training), "until");
  training.until = StopCondition{"val_loss", 1.5};
  assert_text(Blamed(training), "");
}

TrainingSpec Scheduled(Scheduler scheduler) {
  TrainingSpec training = Sound();
  training.learning_rate = 1;
  training.min_learning_rate_ratio = 0.1;
  training.warmup_steps = 10;
  training.decay_ratio = 0.2;
  training.scheduler = scheduler;
  return training;
}

void warm_up_is_linear_everywhere(void**) {
  for (const Scheduler scheduler :
       {Scheduler::kCosine, Scheduler::kLinear, Scheduler::kConstant, Scheduler::kWarmupStableDecay}) {
    const TrainingSpec training = Scheduled(scheduler);
    for (int64_t step = 1; step <= 10; ++step) {
      assert_true(Near(LearningRateAt(training, step, 100), static_cast<double>(step) / 10));
      assert_true(Near(LearningRateAt(training, step, 0), static_cast<double>(step) / 10));
    }
  }
}

void constant_stays(void**) {
  const TrainingSpec training = Scheduled(Scheduler::kConstant);
  for (int64_t step = 10; step <= 120; ++step) assert_true(LearningRateAt(training, step, 100) == 1);
}

void linear_falls_to_the_ratio(void**) {
  const TrainingSpec training = Scheduled(Scheduler::kLinear);
  assert_true(Near(LearningRateAt(training, 55, 100), 0.55));
  assert_true(Near(LearningRateAt(training, 100, 100), 0.1));
  assert_true(Near(LearningRateAt(training, 1000, 100), 0.1));
}

void cosine_falls_to_the_ratio(void**) {
  const TrainingSpec training = Scheduled(Scheduler::kCosine);
  assert_true(Near(LearningRateAt(training, 10, 100), 1));
  assert_true(Near(LearningRateAt(training, 55, 100), 0.55));
  assert_true(Near(LearningRateAt(training, 40, 100), 0.1 + 0.9 * 0.5 * (1 + std::cos(M_PI / 3))));
  assert_true(Near(LearningRateAt(training, 100, 100), 0.1));
  double previous = 2;
  for (int64_t step = 10; step <= 100; ++step) {
    const double rate = LearningRateAt(training, step, 100);
    assert_true(rate < previous);
    previous = rate;
  }
}

void stable_then_decay(void**) {
  const TrainingSpec training = Scheduled(Scheduler::kWarmupStableDecay);
  assert_true(LearningRateAt(training, 11, 100) == 1);
  assert_true(LearningRateAt(training, 80, 100) == 1);
  assert_true(Near(LearningRateAt(training, 90, 100), 0.55));
  assert_true(Near(LearningRateAt(training, 100, 100), 0.1));
  assert_true(LearningRateAt(training, 100000, 0) == 1);  // the end is not known yet
}

void short_runs_are_no_surprise(void**) {
  for (const Scheduler scheduler :
       {Scheduler::kCosine, Scheduler::kLinear, Scheduler::kConstant, Scheduler::kWarmupStableDecay}) {
    TrainingSpec training = Scheduled(scheduler);
    for (const int64_t total : {int64_t{1}, int64_t{5}, int64_t{10}, int64_t{11}}) {
      for (const int64_t warmup : {int64_t{0}, int64_t{1}, int64_t{10}, int64_t{100}}) {
        training.warmup_steps = warmup;
        for (int64_t step = 1; step <= total; ++step) {
          const double rate = LearningRateAt(training, step, total);
          assert_true(rate > 0 && rate <= 1);
        }
      }
    }
  }
}

void names(void**) {
  for (const Scheduler scheduler :
       {Scheduler::kCosine, Scheduler::kLinear, Scheduler::kConstant, Scheduler::kWarmupStableDecay}) {
    assert_true(*ParseScheduler(SchedulerName(scheduler)) == scheduler);
  }
  assert_text(ParseScheduler("cosin").status().message(),
              "unknown lr_scheduler_type 'cosin'; did you mean 'cosine'?");
  assert_code(ParseScheduler("polynomial"), ErrorCode::INVALID_OPTION);
  assert_true(*ParsePrecision(PrecisionName(Precision::kFp32)) == Precision::kFp32);
  assert_true(*ParsePrecision(PrecisionName(Precision::kBf16)) == Precision::kBf16);
  assert_code(ParsePrecision("fp8"), ErrorCode::UNKNOWN_PRECISION);
  assert_code(ParsePrecision("FP32"), ErrorCode::UNKNOWN_PRECISION);
}

TrainingSpec Unusual() {
  TrainingSpec training = Scheduled(Scheduler::kLinear);
  training.learning_rate = 1.0 / 3;
  training.weight_decay = 0.01;
  training.adam_beta1 = 0.8;
  training.adam_beta2 = 0.99;
  training.adam_epsilon = 1e-9;
  training.max_grad_norm = 0;
  training.seed = -7;
  training.target = {{}, 123456789, {}};
  training.until = StopCondition{"loss", 0.25};
  training.validate_every_steps = 20;
  training.checkpoint_every_steps = 100;
  training.checkpoint_every_seconds = 60.5;
  training.keep_checkpoints = 5;
  return training;
}

void json_keeps_everything(void**) {
  for (const TrainingSpec& training : {Sound(), Unusual()}) {
    const auto read = TrainingFromJson(*ParseJson(DumpJson(TrainingToJson(training))));
    assert_ok(read);
    assert_true(*read == training);
  }
  TrainingSpec epochs = Sound();
  epochs.target = {{}, {}, 0.5};
  assert_true(*TrainingFromJson(TrainingToJson(epochs)) == epochs);
}

void json_of_other_types_is_refused(void**) {
  const Json whole = TrainingToJson(Unusual());
  for (const auto& [key, value] : whole.items()) {
    Json object = whole;
    object[key] = true;
    assert_false(TrainingFromJson(object).ok());
  }
  assert_code(TrainingFromJson(Json()), ErrorCode::MALFORMED_FRAME);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_sound_specification_passes),
      cmocka_unit_test(real_settings_have_ranges),
      cmocka_unit_test(whole_settings_have_ranges),
      cmocka_unit_test(targets_are_amounts),
      cmocka_unit_test(checkpoints_and_stops),
      cmocka_unit_test(warm_up_is_linear_everywhere),
      cmocka_unit_test(constant_stays),
      cmocka_unit_test(linear_falls_to_the_ratio),
      cmocka_unit_test(cosine_falls_to_the_ratio),
      cmocka_unit_test(stable_then_decay),
      cmocka_unit_test(short_runs_are_no_surprise),
      cmocka_unit_test(names),
      cmocka_unit_test(json_keeps_everything),
      cmocka_unit_test(json_of_other_types_is_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
