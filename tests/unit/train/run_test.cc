// Whole runs in this process: learning, resuming with the same bits, stopping anywhere.
#include "engine/train/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "engine/format/manifest.h"
#include "tests/support/full_disk.h"
#include "tests/unit/train/tiny_run.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

using testing::ByStep;
using testing::SameBits;
using testing::ScriptedSession;
using testing::TinyRun;

void AssertSameRows(const std::map<int64_t, MetricRow>& a, const std::map<int64_t, MetricRow>& b) {
  assert_int_equal(a.size(), b.size());
  for (const auto& [step, row] : a) {
    assert_true(b.contains(step));
    assert_true(SameBits(row, b.at(step)));
  }
}

void Learns(void**) {
  TinyRun run;
  run.task.training.target.steps = 60;
  ScriptedSession session;
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  assert_text(outcome->name, "target");
  assert_int_equal(outcome->step, 60);
  assert_text(outcome->checkpoint, run.scratch / "checkpoints/step-00000060");
  assert_int_equal(session.rows.size(), 60);
  assert_true(session.rows.front().loss > 5 && session.rows.front().loss < 6);
  assert_true(session.rows.back().loss < session.rows.front().loss - 1.5);
  assert_int_equal(session.rows.back().tokens, 60 * 256);
  assert_true(session.rows.back().tokens_per_second > 0 && session.rows.back().mfu > 0);
  assert_true((session.order ==
               std::vector<std::string>{"preparing", "prepared", "running", "metrics", "checkpoint"}));
}

// Every run of this length, stopped anywhere for any reason, has these rows.
std::map<int64_t, MetricRow> Golden(TinyRun& run) {
  ScriptedSession session;
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  return ByStep({session.rows});
}

void Prepare(TinyRun* run) {
  run->task.validation = DataSpec{"v", {testing::kOtherText}, DataFormat::kText};
  run->task.training.validate_every_steps = 4;
  run->task.training.checkpoint_every_steps = 3;
}

void SameBitsTwice(void**) {
  TinyRun first, second;
  AssertSameRows(Golden(first), Golden(second));
}

// Stops at random polls (any instruction's border, inside validations too), again and again, until the end.
void ResumesWithTheSameBits(void**) {
  TinyRun undisturbed;
  Prepare(&undisturbed);
  const auto golden = Golden(undisturbed);
  std::mt19937 random(1);
  for (const StopReason reason : {StopReason::kPause, StopReason::kShutdown, StopReason::kBudget}) {
    for (int trial = 0; trial < 4; ++trial) {
      TinyRun run;
      Prepare(&run);
      std::vector<std::vector<MetricRow>> attempts;
      for (;;) {
        ScriptedSession session;
        const int64_t stop_at = 20 + static_cast<int64_t>(random() % 150);
        session.script = [&](int64_t poll, Requests* requests) {
          if (poll >= stop_at) requests->stop = reason;
        };
        const auto outcome = run.Run(&session);
        assert_ok(outcome);
        attempts.push_back(session.rows);
        if (outcome->name == "target") break;
        assert_text(outcome->name, StopReasonName(reason));
        if (!outcome->checkpoint.empty()) run.ResumeFrom(outcome->checkpoint);
      }
      AssertSameRows(golden, ByStep(attempts));
    }
  }
}

void Mix(TinyRun* run, std::optional<double> first, std::optional<double> second) {
  run->scratch.Write("lines.jsonl", [] {
    std::string lines;
    for (int i = 0; i < 300; ++i) lines += "{\"text\":\"line " + std::to_string(i * i) + " of some\"}\n";
    return lines;
  }());
  run->task.data = {};
  run->task.data.parts.push_back({DataSpec{"t", {testing::kText}, DataFormat::kText}, first});
  run->task.data.parts.push_back({DataSpec{"l", {run->scratch / "lines.jsonl"}, DataFormat::kJsonl}, second});
  run->task.validation = run->task.data;
  run->task.training.validate_every_steps = 7;
}

