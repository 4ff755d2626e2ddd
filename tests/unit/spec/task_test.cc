// Tasks, metric rows, budgets, devices and data as JSON: everything comes back, and nothing half-read.
#include "engine/spec/task.h"

#include "engine/spec/device.h"
#include "tests/support/test.h"

namespace traind {
namespace {

// What a frame makes of it.
Json Sent(const Json& object) {
  const auto read = ParseJson(DumpJson(object));
  assert_ok(read);
  return *read;
}

ModelSpec SomeModel() {
  ModelSpec model;
  model.hidden_size = 64;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 2;
  model.intermediate_size = 192;
  model.max_position_embeddings = 128;
  return model;
}

DataSpec SomeData() {
  return {"lic", {"/usr/share/a*", "/b \xc3\xa9\n"}, DataFormat::kText};
}

TrainTask SomeTrainTask() {
  TrainTask task;
  task.job = 7;
  task.attempt = 2;
  task.model = SomeModel();
  task.training.sequence_length = 128;
  task.training.batch_tokens = 1024;
  task.plan = {{"hash", "abc"}, {"arena_bytes", 123456789012}};
  task.data = SomeData();
  task.validation = DataSpec{"held", {"/h"}, DataFormat::kText};
  task.cache_directory = "/s/cache";
  task.checkpoint_directory = "/s/jobs/7/checkpoints";
  task.initial_weights = "/s/models/1/1";
  task.resume_checkpoint = "/s/jobs/7/checkpoints/step-00000010";
  task.statement = "TRAIN MODEL m FROM 'it''s'";
  task.total_steps = 100;
  task.seconds_left = 12.5;
  task.deadline_scale = 0.1;
  return task;
}

void train_tasks(void**) {
  for (const bool whole : {true, false}) {
    TrainTask task = SomeTrainTask();
    if (!whole) task.validation.reset();
    const auto read = TrainTaskFromJson(Sent(TrainTaskToJson(task)));
    assert_ok(read);
    assert_true(TrainTaskToJson(*read) == TrainTaskToJson(task));
    assert_true(read->model == task.model && read->training == task.training && read->data == task.data);
    assert_true(read->validation == task.validation && read->plan == task.plan);
    assert_true(read->seconds_left == 12.5 && read->deadline_scale == 0.1);
    assert_text(read->statement, task.statement);
  }
  assert_text(*GetString(TrainTaskToJson(SomeTrainTask()), "type"), "train");
}

void train_tasks_lack_nothing_needed(void**) {
  const Json whole = TrainTaskToJson(SomeTrainTask());
  for (const char* key : {"job", "attempt", "model", "training", "data", "cache_directory",
                          "checkpoint_directory", "total_steps"}) {
    Json object = whole;
    object.erase(key);
    assert_code(TrainTaskFromJson(object), ErrorCode::MALFORMED_FRAME);
    object[key] = Json::array({1});
    assert_code(TrainTaskFromJson(object), ErrorCode::MALFORMED_FRAME);
  }
  assert_code(TrainTaskFromJson(Json("x")), ErrorCode::MALFORMED_FRAME);
}

void other_tasks(void**) {
  const EvaluateTask evaluate{SomeModel(), "/w", {{"a", 1}}, SomeData(), "/state/tokenizers/1",
                              "/c",        20,   128,        4};
  const auto evaluate_read = EvaluateTaskFromJson(Sent(EvaluateTaskToJson(evaluate)));
  assert_ok(evaluate_read);
  assert_true(EvaluateTaskToJson(*evaluate_read) == EvaluateTaskToJson(evaluate));
  const GenerateTask generate{
      SomeModel(), "/w", {{"a", 1}}, "/state/tokenizers/1", "This \"License\"", 64, 32, 0.8, 40,
      0.95,        "\n", 1};
  const auto generate_read = GenerateTaskFromJson(Sent(GenerateTaskToJson(generate)));
  assert_ok(generate_read);
  assert_true(GenerateTaskToJson(*generate_read) == GenerateTaskToJson(generate));
  assert_code(EvaluateTaskFromJson(Json::object()), ErrorCode::MALFORMED_FRAME);
  assert_code(GenerateTaskFromJson(Json::object()), ErrorCode::MALFORMED_FRAME);
}

void metric_rows_keep_their_bits(void**) {
  MetricRow row;
  row.step = 3;
  row.tokens = 3072;
  row.loss = 5.5451774444795623;
  row.learning_rate = 1.0 / 3;
  row.grad_norm = 0.1;
  row.tokens_per_second = 1e5;
  row.mfu = 0.5;
  row.time = 1796284805.123456;
  const auto without = MetricRowFromJson(Sent(MetricRowToJson(row)));
  assert_ok(without);
  assert_false(without->val_loss.has_value());
  assert_true(without->loss == row.loss && without->learning_rate == row.learning_rate &&
              without->grad_norm == row.grad_norm && without->time == row.time);
  row.val_loss = 2.25;
  const auto with = MetricRowFromJson(Sent(MetricRowToJson(row)));
  assert_ok(with);
  assert_true(with->val_loss == 2.25);
  row.loss = __builtin_nan("");  // no number in JSON, so it cannot slip through as one
  assert_code(MetricRowFromJson(Sent(MetricRowToJson(row))), ErrorCode::MALFORMED_FRAME);
}

void budgets(void**) {
  Budget budget;
  assert_true(budget.empty());
  assert_true(*BudgetFromJson(Sent(BudgetToJson(budget))) == budget);
  budget.wall_clock_seconds = 600;
  budget.gpu_hours = 0.5;
  budget.deadline = 1796284800;
  budget.action_explicit = true;
  for (const LimitAction action :
       {LimitAction::kCheckpointAndStop, LimitAction::kPause, LimitAction::kWarn, LimitAction::kFail}) {
    budget.action = action;
    const auto read = BudgetFromJson(Sent(BudgetToJson(budget)));
    assert_ok(read);
    assert_true(*read == budget);
  }
  assert_text(LimitActionName(LimitAction::kCheckpointAndStop), "CHECKPOINT AND STOP");
  Json bad = BudgetToJson(budget);
  bad["gpu_hours"] = -1;
  assert_code(BudgetFromJson(bad), ErrorCode::MALFORMED_FRAME);
  bad["gpu_hours"] = "much";
  assert_code(BudgetFromJson(bad), ErrorCode::MALFORMED_FRAME);
  bad = BudgetToJson(budget);
  bad["action"] = "HOPE";
  assert_code(BudgetFromJson(bad), ErrorCode::MALFORMED_FRAME);
  assert_code(BudgetFromJson(Json(1)), ErrorCode::MALFORMED_FRAME);
}

void devices(void**) {
  DeviceSpec device;
  device.uuid = "cpu-1";
  device.type = "cpu";
  device.name = "Some CPU \xc2\xae";
  device.threads = 2;
  device.instruction_set = "avx512";
  device.memory_bytes = int64_t{24} << 30;
  device.free_bytes = int64_t{20} << 30;
  device.context_bytes = 12345678;
  device.matmul_flops_per_second = 4.2e11;
  device.bf16_flops_per_second = 8.4e11;
  device.memory_bytes_per_second = 2.5e10;
  device.libraries = "oneDNN 2.6.3";
  device.price_per_hour = 0.1;
  const auto read = DeviceFromJson(Sent(DeviceToJson(device)));
  assert_ok(read);
  assert_true(*read == device);
  const Json whole = DeviceToJson(device);
  for (const auto& [key, value] : whole.items()) {
    Json object = whole;
    object.erase(key);
    assert_code(DeviceFromJson(object), ErrorCode::MALFORMED_FRAME);
  }
}

void data(void**) {
  assert_true(*DataFromJson(Sent(DataToJson(SomeData()))) == SomeData());
  assert_text(DataFormatName(DataFormat::kText), "text");
  assert_true(*ParseDataFormat("jsonl") == DataFormat::kJsonl);
  assert_code(ParseDataFormat("parquet"), ErrorCode::UNKNOWN_FORMAT);
  assert_text(ParseDataFormat("txt").status().message(), "unknown data format 'txt'; did you mean 'text'?");
  Json object = DataToJson(SomeData());
  for (const Json& patterns : {Json(), Json::array(), Json("x"), Json::array({1})}) {
    object["patterns"] = patterns;
    assert_code(DataFromJson(object), ErrorCode::MALFORMED_FRAME);
  }
  DataSpec lines = SomeData();
  lines.format = DataFormat::kJsonl;
  lines.text_field = "body";
  assert_true(*DataFromJson(Sent(DataToJson(lines))) == lines);
  assert_text(DataOptions(lines), "text_field=body");
}

void mixture(void**) {
  // One source without a weight is written as it always was.
  assert_true(MixtureToJson(SomeData()) == DataToJson(SomeData()));
  MixtureSpec mixture = SomeData();
  assert_true(*MixtureFromJson(Sent(MixtureToJson(mixture))) == mixture);
  mixture.parts.push_back({DataSpec{"b", {"/b"}, DataFormat::kLlmc}, {}});
  assert_true(*MixtureFromJson(Sent(MixtureToJson(mixture))) == mixture);
  assert_text(mixture.Name(), "lic, b");
  Json half = MixtureToJson(mixture);
  half["sources"][1]["weight"] = 0.5;
  assert_code(MixtureFromJson(half), ErrorCode::MALFORMED_FRAME);
  mixture.parts[0].weight = 0.7;
  mixture.parts[1].weight = 0.3;
  assert_true(*MixtureFromJson(Sent(MixtureToJson(mixture))) == mixture);
  for (const Json& weight : {Json(0), Json(-1.5), Json("1"), Json()}) {
    Json bad = MixtureToJson(mixture);
    bad["sources"][1]["weight"] = weight;
    assert_code(MixtureFromJson(bad), ErrorCode::MALFORMED_FRAME);
  }
  assert_code(MixtureFromJson({{"sources", Json::array()}}), ErrorCode::MALFORMED_FRAME);
  assert_code(MixtureFromJson(Json(3)), ErrorCode::MALFORMED_FRAME);
}

void format_of_a_name(void**) {
  assert_true(FormatOfName("/a/web-*.jsonl") == DataFormat::kJsonl);
  assert_true(FormatOfName("/a/fineweb_train_000001.bin") == DataFormat::kLlmc);
  assert_true(FormatOfName("/a/my_text_document.idx") == DataFormat::kMegatron);
  for (const char* name : {"/a/b.txt", "/a/b", "/a/b.json", "/a.bin/b", "/a/b.BIN"}) {
    assert_true(FormatOfName(name) == DataFormat::kText);
  }
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(train_tasks),
      cmocka_unit_test(train_tasks_lack_nothing_needed),
      cmocka_unit_test(other_tasks),
      cmocka_unit_test(metric_rows_keep_their_bits),
      cmocka_unit_test(budgets),
      cmocka_unit_test(devices),
      cmocka_unit_test(data),
      cmocka_unit_test(mixture),
      cmocka_unit_test(format_of_a_name),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
