// The worker process, with the test as its daemon: messages and their order, requests, ends.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/plan/planner.h"
#include "tests/unit/train/tiny_run.h"
#include "tests/unit/worker/worker_process.h"

#include "tests/support/test.h"

namespace traind {
namespace {

using testing::Attempt;
using testing::Follow;
using testing::TaskMessage;
using testing::TinyRun;
using testing::WorkerProcess;

Attempt RunTask(TinyRun* run,
                const std::function<void(WorkerProcess*, const Json&, const Attempt&)>& watch = {}) {
  const auto plan = run->MakePlan();
  assert_ok(plan);
  run->task.plan = plan::PlanToJson(*plan);
  WorkerProcess worker;
  worker.Send(TaskMessage(run->task));
  return Follow(&worker, [&](const Json& message, const Attempt& attempt) {
    if (watch) watch(&worker, message, attempt);
  });
}

bool Left(const Attempt& attempt, int code) {
  return WIFEXITED(attempt.status) && WEXITSTATUS(attempt.status) == code;
}

void SaysWhatTheContractSays(void**) {
  TinyRun run;
  run.task.validation = DataSpec{"v", {testing::kOtherText}, DataFormat::kText};
  run.task.training.checkpoint_every_steps = 8;
  Json hello, prepared, running;
  const Attempt attempt = RunTask(&run, [&](WorkerProcess*, const Json& message, const Attempt&) {
    if (message["type"] == "hello") hello = message;
    if (message["type"] == "prepared") prepared = message;
    if (message["type"] == "running") running = message;
  });
  assert_true(Left(attempt, 0));
  // Where a checkpoint's message stands among the rows depends on how long it was written in the background.
  const std::vector<std::string> begin = {"hello", "preparing", "prepared", "running", "metrics"};
  assert_true(attempt.order.size() >= begin.size() + 2);
  assert_true(std::equal(begin.begin(), begin.end(), attempt.order.begin()));
  assert_text(attempt.order[attempt.order.size() - 2], "checkpoint");
  assert_text(attempt.order.back(), "finished");
  assert_int_equal(attempt.checkpoints.size(), 3);
  assert_true(hello["pid"].is_number_integer() && hello["version"].is_string());
  assert_true(prepared["data"][0]["bytes"] == std::filesystem::file_size(testing::kText));
  assert_int_equal(prepared["data"][0]["documents"].get<int64_t>(), 1);
  assert_int_equal(prepared["total_steps"].get<int64_t>(), 20);
  assert_true(prepared["validation"][0]["tokens"] == std::filesystem::file_size(testing::kOtherText));
  assert_true(running["plan_hash"] == run.task.plan["hash"]);
  assert_int_equal(running["start_step"].get<int64_t>(), 0);
  assert_int_equal(attempt.rows.size(), 20);
  for (size_t i = 0; i < 20; ++i) assert_int_equal(attempt.rows[i].step, static_cast<int64_t>(i + 1));
  assert_true(attempt.rows.back().val_loss.has_value());
  assert_true(attempt.checkpoints.back()["val_loss"] == *attempt.rows.back().val_loss);
  assert_true(attempt.checkpoints.back()["bytes"].get<int64_t>() > 0);
  assert_true(attempt.end["outcome"] == "target");
  assert_int_equal(attempt.end["step"].get<int64_t>(), 20);
  assert_true(attempt.end["checkpoint"] == run.scratch / "checkpoints/step-00000020");
  assert_true(attempt.end["peak_bytes"].get<int64_t>() > run.task.plan["arena_bytes"].get<int64_t>());
}

void HeartbeatsShowProgress(void**) {
  TinyRun run;
  run.task.training.target.steps = 1000000;
  std::vector<int64_t> progress;
  const Attempt attempt = RunTask(&run, [&](WorkerProcess* worker, const Json& message, const Attempt&) {
    if (message["type"] != "heartbeat") return;
    assert_true(message["deadline_s"].get<double>() >= 30);
    assert_true(message["rss_bytes"].get<int64_t>() > 1000000);
    assert_true(message["instruction"].is_string() && message["step"].is_number_integer());
    progress.push_back(message["progress"].get<int64_t>());
    if (progress.size() == 4) worker->Send({{"type", "stop"}, {"reason", "cancel"}});
  });
  assert_true(attempt.end["outcome"] == "cancel");
  assert_true(progress[1] < progress[2] && progress[2] < progress[3]);
}

void EachReasonEndsItsWay(void**) {
  for (const std::string reason : {"pause", "budget", "shutdown", "cancel"}) {
    TinyRun run;
    run.task.training.target.steps = 1000000;
    bool sent = false;
    const Attempt attempt = RunTask(&run, [&](WorkerProcess* worker, const Json&, const Attempt& so_far) {
      if (so_far.rows.size() < 3 || std::exchange(sent, true)) return;
      worker->Send({{"type", "stop"}, {"reason", reason}});
    });
    assert_true(Left(attempt, 0));
    assert_true(attempt.end["outcome"] == reason);
    assert_int_equal(attempt.checkpoints.size(), reason == "cancel" ? 0 : 1);
    assert_true(attempt.rows.back().step == attempt.end["step"]);
  }
}

void SigtermIsAShutdown(void**) {
  TinyRun run;
  run.task.training.target.steps = 1000000;
  bool sent = false;
  const Attempt attempt = RunTask(&run, [&](WorkerProcess* worker, const Json&, const Attempt& so_far) {
    if (so_far.rows.size() >= 3 && !std::exchange(sent, true)) kill(worker->pid(), SIGTERM);
  });
  assert_true(attempt.end["outcome"] == "shutdown");
  assert_int_equal(attempt.checkpoints.size(), 1);
}

void CheckpointOnRequest(void**) {
  TinyRun run;
  run.task.training.target.steps = 1000000;
  bool asked = false;
  const Attempt attempt =
      RunTask(&run, [&](WorkerProcess* worker, const Json& message, const Attempt& so_far) {
        if (so_far.rows.size() >= 3 && !std::exchange(asked, true)) worker->Send({{"type", "checkpoint"}});
        if (message["type"] == "checkpoint") worker->Send({{"type", "stop"}, {"reason", "cancel"}});
      });
  assert_int_equal(attempt.checkpoints.size(), 1);
  assert_true(attempt.end["step"] >= attempt.checkpoints[0]["step"]);
}

void DaemonGoneEndsTheWorker(void**) {
  TinyRun run;
  run.task.training.target.steps = 1000000;
  run.task.plan = plan::PlanToJson(*run.MakePlan());
  WorkerProcess worker;
  worker.Send(TaskMessage(run.task));
  for (;;) {
    const auto message = worker.Next();
    assert_true(message.has_value());
    if ((*message)["type"] == "metrics") break;
  }
  worker.CloseSocket();
  assert_int_equal(worker.WaitForExit(5), 0);
  assert_true(std::filesystem::is_empty(run.scratch / "checkpoints"));
}

void DaemonGoneBeforeATask(void**) {
  WorkerProcess worker;
  assert_true((*worker.Next())["type"] == "hello");
  worker.CloseSocket();
  assert_int_equal(worker.WaitForExit(5), 0);
}

// The daemon tells its workers from other processes by this name.
void IsNamedAsItsProgram(void**) {
  WorkerProcess worker;
  assert_true((*worker.Next())["type"] == "hello");
  std::ifstream file("/proc/" + std::to_string(worker.pid()) + "/comm");
  std::string name;
  std::getline(file, name);
  assert_text(name, "traind-worker");
}

// A daemon that does not read for a while holds nothing up, and gets every row in the end.
void NeverWaitsForTheDaemon(void**) {
  TinyRun run;
  run.task.training.target.steps = 3000;
  run.task.training.checkpoint_every_steps = 1000;
  run.task.plan = plan::PlanToJson(*run.MakePlan());
  WorkerProcess worker;
  worker.Send(TaskMessage(run.task));
  const std::string last = run.scratch / "checkpoints/step-00003000";
  for (int i = 0; i < 3000 && !std::filesystem::exists(last); ++i) usleep(10000);
  assert_true(std::filesystem::exists(last));
  const Attempt attempt = Follow(&worker);
  assert_int_equal(attempt.rows.size(), 3000);
  assert_true(attempt.end["outcome"] == "target");
}

void FailuresAreSaid(void**) {
  TinyRun run;
  run.task.data.parts[0].data.patterns = {run.scratch.Write("bad.txt", "abc\xff")};
  const Attempt attempt = RunTask(&run);
  assert_true(Left(attempt, 1));
  assert_true(attempt.end["type"] == "failed");
  assert_true(attempt.end["error"]["name"] == "INVALID_ENCODING");
  assert_non_null(strstr(attempt.end["error"]["message"].get<std::string>().c_str(), "bad.txt"));
}

void NonsenseIsRefused(void**) {
  for (const Json& task : {Json{{"type", "train"}}, Json{{"type", "generate"}, {"prompt", 5}},
                           Json{{"type", "evaluate"}, {"plan", "x"}}}) {
    WorkerProcess worker;
    worker.Send(task);
    const Attempt attempt = Follow(&worker);
    assert_true(attempt.end["type"] == "failed");
    assert_true(Left(attempt, 1));
  }
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff", 4), std::string("\x04\0\0\0nope", 8)}) {
    WorkerProcess worker;
    worker.SendBytes(bytes);
    const Attempt attempt = Follow(&worker);
    assert_true(attempt.end.is_null());
    assert_true(Left(attempt, 0));
  }
  TinyRun run;
  run.task.plan = plan::PlanToJson(*run.MakePlan());
  WorkerProcess worker;
  worker.Send({{"type", "unheard of"}});
  worker.Send({{"nothing", 1}});
  worker.Send(TaskMessage(run.task));
  assert_true(Follow(&worker).end["outcome"] == "target");
}

// ---- inference -------------------------------------------------------------------------------------------

std::string Train(TinyRun* run) {
  run->task.training.target.steps = 60;
  return RunTask(run).end["checkpoint"];
}

Json InferencePlan(const TinyRun& run, int64_t sequences) {
  const auto plan =
      plan::PlanInference(run.task.model, TinyRun::Spec(), run.task.model.max_position_embeddings, sequences);
  assert_ok(plan);
  return plan::PlanToJson(*plan);
}

Json GenerationPlan(const TinyRun& run) {
  const auto plan =
      plan::PlanGeneration(run.task.model, TinyRun::Spec(), run.task.model.max_position_embeddings);
  assert_ok(plan);
  return plan::PlanToJson(*plan);
}

Json Ask(Json message, const char* type) {
  message["type"] = type;
  WorkerProcess worker;
  worker.Send(message);
  return Follow(&worker).end;
}

void Evaluates(void**) {
  TinyRun run;
  const std::string weights = Train(&run);
  EvaluateTask task;
  task.model = run.task.model;
  task.weights = weights;
  task.plan = InferencePlan(run, 4);
  task.data = run.task.data.parts[0].data;
  task.cache_directory = run.task.cache_directory;
  task.sequence_length = 32;
  task.batch_sequences = 4;
  const Json all = Ask(EvaluateTaskToJson(task), "evaluate");
  assert_true(all["columns"][0]["name"] == "loss" && all["columns"][3]["name"] == "tokens");
  const double loss = all["rows"][0][0];
  assert_true(loss > 2 && loss < 4.5);
  assert_true(std::fabs(all["rows"][0][1].get<double>() - std::exp(loss)) < 1e-9);
  // One document: a byte a token.
  assert_true(std::fabs(all["rows"][0][2].get<double>() - loss / std::log(2.0)) < 1e-9);
  const int64_t bytes = static_cast<int64_t>(std::filesystem::file_size(testing::kText));
  assert_true(all["rows"][0][3] == (bytes - 1) / 32 * 32);
  task.batches = 3;
  const Json some = Ask(EvaluateTaskToJson(task), "evaluate");
  assert_true(some["rows"][0][3] == 3 * 4 * 32 && some["rows"][0][4] == 3 * 4);
  assert_true(some["columns"][4]["name"] == "sequences");
}

void Generates(void**) {
  TinyRun run;
  GenerateTask task;
  task.model = run.task.model;
  task.weights = Train(&run);
  task.plan = GenerationPlan(run);
  task.context = run.task.model.max_position_embeddings;
  task.prompt = "This License";
  task.max_tokens = 100;  // beyond the model's 32 positions: the window slides
  task.seed = 1;
  const Json first = Ask(GenerateTaskToJson(task), "generate");
  assert_true(first["columns"][0]["name"] == "prompt" && first["columns"][1]["name"] == "text");
  assert_true(first["rows"][0][0] == "This License");
  const std::string text = first["rows"][0][1];
  assert_true(text.size() >= 100);
  assert_int_equal(first["notices"].size(), 1);
  assert_true(Ask(GenerateTaskToJson(task), "generate") == first);
  task.stop = text.substr(20, 2);
  const std::string stopped = Ask(GenerateTaskToJson(task), "generate")["rows"][0][1];
  assert_text(stopped, text.substr(0, text.find(task.stop)));
  task.stop = "";
  task.seed = 2;
  assert_true(Ask(GenerateTaskToJson(task), "generate") != first);
  task.temperature = 0;
  const Json greedy = Ask(GenerateTaskToJson(task), "generate");
  task.seed = 3;
  assert_true(Ask(GenerateTaskToJson(task), "generate") == greedy);
  task.temperature = 2;
  task.top_k = 1;
  assert_true(Ask(GenerateTaskToJson(task), "generate") == greedy);
  task.top_k = 0;
  task.top_p = 0;
  assert_true(Ask(GenerateTaskToJson(task), "generate") == greedy);
  // Only the end of a prompt that is too long counts, and that is said.
  task.top_p = 1;
  task.temperature = 0;
  task.max_tokens = 10;
  task.prompt = std::string(1000, 'x') + "his License is th";
  const Json cut = Ask(GenerateTaskToJson(task), "generate");
  assert_int_equal(cut["notices"].size(), 1);
  task.prompt = task.prompt.substr(task.prompt.size() - 22);
  const Json end = Ask(GenerateTaskToJson(task), "generate");
  assert_true(end["notices"].empty() && end["rows"][0][1] == cut["rows"][0][1]);
  task.prompt = "";
  task.max_tokens = 5;
  assert_true(Ask(GenerateTaskToJson(task), "generate")["rows"][0][1].get<std::string>().size() >= 5);
  task.weights = run.scratch / "missing";
  assert_true(Ask(GenerateTaskToJson(task), "generate")["error"]["name"] == "FILE_NOT_FOUND");
}

// A model that has learned nothing draws bytes of all kinds: what is no UTF-8 is replaced, not an error.
void GeneratesReplacesInvalidUtf8(void**) {
  TinyRun run;
  run.task.training.target.steps = 1;
  GenerateTask task;
  task.model = run.task.model;
  task.weights = RunTask(&run).end["checkpoint"];
  task.plan = GenerationPlan(run);
  task.context = run.task.model.max_position_embeddings;
  task.prompt = "x";
  task.max_tokens = 200;
  task.temperature = 5;
  const Json reply = Ask(GenerateTaskToJson(task), "generate");
  assert_true(reply["type"] == "result");
  assert_non_null(strstr(reply["rows"][0][1].get<std::string>().c_str(), "\xef\xbf\xbd"));
}

void ProbePrintsADevice(void**) {
  const std::string command = std::string(std::getenv("TRAIND_BIN")) + "/traind-worker --probe";
  FILE* pipe = popen(command.c_str(), "r");
  assert_non_null(pipe);
  std::string text(4096, '\0');
  text.resize(fread(text.data(), 1, text.size(), pipe));
  assert_int_equal(pclose(pipe), 0);
  const auto spec = DeviceFromJson(*ParseJson(text));
  assert_ok(spec);
  assert_true(spec->threads >= 1 && spec->context_bytes > 1 << 20 && spec->context_bytes < 1 << 30);
  assert_true(spec->matmul_flops_per_second > 1e8 && spec->memory_bytes_per_second > 1e8);
  assert_true(spec->free_bytes > 0 && spec->free_bytes <= spec->memory_bytes);
  assert_non_null(strstr(spec->libraries.c_str(), "oneDNN"));
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(SaysWhatTheContractSays),
      cmocka_unit_test(HeartbeatsShowProgress),
      cmocka_unit_test(EachReasonEndsItsWay),
      cmocka_unit_test(SigtermIsAShutdown),
      cmocka_unit_test(CheckpointOnRequest),
      cmocka_unit_test(DaemonGoneEndsTheWorker),
      cmocka_unit_test(DaemonGoneBeforeATask),
      cmocka_unit_test(IsNamedAsItsProgram),
      cmocka_unit_test(NeverWaitsForTheDaemon),
      cmocka_unit_test(FailuresAreSaid),
      cmocka_unit_test(NonsenseIsRefused),
      cmocka_unit_test(Evaluates),
      cmocka_unit_test(Generates),
      cmocka_unit_test(GeneratesReplacesInvalidUtf8),
      cmocka_unit_test(ProbePrintsADevice),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