// The order of a mixture is the same however often it is left and taken up again.
void MixturesResumeWithTheSameBits(void**) {
  std::mt19937 random(2);
  for (const bool weighted : {false, true}) {
    const auto mix = [&](TinyRun* run) { weighted ? Mix(run, 0.3, 0.7) : Mix(run, {}, {}); };
    TinyRun undisturbed;
    mix(&undisturbed);
    const auto golden = Golden(undisturbed);
    for (int trial = 0; trial < 3; ++trial) {
      TinyRun run;
      mix(&run);
      std::vector<std::vector<MetricRow>> attempts;
      for (;;) {
        ScriptedSession session;
        const int64_t stop_at = 20 + static_cast<int64_t>(random() % 150);
        session.script = [&](int64_t poll, Requests* requests) {
          if (poll >= stop_at) requests->stop = StopReason::kPause;
        };
        const auto outcome = run.Run(&session);
        assert_ok(outcome);
        attempts.push_back(session.rows);
        if (outcome->name == "target") break;
        if (!outcome->checkpoint.empty()) run.ResumeFrom(outcome->checkpoint);
      }
      AssertSameRows(golden, ByStep(attempts));
    }
  }
}

// Other weights are another order: the data is what it was, but its cursor means nothing.
void WeightsArePartOfTheCursor(void**) {
  TinyRun run;
  Mix(&run, 0.3, 0.7);
  run.task.training.target.steps = 4;
  ScriptedSession session;
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  const auto manifest = format::ReadCheckpoint(PosixIo(), outcome->checkpoint);
  assert_ok(manifest);
  assert_int_equal(manifest->cursor.position, 4 * 8);
  const std::string& key = manifest->cursor.key;
  assert_true(key.ends_with(":0.7") && key.find(":0.3,") == 32);
}

void CancelWritesNothing(void**) {
  TinyRun run;
  ScriptedSession session;
  session.script = [&](int64_t, Requests* requests) {
    if (session.rows.size() == 5) requests->stop = StopReason::kCancel;
  };
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  assert_text(outcome->name, "cancel");
  assert_int_equal(outcome->step, 5);
  assert_text(outcome->checkpoint, "");
  assert_true(session.checkpoints.empty());
}

void StopsWhilePreparing(void**) {
  TinyRun run;
  ScriptedSession session;
  session.script = [](int64_t, Requests* requests) { requests->stop = StopReason::kPause; };
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  assert_text(outcome->name, StopReasonName(StopReason::kPause));
  assert_int_equal(outcome->step, 0);
  assert_text(outcome->checkpoint, "");
}

// In bf16 too: the checkpoint has the master weights, what is computed with follows from them.
void ResumesWithTheSameBitsInBf16(void**) {
  TinyRun undisturbed;
  undisturbed.task.training.precision = Precision::kBf16;
  const auto golden = Golden(undisturbed);
  for (const int64_t stop_at : {25, 50, 75}) {
    TinyRun run;
    run.task.training.precision = Precision::kBf16;
    ScriptedSession first, second;
    first.script = [&](int64_t poll, Requests* requests) {
      if (poll >= stop_at) requests->stop = StopReason::kPause;
    };
    const auto outcome = run.Run(&first);
    assert_ok(outcome);
    assert_text(outcome->name, "pause");
    run.ResumeFrom(outcome->checkpoint);
    assert_ok(run.Run(&second));
    AssertSameRows(golden, ByStep({first.rows, second.rows}));
  }
}

void PauseAtStepZeroIsResumable(void**) {
  TinyRun run;
  ScriptedSession session;
  session.script = [&](int64_t, Requests* requests) {
    if (!session.order.empty() && session.order.back() == "running") requests->stop = StopReason::kPause;
  };
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  assert_text(outcome->checkpoint, run.scratch / "checkpoints/step-00000000");
  TinyRun undisturbed;
  run.ResumeFrom(outcome->checkpoint);
  AssertSameRows(Golden(undisturbed), Golden(run));
}

// The daemon died: little would be lost, so nothing is written.
void DaemonGoneLeavesAtOnce(void**) {
  TinyRun run;
  ScriptedSession session;
  session.script = [&](int64_t, Requests* requests) {
    if (session.rows.size() == 3) requests->stop = StopReason::kDaemonGone;
  };
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  assert_text(outcome->name, "shutdown");
  assert_true(session.checkpoints.empty());
}

void CheckpointOnRequest(void**) {
  TinyRun run;
  ScriptedSession session;
  bool again = false;
  session.script = [&](int64_t poll, Requests* requests) {
    if (poll == 30) requests->checkpoint = true;
    // Asked again as soon as it is answered.
    if (session.answered == 1 && !std::exchange(again, true)) requests->checkpoint = true;
  };
  assert_ok(run.Run(&session));
  // The second comes too late where the first was answered at the run's very end. If it is of the same step
  // still, it finds the first's checkpoint and is told of it again.
  assert_true(session.answered == 1 || session.answered == 2);
  assert_int_equal(session.checkpoints.size(), session.answered + 1);
  assert_true(session.checkpoints[0].step <= session.checkpoints[1].step);
  assert_int_equal(session.checkpoints.back().step, 20);
  TinyRun undisturbed;
  AssertSameRows(Golden(undisturbed), ByStep({session.rows}));
  run.ResumeFrom(session.checkpoints[0].path);
  ScriptedSession resumed;
  assert_ok(run.Run(&resumed));
  AssertSameRows(Golden(undisturbed), ByStep({session.rows, resumed.rows}));
}

