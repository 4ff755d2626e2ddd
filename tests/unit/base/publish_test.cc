// publish(): under the final name there is nothing, the old or the new, whole, whatever fails and whenever
// the power goes; and what was answered OK is there.
#include "engine/base/publish.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <random>

#include "engine/base/fault.h"
#include "tests/support/crash_io.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind {
namespace {

using testing::CrashIo;

const std::string kOld(500, 'o');
const std::string kNew(700, 'n');
constexpr char kMissing[] = "(missing)";

std::string Content(const CrashIo& io, const std::string& path) {
  return io.Peek(path).value_or(kMissing);
}

// Writes `content` synced under `path`, as whoever fills a directory does.
Status WriteSynced(Io& io, const std::string& path, std::string_view content) {
  TRAIND_ASSIGN(const auto file, io.Create(path));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(content))));
  TRAIND_TRY(file->Sync());
  return file->Close();
}

// A change to be tried: what holds before it, and how to do it.
struct Change {
  std::function<void(CrashIo&)> prepare;
  std::function<Status(CrashIo&)> apply;
  // What of it is seen: `before`, or `after`; anything else is damage.
  std::function<std::string(const CrashIo&)> look;
  std::string before;
  std::string after;
};

Change FileChange(bool replaces) {
  return {[replaces](CrashIo& io) {
            assert_ok(io.MakeDirectories("/d"));
            if (replaces) assert_ok(PublishFile(io, "/d/f", kOld));
          },
          [](CrashIo& io) { return PublishFile(io, "/d/f", kNew); },
          [](const CrashIo& io) { return Content(io, "/d/f"); }, replaces ? kOld : kMissing, kNew};
}

Change DirectoryChange() {
  return {[](CrashIo& io) { assert_ok(io.MakeDirectories("/d")); },
          [](CrashIo& io) -> Status {
            const std::string temporary = TemporaryName("/d/step-1", "1");
            TRAIND_TRY(io.MakeDirectories(temporary));
            for (const char* name : {"a", "b", "manifest"}) {
              TRAIND_TRY(WriteSynced(io, temporary + "/" + name, kNew));
            }
            return PublishDirectory(io, temporary, "/d/step-1");
          },
          [](const CrashIo& io) {
            std::string seen;
            for (const char* name : {"a", "b", "manifest"})
              seen += Content(io, std::string("/d/step-1/") + name);
            return seen;
          },
          std::string(kMissing) + kMissing + kMissing, kNew + kNew + kNew};
}

int64_t CountCalls(const Change& change) {
  CrashIo io;
  change.prepare(io);
  const int64_t before = io.calls();
  assert_ok(change.apply(io));
  assert_text(change.look(io), change.after);
  return io.calls() - before;
}

// The power goes before each call in turn, and after the last; each with many fates of what was unsynced.
void CutEverywhere(const Change& change, uint64_t seeds) {
  const int64_t calls = CountCalls(change);
  for (int64_t cut = 1; cut <= calls + 1; ++cut) {
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      CrashIo io;
      change.prepare(io);
      io.LosePowerAt(io.calls() + cut);
      const bool acknowledged = change.apply(io).ok();
      assert_true(acknowledged == (cut > calls));
      io.Restart(seed);
      const std::string seen = change.look(io);
      assert_true(seen == change.after || (seen == change.before && !acknowledged));
      assert_ok(RemoveTemporaries(io, "/d"));
      assert_true(io.List("/d")->size() <= 1);
      assert_text(change.look(io), seen);
    }
  }
}

void power_loss_while_a_file_is_published(void**) {
  CutEverywhere(FileChange(false), 200);
  CutEverywhere(FileChange(true), 200);
}

void power_loss_while_a_directory_is_published(void**) {
  CutEverywhere(DirectoryChange(), 200);
}

// Each call fails in turn, once or from then on, with each reason; then the power goes.
void FailEverywhere(const Change& change) {
  const int64_t calls = CountCalls(change);
  for (const int reason : {EIO, ENOSPC, EDQUOT}) {
    for (const bool for_ever : {false, true}) {
      for (int64_t call = 1; call <= calls; ++call) {
        CrashIo io;
        change.prepare(io);
        io.FailAt(io.calls() + call, reason, for_ever);
        const Status status = change.apply(io);
        assert_false(status.ok());
        assert_int_equal(status.code(), reason == EIO ? ErrorCode::IO : ErrorCode::DISK_FULL);
        const std::string seen = change.look(io);
        assert_true(seen == change.before || seen == change.after);
        io.Restart(static_cast<uint64_t>(call));
        const std::string later = change.look(io);
        assert_true(later == change.before || later == change.after);
      }
    }
  }
}

