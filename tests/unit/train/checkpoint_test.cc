// Checkpoints under failing I/O, power loss and damage: the newest complete one always loads, two are always
// kept, a damaged one is never used and never deleted.
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "engine/base/publish.h"
#include "engine/format/manifest.h"
#include "engine/train/checkpoint.h"
#include "engine/train/checkpoint_store.h"
#include "engine/train/checkpoints.h"
#include "tests/support/crash_io.h"
#include "tests/unit/train/tiny_run.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

using testing::CrashIo;
using testing::ScriptedSession;

constexpr int64_t kElements = 24;
constexpr int64_t kKeep = 2;
const std::string kDirectory = "/jobs/7/checkpoints";

// Checkpoints need no device; this one must not be asked.
class NoDevice : public Device {
 public:
  const Capability& capability() const override { return capability_; }
  Result<std::unique_ptr<Arena>> AllocateArena(int64_t) override {
    return Status(ErrorCode::INTERNAL, "no device");
  }

 private:
  Capability capability_;
};

// A state whose every value says which step it is of.
class SmallState {
 public:
  SmallState() {
    spec_.hidden_size = 8;
    spec_.num_attention_heads = 1;
    parameters_ = {{"a", {2, 8}, 0, 16, -1, true, {}}, {"b", {8}, 16, 8, -1, true, {}}};
  }

  void Set(int64_t step) {
    for (int64_t i = 0; i < kElements; ++i) {
      const auto value = static_cast<float>(step * 100 + i);
      weights_[static_cast<size_t>(i)] = value;
      moment_1_[static_cast<size_t>(i)] = -value;
      moment_2_[static_cast<size_t>(i)] = value / 2;
    }
  }
  bool Is(int64_t step) const {
    SmallState other;
    other.Set(step);
    return weights_ == other.weights_ && moment_1_ == other.moment_1_ && moment_2_ == other.moment_2_;
  }
  ModelState View() { return {spec_, parameters_, weights_, moment_1_, moment_2_}; }
  std::vector<float>& weights() { return weights_; }

 private:
  ModelSpec spec_;
  std::vector<plan::Parameter> parameters_;
  std::vector<float> weights_ = std::vector<float>(kElements);
  std::vector<float> moment_1_ = std::vector<float>(kElements);
  std::vector<float> moment_2_ = std::vector<float>(kElements);
};

MetricRow Row(int64_t step) {
  MetricRow row;
  row.step = step;
  row.loss = 1.0 / static_cast<double>(step);
  return row;
}

// One attempt after another on one file system, as worker and daemon would do it.
class History {
 public:
  explicit History(Io* io, std::string directory = kDirectory) : io_(*io) {
    task_.job = 7;
    task_.training.keep_checkpoints = kKeep;
    task_.training.checkpoint_every_steps = 2;
    task_.checkpoint_directory = std::move(directory);
  }

  // From the newest usable checkpoint to step `end`, a checkpoint every other step. Stops at the first error
  // that a run would not survive, or once `steps` were done.
  Status Attempt(int64_t end) {
    ++task_.attempt;
    TRAIND_TRY(io_.MakeDirectories(task_.checkpoint_directory));
    TRAIND_TRY(RemoveTemporaries(io_, task_.checkpoint_directory));
    TRAIND_ASSIGN(const std::optional<FoundCheckpoint> found, Newest());
    format::Manifest manifest;
    if (found) {
      manifest = found->manifest;
      TRAIND_TRY(ReadCheckpointState(io_, found->path, manifest, state_.View(), [] {}));
      assert_true(state_.Is(manifest.step));
    }
    NoDevice device;
    ScriptedSession session;
    const RunEnvironment environment{io_, SystemClock(), device, session, std::to_string(task_.attempt)};
    Checkpoints checkpoints(task_, environment, found ? found->path : "", manifest);
    manifest.files.clear();
    manifest.optimizer.clear();
    while (manifest.step < end) {
      ++manifest.step;
      manifest.cursor.position = manifest.step;
      manifest.attempt = task_.attempt;
      state_.Set(manifest.step);
      checkpoints.Add(Row(manifest.step));
      if (!checkpoints.IsDue(manifest.step)) continue;
      const Result<bool> saved = checkpoints.Save(manifest, state_.View());
      if (!saved.ok()) ++failed_saves_;
      for (; told_ < session.checkpoints.size(); ++told_) durable_.insert(session.checkpoints[told_].step);
      checkpoints.Acknowledge(session.now.saved_step);
    }
    told_ = 0;
    return Ok();
  }