std::vector<std::string> Directories(const TinyRun& run) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(run.scratch / "checkpoints")) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

void KeepsTheNewest(void**) {
  TinyRun run;
  run.task.training.checkpoint_every_steps = 2;
  run.task.training.keep_checkpoints = 3;
  ScriptedSession session;
  assert_ok(run.Run(&session));
  assert_true(
      (Directories(run) == std::vector<std::string>{"step-00000016", "step-00000018", "step-00000020"}));
}

// What the daemon has not acknowledged stays, and its rows go with every checkpoint.
void UnacknowledgedStays(void**) {
  TinyRun run;
  run.task.training.checkpoint_every_steps = 5;
  run.task.training.keep_checkpoints = 2;
  run.task.deadline_scale = 0.02;
  ScriptedSession session;
  session.acknowledge = false;
  assert_ok(run.Run(&session));
  assert_int_equal(Directories(run).size(), 4);
  std::ifstream metrics(run.scratch / "checkpoints/step-00000020/metrics.jsonl");
  assert_int_equal(std::count(std::istreambuf_iterator<char>(metrics), {}, '\n'), 20);
}

void FallsBackFromADamagedCheckpoint(void**) {
  TinyRun undisturbed;
  const auto golden = Golden(undisturbed);
  TinyRun run;
  run.task.training.checkpoint_every_steps = 4;
  ScriptedSession first;
  first.script = [&](int64_t, Requests* requests) {
    if (first.rows.size() == 13) requests->stop = StopReason::kPause;
  };
  const auto outcome = run.Run(&first);
  assert_ok(outcome);
  std::filesystem::resize_file(outcome->checkpoint + "/model.safetensors", 1000);
  std::fstream(run.scratch / "checkpoints/step-00000012/config.json", std::ios::in | std::ios::out) << "X";
  run.ResumeFrom(outcome->checkpoint);
  ScriptedSession second;
  assert_ok(run.Run(&second));
  assert_int_equal(second.messages.size(), 1);
  assert_int_equal(second.rows.front().step, 9);
  AssertSameRows(golden, ByStep({first.rows, second.rows}));
  // Never deleted: the name that was needed again was freed, the other one still stands.
  int damaged = 0;
  for (const std::string& name : Directories(run)) damaged += name.starts_with("damaged-step-00000012");
  assert_int_equal(damaged, 1);
  assert_true(std::filesystem::exists(run.scratch / "checkpoints/step-00000013"));
}

void BeginsAgainWithoutAnyCheckpoint(void**) {
  TinyRun run;
  run.task.training.checkpoint_every_steps = 4;
  const auto golden = Golden(run);
  for (const std::string& name : Directories(run)) {
    std::filesystem::remove(run.scratch / ("checkpoints/" + name + "/manifest.json"));
  }
  run.ResumeFrom(run.scratch / "checkpoints/step-00000020");
  ScriptedSession session;
  assert_ok(run.Run(&session));
  AssertSameRows(golden, ByStep({session.rows}));
  TinyRun other;
  other.task.resume_checkpoint = run.scratch / "gone/step-00000004";
  ScriptedSession refused;
  assert_code(other.Run(&refused), ErrorCode::DAMAGED_CHECKPOINT);
}

void UntilEndsEarly(void**) {
  TinyRun run;
  Prepare(&run);
  run.task.training.target.steps = 500;
  run.task.training.until = StopCondition{"val_loss", 4.5};
  ScriptedSession session;
  const auto outcome = run.Run(&session);
  assert_ok(outcome);
  assert_text(outcome->name, "until");
  assert_true(outcome->step < 500 && outcome->step % 4 == 0);
  assert_true(*session.rows.back().val_loss < 4.5);
  // It has been met: going on from there ends at once.
  run.ResumeFrom(outcome->checkpoint);
  ScriptedSession again;
  const auto resumed = run.Run(&again);
  assert_ok(resumed);
  assert_text(resumed->name, "until");
  assert_true(again.rows.empty());
}