void each_call_fails(void**) {
  FailEverywhere(FileChange(false));
  FailEverywhere(FileChange(true));
  FailEverywhere(DirectoryChange());
}

void a_failure_leaves_no_temporary(void**) {
  const int64_t calls = CountCalls(FileChange(true));
  for (int64_t call = 1; call <= calls; ++call) {
    CrashIo io;
    FileChange(true).prepare(io);
    io.FailAt(io.calls() + call, ENOSPC);
    assert_false(PublishFile(io, "/d/f", kNew).ok());
    assert_true(*io.List("/d") == std::vector<std::string>{"f"});
    assert_ok(PublishFile(io, "/d/f", kNew));  // and the next one is well
    io.Restart(7);
    assert_text(Content(io, "/d/f"), kNew);
  }
}

// Ways in which others do it, each of which these tests must catch.
Status PublishWithoutSync(Io& io) {
  TRAIND_ASSIGN(const auto file, io.Create("/d/.tmp-f"));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(kNew))));
  TRAIND_TRY(file->Close());
  TRAIND_TRY(io.Rename("/d/.tmp-f", "/d/f"));
  return io.SyncDirectory("/d");
}
Status PublishWithoutDirectorySync(Io& io) {
  TRAIND_TRY(WriteSynced(io, "/d/.tmp-f", kNew));
  return io.Rename("/d/.tmp-f", "/d/f");
}
Status PublishInPlace(Io& io) {
  TRAIND_TRY(WriteSynced(io, "/d/f", kNew));
  return io.SyncDirectory("/d");
}

void careless_ways_are_caught(void**) {
  for (const auto& careless : {PublishWithoutSync, PublishWithoutDirectorySync, PublishInPlace}) {
    const Change good = FileChange(true);
    int damaged = 0;
    for (int64_t cut = 1; cut <= 8; ++cut) {
      for (uint64_t seed = 0; seed < 50; ++seed) {
        CrashIo io;
        good.prepare(io);
        io.LosePowerAt(io.calls() + cut);
        const bool acknowledged = careless(io).ok();
        io.Restart(seed);
        const std::string seen = good.look(io);
        if (seen != kNew && (seen != kOld || acknowledged)) ++damaged;
      }
    }
    assert_true(damaged > 0);
  }
}

// A long life: publishes, failures, power losses and removals at random; what was acknowledged last, or what
// was being written when it went wrong, is what is there.
void LiveThrough(uint64_t seed) {
  std::mt19937_64 random(seed);
  CrashIo io;
  assert_ok(io.MakeDirectories("/d"));
  std::map<std::string, std::vector<std::string>> possible;  // by name; what may be there
  for (const char* name : {"a", "b", "c"}) possible[name] = {kMissing};
  for (int step = 0; step < 40; ++step) {
    const std::string name(1, static_cast<char>('a' + random() % 3));
    const std::string content(random() % 300, static_cast<char>('A' + random() % 26));
    const uint64_t trouble = random() % 4;
    const int64_t call = io.calls() + 1 + static_cast<int64_t>(random() % 8);
    if (trouble == 1) io.LosePowerAt(call);
    if (trouble == 2) io.FailAt(call, random() % 2 == 0 ? EIO : ENOSPC, random() % 2 == 0);
    if (PublishFile(io, "/d/" + name, content).ok()) {
      possible[name] = {content};
    } else {
      possible[name].push_back(content);
    }
    if (trouble != 0) {
      io.Restart(random());
      assert_ok(RemoveTemporaries(io, "/d"));
      for (auto& [file, contents] : possible) {
        const std::string seen = Content(io, "/d/" + file);
        assert_true(std::ranges::find(contents, seen) != contents.end());
        contents = {seen};
      }
    }
  }
}

void hundreds_of_histories(void**) {
  for (uint64_t seed = 0; seed < 400; ++seed) LiveThrough(seed);
}

void power_loss_while_temporaries_are_removed(void**) {
  for (int64_t cut = 1; cut <= 12; ++cut) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      CrashIo io;
      assert_ok(io.MakeDirectories("/d/.tmp-step-1-9"));
      assert_ok(io.MakeDirectories("/d/step-2"));
      for (const char* path :
           {"/d/.tmp-step-1-9/a", "/d/.tmp-step-1-9/b", "/d/.tmp-f-3", "/d/tmp", "/d/step-2/a"}) {
        assert_ok(WriteSynced(io, path, kOld));
      }
      for (const char* path : {"/d/.tmp-step-1-9", "/d/step-2", "/d"}) assert_ok(io.SyncDirectory(path));
      io.LosePowerAt(io.calls() + cut);
      static_cast<void>(RemoveTemporaries(io, "/d"));
      io.Restart(seed);
      assert_ok(RemoveTemporaries(io, "/d"));
      assert_true(*io.List("/d") == (std::vector<std::string>{"step-2", "tmp"}));
      assert_text(Content(io, "/d/tmp"), kOld);
      assert_text(Content(io, "/d/step-2/a"), kOld);
    }
  }
}