  Result<std::optional<FoundCheckpoint>> Newest() {
    TRAIND_ASSIGN(const auto checkpoints, format::ListCheckpoints(io_, task_.checkpoint_directory));
    if (checkpoints.empty()) return std::optional<FoundCheckpoint>();
    return FindUsableCheckpoint(io_, checkpoints.front().path);
  }

  // What must hold whenever the file system is readable.
  void Check() {
    const auto newest = Newest();
    assert_ok(newest);
    const int64_t told = durable_.empty() ? -1 : *durable_.rbegin();
    if (told >= 0) {
      assert_true(newest->has_value());
      assert_true((*newest)->manifest.step >= told);
    }
    const auto checkpoints = format::ListCheckpoints(io_, task_.checkpoint_directory);
    if (!checkpoints.ok()) {
      assert_true(durable_.empty());
      return;
    }
    int64_t complete = 0;
    for (const format::CheckpointDirectory& checkpoint : *checkpoints) {
      const auto manifest = format::ReadCheckpoint(io_, checkpoint.path);
      // Under its name it is whole, whatever happened.
      assert_ok(manifest);
      assert_ok(format::VerifyChecksums(io_, checkpoint.path, *manifest));
      SmallState loaded;
      assert_ok(ReadCheckpointState(io_, checkpoint.path, *manifest, loaded.View(), [] {}));
      assert_true(loaded.Is(checkpoint.step));
      const auto rows = ReadCheckpointMetrics(io_, checkpoint.path);
      assert_ok(rows);
      assert_true(rows->back().step == checkpoint.step);
      ++complete;
    }
    assert_true(complete >= std::min<int64_t>(kKeep, std::ssize(durable_)));
  }

  int64_t failed_saves() const { return failed_saves_; }
  const std::set<int64_t>& durable() const { return durable_; }

 private:
  Io& io_;
  TrainTask task_;
  SmallState state_;
  std::set<int64_t> durable_;  // that the daemon was told of
  size_t told_ = 0;
  int64_t failed_saves_ = 0;
};

constexpr int64_t kEnd = 10;

int64_t CallsOfAWholeHistory() {
  CrashIo io;
  History history(&io);
  assert_ok(history.Attempt(kEnd));
  history.Check();
  assert_int_equal(history.durable().size(), kEnd / 2);
  return io.calls();
}

// The power goes before every single call; whatever of the unsynced was there, by several seeds.
void SurvivesPowerLossAtEveryCall(void**) {
  const int64_t calls = CallsOfAWholeHistory();
  for (int64_t number = 1; number <= calls; ++number) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      CrashIo io;
      History history(&io);
      io.LosePowerAt(number);
      static_cast<void>(history.Attempt(kEnd));
      io.Restart(seed);
      history.Check();
      assert_ok(history.Attempt(kEnd));
      history.Check();
      assert_int_equal((*history.Newest())->manifest.step, kEnd);
    }
  }
}

// Every single call fails, once or from there on. A run survives a failed save; nothing is lost.
void SurvivesAFailureAtEveryCall(void**) {
  const int64_t calls = CallsOfAWholeHistory();
  for (const int error : {EIO, ENOSPC}) {
    for (const bool for_ever : {false, true}) {
      for (int64_t number = 1; number <= calls; ++number) {
        CrashIo io;
        History history(&io);
        io.FailAt(number, error, for_ever);
        static_cast<void>(history.Attempt(kEnd));
        io.FailAt(0, 0);
        history.Check();
        assert_ok(history.Attempt(kEnd + 4));
        history.Check();
        assert_int_equal((*history.Newest())->manifest.step, kEnd + 4);
      }
    }
  }
}