void UntilLossValidatesAtItsEnd(void**) {
  TinyRun run;
  run.task.validation = DataSpec{"v", {testing::kOtherText}, DataFormat::kText};
  run.task.training.target.steps = 500;
  run.task.training.until = StopCondition{"loss", 4.0};
  ScriptedSession session;
  assert_ok(run.Run(&session));
  assert_true(session.rows.back().loss < 4.0 && session.rows.back().val_loss.has_value());
  for (size_t i = 0; i + 1 < session.rows.size(); ++i) assert_false(session.rows[i].val_loss.has_value());
}

void TargetsBecomeSteps(void**) {
  TinyRun tokens;
  tokens.task.training.target = {{}, 1000, {}};
  assert_int_equal(Golden(tokens).size(), 4);
  TinyRun epochs;
  epochs.scratch.Write("data.txt", std::string(32 * 20 + 1, 'x'));
  epochs.task.data.parts[0].data.patterns = {epochs.scratch / "data.txt"};
  epochs.task.training.target = {{}, {}, 1.5};
  assert_int_equal(Golden(epochs).size(), 4);  // 20 sequences, 8 in a batch: 30 / 8
}

void StopsAtNotANumber(void**) {
  TinyRun run;
  run.task.training.learning_rate = 1000;
  run.task.training.warmup_steps = 0;
  run.task.training.max_grad_norm = 0;
  run.task.training.checkpoint_every_steps = 1;
  ScriptedSession session;
  const Status status = run.Run(&session).status();
  assert_code(status, ErrorCode::NON_FINITE);
  assert_non_null(strstr(status.message().c_str(), "step"));
  for (const auto& written : session.checkpoints) {
    std::ifstream file(written.path + "/model.safetensors", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (size_t i = bytes.size() % 4; i + 4 <= bytes.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i, 4);
      if (i > 4096) assert_true(std::isfinite(value));
    }
  }
}

void WeightsOfAVersionAreTaken(void**) {
  TinyRun first;
  ScriptedSession session;
  const auto outcome = first.Run(&session);
  assert_ok(outcome);
  TinyRun second;
  second.task.initial_weights = outcome->checkpoint;
  ScriptedSession next;
  assert_ok(second.Run(&next));
  assert_true(next.rows.front().loss < session.rows[3].loss);
  second.task.model.hidden_size = 64;
  assert_code(second.Run(&next), ErrorCode::DAMAGED_FILE);
}

void AnotherJobsCheckpointGoesOn(void**) {
  TinyRun first;
  const auto golden = Golden(first);
  TinyRun half;
  half.task.training.target.steps = 10;
  half.task.training.scheduler = Scheduler::kConstant;
  TinyRun whole;
  whole.task.training.scheduler = Scheduler::kConstant;
  const auto expected = Golden(whole);
  ScriptedSession session;
  const auto outcome = half.Run(&session);
  assert_ok(outcome);
  TinyRun rest;
  rest.task.job = 8;
  rest.task.training.scheduler = Scheduler::kConstant;
  rest.task.resume_checkpoint = outcome->checkpoint;
  ScriptedSession resumed;
  assert_ok(rest.Run(&resumed));
  AssertSameRows(expected, ByStep({session.rows, resumed.rows}));
  assert_text(Directories(rest).back(), "step-00000020");
}

// Full from the first checkpoint's publication until that of step 12 has failed, or to the end.
void SurvivesAFullDisk(void**) {
  TinyRun undisturbed;
  const auto golden = Golden(undisturbed);
  for (const bool to_the_end : {false, true}) {
    TinyRun run;
    testing::FullDisk disk;
    run.io = &disk;
    run.task.training.checkpoint_every_steps = 4;
    ScriptedSession session;
    const auto failed = [&](int64_t step) {
      return std::ranges::count(session.failures, step, [](const auto& failure) { return failure.first; }) >
             0;
    };
    session.written = [&](const CheckpointReport&) { disk.is_full = session.checkpoints.size() == 1; };
    session.script = [&](int64_t, Requests* requests) {
      if (!to_the_end && failed(12)) disk.is_full = false;
      // Asked for while it is full: answered, with an error, and not tried for ever.
      if (session.rows.size() == 9 && session.answered == 0) requests->checkpoint = true;
    };
    const auto outcome = run.Run(&session);
    AssertSameRows(golden, ByStep({session.rows}));
    assert_int_equal(session.answered, 1);
    assert_true(failed(8) && failed(12) && failed(16) == to_the_end);
    for (const auto& [step, status] : session.failures) assert_code(status, ErrorCode::DISK_FULL);
    assert_int_equal(session.checkpoints.front().step, 4);
    if (to_the_end) {
      assert_code(outcome, ErrorCode::DISK_FULL);
      assert_true((Directories(run) == std::vector<std::string>{"step-00000004"}));
    } else {
      assert_ok(outcome);
      assert_int_equal(session.checkpoints.back().step, 20);
    }
  }
}

