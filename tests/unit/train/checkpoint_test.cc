// Checkpoints under failing I/O, power loss and damage: the newest complete one always loads, two are always
// kept, a damaged one is never used and never deleted.
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "tests/support/crash_io.h"
#include "tests/unit/train/checkpoint_history.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

using testing::CrashIo;
using testing::NoDevice;
using testing::ScriptedSession;
using testing::SmallState;

const std::string kDirectory = "/jobs/7/checkpoints";

class History : public testing::History {
 public:
  History(Io* io, bool with_snapshot) : testing::History(io, kDirectory, with_snapshot) {}
};

constexpr int64_t kEnd = 10;

int64_t CallsOfAWholeHistory(bool with_snapshot) {
  CrashIo io;
  History history(&io, with_snapshot);
  assert_ok(history.Attempt(kEnd));
  history.Check();
  assert_int_equal(history.durable().size(), kEnd / 2);
  // The newest two and the best.
  assert_true(
      (*io.List(kDirectory) == std::vector<std::string>{"step-00000002", "step-00000008", "step-00000010"}));
  return io.calls();
}

// The power goes before every single call; whatever of the unsynced was there, by several seeds.
void SurvivesPowerLossAtEveryCall(void**) {
  for (const bool with_snapshot : {false, true}) {
    const int64_t calls = CallsOfAWholeHistory(with_snapshot);
    for (int64_t number = 1; number <= calls; ++number) {
      for (uint64_t seed = 0; seed < 3; ++seed) {
        CrashIo io;
        History history(&io, with_snapshot);
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
}

// Every single call fails, once or from there on. A run survives a failed save; nothing is lost.
void SurvivesAFailureAtEveryCall(void**) {
  for (const bool with_snapshot : {false, true}) {
    const int64_t calls = CallsOfAWholeHistory(with_snapshot);
    for (const int error : {EIO, ENOSPC}) {
      for (const bool for_ever : {false, true}) {
        for (int64_t number = 1; number <= calls; ++number) {
          CrashIo io;
          History history(&io, with_snapshot);
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
}

// Several attempts, each ended by something random.
void SurvivesRandomHistories(void**) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    CrashIo io;
    History history(&io, seed % 2 == 0);
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

// One random damage to one random file of the checkpoint; `older` is one beside it.
void Damage(const fs::path& checkpoint, const fs::path& older, std::mt19937* random) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(checkpoint)) files.push_back(entry.path());
  std::ranges::sort(files);
  const size_t place = (*random)() % files.size();
  const fs::path& file = files[place];
  std::string content = Slurp(file);
  switch ((*random)() % 7) {
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
    case 4: {
      const fs::path& other = files[(place + 1) % files.size()];
      fs::rename(file, checkpoint / "swap");
      fs::rename(other, file);
      fs::rename(checkpoint / "swap", other);
      return;
    }
    case 5: {  // another step's file of the same name and size
      const char* names[] = {"model.safetensors", "optimizer-00001-of-00001.safetensors", "manifest.json"};
      const char* name = names[(*random)() % std::size(names)];
      fs::copy_file(older / name, checkpoint / name, fs::copy_options::overwrite_existing);
      return;
    }
    default:  // a block that was never written
      for (size_t i = content.size() / 2; i < std::min(content.size(), content.size() / 2 + 64); ++i) {
        content[i] = content[i] == '\0' ? '\1' : '\0';
      }
      break;
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

constexpr uint32_t kMutations = 1000;
constexpr uint32_t kMutationsGoneOnFrom = 40;

// Each damage is found before a tensor is used, and the checkpoint before is taken instead.
void FindsAllDamage(void**) {
  const testing::Scratch scratch;
  testing::History history(&PosixIo(), scratch / "c", true);
  assert_ok(history.Attempt(8));
  const fs::path newest = scratch / "c/step-00000008", kept = scratch / "kept";
  fs::copy(newest, kept);
  for (uint32_t seed = 0; seed < kMutations; ++seed) {
    std::mt19937 random(seed);
    Damage(newest, scratch / "c/step-00000006", &random);
    const std::string damaged = Tree(newest);
    const auto found = history.Newest();
    assert_ok(found);
    assert_true(found->has_value());
    assert_int_equal((*found)->manifest.step, 6);
    assert_true(Tree(newest) == damaged);
    fs::remove_all(newest);
    fs::copy(kept, newest);
  }
  assert_int_equal((*history.Newest())->manifest.step, 8);
}

// A run that goes on sets it aside with all its bytes when its name is needed.
void KeepsWhatIsDamaged(void**) {
  for (uint32_t seed = 0; seed < kMutationsGoneOnFrom; ++seed) {
    std::mt19937 random(seed);
    const testing::Scratch scratch;
    testing::History history(&PosixIo(), scratch / "c", seed % 2 == 0);
    assert_ok(history.Attempt(8));
    Damage(scratch / "c/step-00000008", scratch / "c/step-00000006", &random);
    const std::string damaged = Tree(scratch / "c/step-00000008");
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
  for (const bool with_snapshot : {false, true}) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity()}) {
      SmallState state;
      state.Set(3);
      state.weights()[20] = value;
      std::vector<std::byte> memory(with_snapshot ? SmallState::kBytes : 0);
      Checkpoints checkpoints(task, environment, "", {}, memory);
      format::Manifest manifest;
      manifest.step = 3;
      assert_true(checkpoints.Begin(manifest, state.View()));
      const auto end = checkpoints.AwaitEnd();
      assert_true(end.has_value());
      assert_code(end->status, ErrorCode::NON_FINITE);
      assert_non_null(strstr(end->status.message().c_str(), "after step 3 the weights of b"));
    }
  }
  assert_true(io.List(kDirectory)->empty());
}

// What nobody wants any more is stopped, and nothing of it stays.
void StopsWhenAbandoned(void**) {
  CrashIo io;
  assert_ok(io.MakeDirectories(kDirectory));
  NoDevice device;
  ScriptedSession session;
  TrainTask task;
  task.checkpoint_directory = kDirectory;
  const RunEnvironment environment{io, SystemClock(), device, session, "1"};
  SmallState state;
  Checkpoints checkpoints(task, environment, "", {}, {});
  format::Manifest manifest;
  manifest.step = 3;
  checkpoints.Begin(manifest, state.View());
  checkpoints.Abandon();
  const auto end = checkpoints.AwaitEnd();
  // It may have been done before.
  assert_true(end->status.ok() || end->status.code() == ErrorCode::INTERRUPTED);
  assert_int_equal(io.List(kDirectory)->size(), end->status.ok() ? 1 : 0);
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(SurvivesPowerLossAtEveryCall), cmocka_unit_test(SurvivesAFailureAtEveryCall),
      cmocka_unit_test(SurvivesRandomHistories),      cmocka_unit_test(FindsAllDamage),
      cmocka_unit_test(KeepsWhatIsDamaged),           cmocka_unit_test(NeverPublishesWhatIsNoNumber),
      cmocka_unit_test(StopsWhenAbandoned),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