void a_dead_owners_temporaries_alone_are_removed(void**) {
  CrashIo io;
  assert_ok(io.MakeDirectories("/d"));
  const std::vector<std::string> others = {".tmp-a.tokens-1123-1700000000", ".tmp-a.tokens-123-17-4x",
                                           ".tmp-a.tokens-1230-1700000000", "a-123-4.tokens"};
  for (const std::string& name : others) assert_ok(io.Create("/d/" + name));
  for (const char* name : {"/d/.tmp-a.tokens-123-1700000000", "/d/.tmp-b-123-9.tokens-123-5"}) {
    assert_ok(io.Create(name));
  }
  assert_ok(RemoveTemporariesOf(io, "/d", 123));
  const auto left = io.List("/d");
  assert_ok(left);
  assert_int_equal(left->size(), others.size());
  for (const std::string& name : others) assert_true(std::ranges::count(*left, name) == 1);
}

void an_existing_directory_is_not_replaced(void**) {
  CrashIo io;
  assert_ok(DirectoryChange().apply(io));
  assert_ok(io.MakeDirectories("/d/.tmp-x"));
  const Status status = PublishDirectory(io, "/d/.tmp-x", "/d/step-1");
  assert_int_equal(status.code(), ErrorCode::IO);
  assert_text(status.message(), "cannot publish /d/step-1: it exists already");
  assert_text(Content(io, "/d/step-1/a"), kNew);
}

void temporary_names_stand_beside(void**) {
  assert_text(TemporaryName("/d/step-1", "7"), "/d/.tmp-step-1-7");
  assert_text(TemporaryName("/f", "x"), "/.tmp-f-x");
}

void fault_points_are_passed(void**) {
  for (const char* fault : {"publish_before_rename=error", "publish_after_rename=error"}) {
    CrashIo io;
    FileChange(true).prepare(io);
    assert_ok(ArmFaultPoint(fault));
    assert_code(PublishFile(io, "/d/f", kNew), ErrorCode::IO);
    assert_text(Content(io, "/d/f"), std::string(fault).find("before") != std::string::npos ? kOld : kNew);
    assert_true(*io.List("/d") == std::vector<std::string>{"f"});
    assert_ok(ArmFaultPoint(""));
  }
}

void it_works_on_the_machine(void**) {
  const testing::Scratch scratch;
  Io& io = PosixIo();
  assert_ok(PublishFile(io, scratch / "f", kOld));
  assert_ok(PublishFile(io, scratch / "f", kNew));
  assert_text(*ReadWholeFile(io, scratch / "f", 1000), kNew);
  const std::string temporary = TemporaryName(scratch / "step", "1");
  assert_ok(io.MakeDirectories(temporary));
  assert_ok(WriteSynced(io, temporary + "/a", kNew));
  assert_ok(PublishDirectory(io, temporary, scratch / "step"));
  assert_text(*ReadWholeFile(io, scratch / "step/a", 1000), kNew);
  assert_ok(io.MakeDirectories(scratch / ".tmp-left-1/deep"));
  assert_ok(RemoveTemporaries(io, scratch.path()));
  assert_true(*io.List(scratch.path()) == (std::vector<std::string>{"f", "step"}));
  assert_code(PublishFile(io, scratch / "none/f", kNew), ErrorCode::FILE_NOT_FOUND);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(power_loss_while_a_file_is_published),
      cmocka_unit_test(power_loss_while_a_directory_is_published),
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(a_failure_leaves_no_temporary),
      cmocka_unit_test(careless_ways_are_caught),
      cmocka_unit_test(hundreds_of_histories),
      cmocka_unit_test(power_loss_while_temporaries_are_removed),
      cmocka_unit_test(a_dead_owners_temporaries_alone_are_removed),
      cmocka_unit_test(an_existing_directory_is_not_replaced),
      cmocka_unit_test(temporary_names_stand_beside),
      cmocka_unit_test(fault_points_are_passed),
      cmocka_unit_test(it_works_on_the_machine),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