// In the background or without room for a snapshot: the same bits in rows, weights and moments.
void SnapshotsChangeNoBit(void**) {
  std::vector<std::string> states;
  std::vector<std::map<int64_t, MetricRow>> rows;
  for (const bool snapshot : {false, true}) {
    TinyRun run;
    run.snapshot = snapshot;
    run.task.training.checkpoint_every_steps = 1;
    run.task.training.keep_checkpoints = 100;
    ScriptedSession session;
    assert_ok(run.Run(&session));
    rows.push_back(ByStep({session.rows}));
    std::string state;
    for (const std::string& name : Directories(run)) {
      for (const char* file : {"model.safetensors", "optimizer-00001-of-00001.safetensors"}) {
        state += testing::ReadFile(run.scratch / ("checkpoints/" + name + "/" + file));
      }
    }
    assert_int_equal(Directories(run).size(), 20);
    states.push_back(std::move(state));
  }
  AssertSameRows(rows[0], rows[1]);
  assert_true(states[0] == states[1]);
  TinyRun without;
  AssertSameRows(rows[0], Golden(without));
}

void KeepsTheBest(void**) {
  TinyRun run;
  Prepare(&run);
  run.task.training.validate_every_steps = 2;
  run.task.training.checkpoint_every_steps = 2;
  run.task.training.keep_checkpoints = 2;
  run.task.training.learning_rate = 0.3;
  run.task.training.max_grad_norm = 0;
  ScriptedSession session;
  assert_ok(run.Run(&session));
  const auto best = std::ranges::min_element(session.checkpoints, {},
                                             [](const CheckpointReport& report) { return *report.val_loss; });
  std::set<std::string> kept = {"step-00000018", "step-00000020", format::CheckpointName(best->step)};
  assert_true((Directories(run) == std::vector<std::string>(kept.begin(), kept.end())));
}

void ErrorsOfDataComeThrough(void**) {
  TinyRun run;
  run.task.data.parts[0].data.patterns = {run.scratch.Write("short.txt", "too short")};
  ScriptedSession session;
  assert_code(run.Run(&session), ErrorCode::DATA_TOO_SHORT);
  run.task.data.parts[0].data.patterns = {run.scratch / "missing.txt"};
  assert_code(run.Run(&session), ErrorCode::FILE_NOT_FOUND);
  run.task.data.parts[0].data.patterns = {testing::kText};
  run.task.validation = DataSpec{"v", {run.scratch / "short.txt"}, DataFormat::kText};
  const Status status = run.Run(&session).status();
  assert_code(status, ErrorCode::DATA_TOO_SHORT);
  assert_non_null(strstr(status.message().c_str(), "'v'"));
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(Learns),
      cmocka_unit_test(SameBitsTwice),
      cmocka_unit_test(ResumesWithTheSameBits),
      cmocka_unit_test(MixturesResumeWithTheSameBits),
      cmocka_unit_test(WeightsArePartOfTheCursor),
      cmocka_unit_test(CancelWritesNothing),
      cmocka_unit_test(StopsWhilePreparing),
      cmocka_unit_test(ResumesWithTheSameBitsInBf16),
      cmocka_unit_test(PauseAtStepZeroIsResumable),
      cmocka_unit_test(DaemonGoneLeavesAtOnce),
      cmocka_unit_test(CheckpointOnRequest),
      cmocka_unit_test(KeepsTheNewest),
      cmocka_unit_test(UnacknowledgedStays),
      cmocka_unit_test(FallsBackFromADamagedCheckpoint),
      cmocka_unit_test(BeginsAgainWithoutAnyCheckpoint),
      cmocka_unit_test(UntilEndsEarly),
      cmocka_unit_test(UntilLossValidatesAtItsEnd),
      cmocka_unit_test(TargetsBecomeSteps),
      cmocka_unit_test(StopsAtNotANumber),
      cmocka_unit_test(WeightsOfAVersionAreTaken),
      cmocka_unit_test(AnotherJobsCheckpointGoesOn),
      cmocka_unit_test(SurvivesAFullDisk),
      cmocka_unit_test(SnapshotsChangeNoBit),
      cmocka_unit_test(KeepsTheBest),
      cmocka_unit_test(ErrorsOfDataComeThrough),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