// Several attempts, each ended by something random.
void SurvivesRandomHistories(void**) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    CrashIo io;
    History history(&io);
    for (int attempt = 0; attempt < 5; ++attempt) {
      const int64_t at = io.calls() + 1 + static_cast<int64_t>(random() % 150);
      const uint32_t what = random() % 4;
      if (what == 0) io.FailAt(at, random() % 2 ? EIO : ENOSPC, random() % 2);
      if (what >= 2) io.LosePowerAt(at);
      static_cast<void>(history.Attempt(static_cast<int64_t>(random() % 20)));
      if (what >= 2 || random() % 2) io.Restart(random());
      io.FailAt(0, 0);
      history.Check();
    }
    assert_ok(history.Attempt(30));
    history.Check();
    assert_int_equal((*history.Newest())->manifest.step, 30);
  }
}

// ---- damage, on a real file system ------------------------------------------------------------------------

namespace fs = std::filesystem;

std::string Slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One random damage to one random file of the checkpoint.
void Damage(const fs::path& checkpoint, std::mt19937* random) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(checkpoint)) files.push_back(entry.path());
  std::ranges::sort(files);
  const fs::path& file = files[(*random)() % files.size()];
  std::string content = Slurp(file);
  switch ((*random)() % 5) {
    case 0:
      content[(*random)() % content.size()] ^= static_cast<char>(1 << (*random)() % 8);
      break;
    case 1:
      content.resize((*random)() % content.size());
      break;
    case 2:
      content += static_cast<char>((*random)());
      break;
    case 3:
      fs::remove(file);
      return;
    default: {
      const fs::path& other =
          files[(files.size() + static_cast<size_t>(&file - files.data()) + 1) % files.size()];
      fs::rename(file, checkpoint / "swap");
      fs::rename(other, file);
      fs::rename(checkpoint / "swap", other);
      return;
    }
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

std::string Tree(const fs::path& directory) {
  std::string text;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    text += fs::relative(path, directory).string() + "\n";
    if (fs::is_regular_file(path)) text += Slurp(path);
  }
  return text;
}

void FindsAllDamageAndKeepsIt(void**) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const testing::Scratch scratch;
    History history(&PosixIo(), scratch / "c");
    assert_ok(history.Attempt(8));
    const fs::path newest = scratch / "c/step-00000008";
    Damage(newest, &random);
    const std::string damaged = Tree(newest);
    const auto found = history.Newest();
    assert_ok(found);
    assert_true(found->has_value());
    assert_int_equal((*found)->manifest.step, 6);
    assert_true(Tree(newest) == damaged);
    // Going on, it is set aside with all its bytes when its name is needed.
    assert_ok(history.Attempt(12));
    int kept = 0;
    for (const auto& entry : fs::directory_iterator(scratch / "c")) {
      if (!entry.path().filename().string().starts_with("damaged-step-00000008")) continue;
      ++kept;
      assert_true(Tree(entry.path()) == damaged);
    }
    assert_int_equal(kept, 1);
  }
}

void NeverPublishesWhatIsNoNumber(void**) {
  CrashIo io;
  assert_ok(io.MakeDirectories(kDirectory));
  NoDevice device;
  ScriptedSession session;
  TrainTask task;
  task.checkpoint_directory = kDirectory;
  const RunEnvironment environment{io, SystemClock(), device, session, "1"};
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    SmallState state;
    state.Set(3);
    state.weights()[20] = value;
    Checkpoints checkpoints(task, environment, "", {});
    format::Manifest manifest;
    manifest.step = 3;
    const Status status = checkpoints.Save(manifest, state.View()).status();
    assert_code(status, ErrorCode::NON_FINITE);
    assert_non_null(strstr(status.message().c_str(), "after step 3 the weights of b"));
  }
  assert_true(io.List(kDirectory)->empty());
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(SurvivesPowerLossAtEveryCall), cmocka_unit_test(SurvivesAFailureAtEveryCall),
      cmocka_unit_test(SurvivesRandomHistories),      cmocka_unit_test(FindsAllDamageAndKeepsIt),
      cmocka_unit_test(NeverPublishesWhatIsNoNumber),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
