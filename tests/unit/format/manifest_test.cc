// Checkpoint directories: their names, their manifest, and every way in which they can be damaged.
#include "engine/format/manifest.h"

#include <filesystem>
#include <random>
#include <string>

#include "engine/base/checksum.h"
#include "tests/support/scratch.h"

#include "tests/support/test.h"

namespace traind::format {
namespace {

namespace fs = std::filesystem;

Manifest Example() {
  Manifest manifest;
  manifest.job = 7;
  manifest.attempt = 2;
  manifest.step = 1000;
  manifest.tokens = 1024000;
  manifest.total_steps = 2000;
  manifest.seed = -5;
  manifest.cursor = {"0123", "", 16000};
  manifest.plan_hash = "abc";
  manifest.loss = 2.5000000000000004;
  manifest.statement = "TRAIN MODEL m FROM 'ä\"\n'";
  manifest.optimizer = {{"optimizer.safetensors", 0, 10}};
  for (const std::string name :
       {"model.safetensors", "config.json", "optimizer.safetensors", "metrics.jsonl"}) {
    manifest.files.push_back({name, std::ssize(name), Checksum(name)});
  }
  return manifest;
}

// A checkpoint whose files hold their own names.
std::string Fill(const testing::Scratch& scratch, const Manifest& manifest) {
  const std::string name = CheckpointName(manifest.step);
  fs::create_directory(scratch / name);
  for (const ManifestFile& file : manifest.files) scratch.Write(name + "/" + file.name, file.name);
  scratch.Write(name + "/manifest.json", ManifestToText(manifest));
  return scratch / name;
}

Status Verify(const std::string& path) {
  TRAIND_ASSIGN(const Manifest manifest, ReadCheckpoint(PosixIo(), path));
  return VerifyChecksums(PosixIo(), path, manifest);
}

void TextComesBack(void**) {
  Manifest manifest = Example();
  const auto read = ManifestFromText(ManifestToText(manifest), "/m");
  assert_ok(read);
  assert_true(*read == manifest);
  manifest.val_loss = 3.25;
  manifest.loss.reset();
  assert_true(*ManifestFromText(ManifestToText(manifest), "/m") == manifest);
}

void EveryFlippedBitAndCutIsFound(void**) {
  const std::string text = ManifestToText(Example());
  for (size_t i = 0; i < text.size(); ++i) {
    assert_code(ManifestFromText(text.substr(0, i), "/m"), ErrorCode::DAMAGED_CHECKPOINT);
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      assert_code(ManifestFromText(damaged, "/m"), ErrorCode::DAMAGED_CHECKPOINT);
    }
  }
  assert_code(ManifestFromText(text + " ", "/m"), ErrorCode::DAMAGED_CHECKPOINT);
}

// Well summed, but nothing that an honest writer makes.
void RefusesNonsense(void**) {
  const auto refuse = [](const char* what, auto change) {
    Manifest manifest = Example();
    change(manifest);
    const Status status = ManifestFromText(ManifestToText(manifest), "/m").status();
    if (status.code() == ErrorCode::DAMAGED_CHECKPOINT) return;
    print_error("%s: %s\n", what, status.ToString().c_str());
    fail();
  };
  refuse("a negative step", [](Manifest& m) { m.step = -1; });
  refuse("a negative position", [](Manifest& m) { m.cursor.position = -1; });
  refuse("no ranks", [](Manifest& m) { m.ranks = 0; });
  refuse("a name that leaves", [](Manifest& m) { m.files[0].name = "../x"; });
  refuse("an absolute name", [](Manifest& m) { m.files[0].name = "/etc/passwd"; });
  refuse("a name with NUL", [](Manifest& m) { m.files[0].name = std::string("a\0b", 3); });
  refuse("an empty name", [](Manifest& m) { m.files[0].name = ""; });
  refuse("itself", [](Manifest& m) { m.files.push_back({"manifest.json", 1, ""}); });
  refuse("a name twice", [](Manifest& m) { m.files.push_back(m.files[0]); });
  refuse("a negative size", [](Manifest& m) { m.files[0].bytes = -1; });
  refuse("no weights", [](Manifest& m) { m.files.erase(m.files.begin()); });
  refuse("no metrics", [](Manifest& m) { m.files.pop_back(); });
  refuse("a gap in the optimizer", [](Manifest& m) { m.optimizer[0].begin = 1; });
  refuse("an empty range", [](Manifest& m) { m.optimizer[0].end = 0; });
  refuse("an unlisted range", [](Manifest& m) { m.optimizer[0].file = "other"; });
}

void NamesAreExact(void**) {
  assert_text(CheckpointName(1000), "step-00001000");
  assert_text(CheckpointName(123456789012), "step-123456789012");
  assert_true(CheckpointStep("step-00001000") == 1000);
  assert_true(CheckpointStep("step-123456789012") == 123456789012);
  for (const char* name :
       {"step-1000", "step-000001000", "step-", "step-0000100x", "step-+0001000", "step--0001000",
        "Step-00001000", ".tmp-step-00001000-1", "step-00001000 ", "step-99999999999999999999"}) {
    assert_false(CheckpointStep(name).has_value());
  }
}

void ListsNewestFirst(void**) {
  const testing::Scratch scratch;
  assert_true(ListCheckpoints(PosixIo(), scratch / "missing")->empty());
  for (const char* name :
       {"step-00000002", "step-00000010", "step-100000000", ".tmp-step-00000011-5", "other"}) {
    fs::create_directory(scratch / name);
  }
  const auto found = ListCheckpoints(PosixIo(), scratch.path());
  assert_ok(found);
  assert_int_equal(found->size(), 3);
  assert_int_equal((*found)[0].step, 100000000);
  assert_text((*found)[2].path, scratch / "step-00000002");
}

void NamesTheDamagedFile(void**) {
  const auto damaged = [](std::string_view file, auto damage) {
    const testing::Scratch scratch;
    const std::string path = Fill(scratch, Example());
    assert_ok(Verify(path));
    damage(path);
    const Status status = Verify(path);
    assert_code(status, ErrorCode::DAMAGED_CHECKPOINT);
    assert_true(status.message().find(file) != std::string::npos);
  };
  for (const char* name :
       {"model.safetensors", "config.json", "optimizer.safetensors", "metrics.jsonl", "manifest.json"}) {
    const std::string file = std::string("/") + name;
    damaged(file, [&](const std::string& path) { fs::remove(path + file); });
    damaged(file, [&](const std::string& path) { fs::resize_file(path + file, 5); });
    damaged(file, [&](const std::string& path) { std::ofstream(path + file, std::ios::app) << "x"; });
    damaged(file,
            [&](const std::string& path) { std::fstream(path + file, std::ios::in | std::ios::out) << "X"; });
    damaged(file, [&](const std::string& path) {
      fs::remove(path + file);
      fs::create_directory(path + file);
    });
  }
  damaged("/", [](const std::string& path) {
    fs::rename(path + "/model.safetensors", path + "/x");
    fs::rename(path + "/config.json", path + "/model.safetensors");
    fs::rename(path + "/x", path + "/config.json");
  });
}

void NameMustBeTheManifestsStep(void**) {
  const testing::Scratch scratch;
  const std::string path = Fill(scratch, Example());
  fs::rename(path, scratch / "step-00002000");
  assert_code(Verify(scratch / "step-00002000"), ErrorCode::DAMAGED_CHECKPOINT);
}

}  // namespace
}  // namespace traind::format

int main() {
  using namespace traind::format;
  const CMUnitTest tests[] = {
      cmocka_unit_test(TextComesBack),
      cmocka_unit_test(EveryFlippedBitAndCutIsFound),
      cmocka_unit_test(RefusesNonsense),
      cmocka_unit_test(NamesAreExact),
      cmocka_unit_test(ListsNewestFirst),
      cmocka_unit_test(NamesTheDamagedFile),
      cmocka_unit_test(NameMustBeTheManifestsStep),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
