// The crash Io itself: it keeps what was synced, and loses, tears and reorders the rest; else the tests that
// stand on it would prove nothing.
#include "tests/support/crash_io.h"

#include <cerrno>
#include <set>

#include "tests/support/test.h"

namespace traind {
namespace {

using testing::CrashIo;

constexpr uint64_t kSeeds = 300;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

void Put(CrashIo& io, const std::string& path, std::string_view content, bool synced) {
  auto file = io.Create(path);
  assert_ok(file);
  assert_ok((*file)->Append(Bytes(content)));
  if (synced) assert_ok((*file)->Sync());
  assert_ok((*file)->Close());
}

void it_is_a_file_system(void**) {
  CrashIo io;
  assert_ok(io.MakeDirectories("/a/b"));
  Put(io, "/a/b/f", "content", false);
  assert_text(*ReadWholeFile(io, "/a/b/f", 100), "content");
  assert_int_equal((*io.Map("/a/b/f"))->bytes().size(), 7);
  assert_ok(io.HardLink("/a/b/f", "/a/g"));
  assert_int_equal(io.Stat("/a/g")->inode, io.Stat("/a/b/f")->inode);
  assert_ok(io.Rename("/a/g", "/a/b/h"));
  assert_true(*io.List("/a/b") == (std::vector<std::string>{"f", "h"}));
  assert_true(io.Stat("/a/g")->kind == FileKind::kMissing);
  assert_code(io.Remove("/a"), ErrorCode::IO);
  assert_code(io.Rename("/none", "/x"), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.HardLink("/a/b/f", "/a/b/h"), ErrorCode::IO);
  assert_code(io.Create("/a"), ErrorCode::NOT_A_REGULAR_FILE);
  assert_code(io.Create("/none/f"), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.OpenRead("/none"), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.List("/none"), ErrorCode::FILE_NOT_FOUND);
  assert_ok(io.RemoveTree("/a"));
  assert_true(io.List("/")->empty());
}

void what_is_synced_stays(void**) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CrashIo io;
    assert_ok(io.MakeDirectories("/d"));
    Put(io, "/d/f", "durable", true);
    assert_ok(io.SyncDirectory("/d"));
    io.Restart(seed);
    assert_text(*io.Peek("/d/f"), "durable");
  }
}

// Every state that `change` can leave behind in /d/f, "-" for a missing file.
template <typename Change>
std::set<std::string> Outcomes(Change change) {
  std::set<std::string> outcomes;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CrashIo io;
    assert_ok(io.MakeDirectories("/d"));
    Put(io, "/d/f", "old", true);
    assert_ok(io.SyncDirectory("/d"));
    change(io);
    io.Restart(seed);
    outcomes.insert(io.Peek("/d/f").value_or("-"));
  }
  return outcomes;
}

void unsynced_writes_are_lost_torn_or_reordered(void**) {
  const auto outcomes = Outcomes([](CrashIo& io) {
    auto file = io.Create("/d/f");
    assert_ok((*file)->Append(Bytes("one")));
    assert_ok((*file)->Append(Bytes("two")));
  });
  for (const char* expected : {"old", "", "one", "onetwo", "onet", "on"})
    assert_true(outcomes.contains(expected));
  assert_true(outcomes.contains(std::string("\0\0\0two", 6)));  // the later one alone
  assert_true(outcomes.contains("oldtwo"));                     // the truncation lost as well
}

void unsynced_names_are_lost(void**) {
  const auto renamed = Outcomes([](CrashIo& io) {
    Put(io, "/d/t", "new", true);
    assert_ok(io.Rename("/d/t", "/d/f"));
  });
  assert_true(renamed == (std::set<std::string>{"old", "new"}));
  const auto removed = Outcomes([](CrashIo& io) { assert_ok(io.Remove("/d/f")); });
  assert_true(removed == (std::set<std::string>{"old", "-"}));
}

void a_rename_is_one_change(void**) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    CrashIo io;
    assert_ok(io.MakeDirectories("/d"));
    assert_ok(io.MakeDirectories("/e"));
    Put(io, "/d/f", "x", true);
    Put(io, "/d/g", "y", true);
    assert_ok(io.SyncDirectory("/d"));
    assert_ok(io.Rename("/d/f", "/d/h"));
    assert_ok(io.Rename("/d/g", "/e/g"));
    io.Restart(seed);
    assert_true(io.Peek("/d/f").has_value() != io.Peek("/d/h").has_value());
    assert_true(io.Peek("/d/g").has_value() != io.Peek("/e/g").has_value());
  }
}

void a_failed_sync_stays_unsure(void**) {
  const auto outcomes = Outcomes([](CrashIo& io) {
    auto file = io.Create("/d/f");
    assert_ok((*file)->Append(Bytes("new")));
    io.FailAt(io.calls() + 1, EIO);
    assert_code((*file)->Sync(), ErrorCode::IO);
    assert_code((*file)->Sync(), ErrorCode::IO);
  });
  assert_true(outcomes.contains("old") && outcomes.contains("new"));
}

void calls_fail_once_or_for_ever(void**) {
  CrashIo io;
  io.FailAt(2, ENOSPC);
  assert_ok(io.MakeDirectories("/"));
  auto file = io.Create("/f");
  assert_ok(file);
  assert_code((*file)->Append(Bytes("1234")), ErrorCode::DISK_FULL);
  assert_text(*io.Peek("/f"), "12");  // half of it was written
  assert_code((*file)->Append(Bytes("x")), ErrorCode::IO);
  assert_ok(io.Create("/f"));
  io.FailAt(io.calls() + 1, EIO, true);
  for (int i = 0; i < 3; ++i) assert_code(io.Stat("/f"), ErrorCode::IO);
  io.Restart(1);
  assert_ok(io.Stat("/f"));
}

void after_power_loss_nothing_happens(void**) {
  CrashIo io;
  Put(io, "/f", "x", true);
  assert_ok(io.SyncDirectory("/"));
  auto open = io.Create("/g");
  io.LosePowerAt(io.calls() + 1);
  assert_code(io.Remove("/f"), ErrorCode::IO);
  assert_code((*open)->Append(Bytes("y")), ErrorCode::IO);
  assert_text(*io.Peek("/f"), "x");
  io.Restart(0);
  assert_code((*open)->Append(Bytes("y")), ErrorCode::IO);  // a file of before the restart
  assert_text(*ReadWholeFile(io, "/f", 10), "x");
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(it_is_a_file_system),
      cmocka_unit_test(what_is_synced_stays),
      cmocka_unit_test(unsynced_writes_are_lost_torn_or_reordered),
      cmocka_unit_test(unsynced_names_are_lost),
      cmocka_unit_test(a_rename_is_one_change),
      cmocka_unit_test(a_failed_sync_stays_unsure),
      cmocka_unit_test(calls_fail_once_or_for_ever),
      cmocka_unit_test(after_power_loss_nothing_happens),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
