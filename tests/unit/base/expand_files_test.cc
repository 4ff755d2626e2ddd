// Patterns: which files they mean, in which order, and what is refused instead of being skipped.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "engine/base/io.h"
#include "tests/support/ordinary_user.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind {
namespace {

using testing::Scratch;
using testing::WriteFile;

// The names found, without the directory, joined by spaces; or the error's name.
std::string Expand(const Scratch& scratch, const std::string& pattern) {
  const auto files = ExpandFiles(scratch / pattern);
  if (!files.ok()) return std::string(files.status().info().name);
  std::string names;
  for (const std::string& file : *files) {
    names += (names.empty() ? "" : " ") + file.substr(scratch.path().size() + 1);
  }
  return names;
}

void wildcards_match_in_any_component(void**) {
  const Scratch scratch;
  for (const char* directory : {"d1", "d2", "other"}) std::filesystem::create_directory(scratch / directory);
  for (const char* file : {"d1/b.txt", "d1/a.txt", "d2/a.txt", "d2/c.md", "other/a.txt", "d1/.hidden.txt"}) {
    WriteFile(scratch / file, "x");
  }
  assert_text(Expand(scratch, "d1/a.txt"), "d1/a.txt");
  assert_text(Expand(scratch, "d?/*.txt"), "d1/a.txt d1/b.txt d2/a.txt");
  assert_text(Expand(scratch, "d[2-9]/*"), "d2/a.txt d2/c.md");
  assert_text(Expand(scratch, "d[!2]/*"), "d1/a.txt d1/b.txt");
  assert_text(Expand(scratch, "*/a.*"), "d1/a.txt d2/a.txt other/a.txt");
  assert_text(Expand(scratch, "d1/.*"), "d1/.hidden.txt");
}

void one_real_file_counts_once(void**) {
  const Scratch scratch;
  WriteFile(scratch / "GPL-3", "x");
  WriteFile(scratch / "BSD", "y");
  assert_int_equal(symlink("GPL-3", (scratch / "GPL").c_str()), 0);
  assert_int_equal(symlink("GPL-3", (scratch / "ZZZ").c_str()), 0);
  assert_int_equal(link((scratch / "BSD").c_str(), (scratch / "BSD-2").c_str()), 0);
  assert_text(Expand(scratch, "*"), "BSD GPL-3");
  assert_text(Expand(scratch, "GPL"), "GPL");
  assert_text(Expand(scratch, "Z*"), "ZZZ");
}

void a_plain_name_may_hold_brackets(void**) {
  const Scratch scratch;
  WriteFile(scratch / "data[1].txt", "x");
  WriteFile(scratch / "data1.txt", "x");
  WriteFile(scratch / "what?", "x");
  assert_text(Expand(scratch, "data[1].txt"), "data[1].txt");
  assert_text(Expand(scratch, "what?"), "what?");
  assert_text(Expand(scratch, "data[12].txt"), "data1.txt");
}

void nothing_is_skipped_in_silence(void**) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "d/sub");
  WriteFile(scratch / "d/f", "x");
  assert_text(Expand(scratch, "d/*"), "d/f");
  assert_text(Expand(scratch, "none"), "FILE_NOT_FOUND");
  assert_text(Expand(scratch, "none*"), "FILE_NOT_FOUND");
  assert_text(Expand(scratch, "d/f/x*"), "FILE_NOT_FOUND");
  assert_text(Expand(scratch, "d/s*"), "FILE_NOT_FOUND");
  assert_text(Expand(scratch, "d"), "NOT_A_REGULAR_FILE");
  assert_int_equal(mkfifo((scratch / "d/pipe").c_str(), 0600), 0);
  assert_text(Expand(scratch, "d/pipe"), "NOT_A_REGULAR_FILE");
  assert_text(Expand(scratch, "d/*"), "NOT_A_REGULAR_FILE");
  unlink((scratch / "d/pipe").c_str());
  assert_int_equal(symlink("nowhere", (scratch / "d/dangling").c_str()), 0);
  assert_text(Expand(scratch, "d/dangling"), "FILE_NOT_FOUND");
  assert_text(Expand(scratch, "d/*"), "FILE_NOT_FOUND");
}

void errors_name_the_path(void**) {
  const Scratch scratch;
  assert_text(ExpandFiles(scratch / "no*").status().message(), "no file matches " + (scratch / "no*"));
  assert_text(ExpandFiles(scratch / "no").status().message(), "no file " + (scratch / "no"));
  std::filesystem::create_directory(scratch / "d");
  const Status status = ExpandFiles(scratch / "d").status();
  assert_text(status.message(), (scratch / "d") + " is a directory");
  assert_text(status.hint(), "For the files in it write '" + (scratch / "d") + "/*'.");
}

void absurd_patterns_are_refused(void**) {
  assert_code(ExpandFiles(""), ErrorCode::FILE_NOT_FOUND);
  assert_code(ExpandFiles("/" + std::string(5000, 'x')), ErrorCode::FILE_NOT_FOUND);
  assert_code(ExpandFiles(std::string("/etc/\0passwd", 12)), ErrorCode::FILE_NOT_FOUND);
  assert_code(ExpandFiles("/[[[[***???[a-"), ErrorCode::FILE_NOT_FOUND);
}

void unlistable_directories_say_so(void**) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "d");
  chmod((scratch / "d").c_str(), 0);
  chmod(scratch.path().c_str(), 0755);
  std::string outcome;
  {
    const testing::OrdinaryUser user;
    outcome = Expand(scratch, "d/*");
  }
  chmod((scratch / "d").c_str(), 0700);
  assert_text(outcome, "FILE_NOT_READABLE");
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(wildcards_match_in_any_component),
      cmocka_unit_test(one_real_file_counts_once),
      cmocka_unit_test(a_plain_name_may_hold_brackets),
      cmocka_unit_test(nothing_is_skipped_in_silence),
      cmocka_unit_test(errors_name_the_path),
      cmocka_unit_test(absurd_patterns_are_refused),
      cmocka_unit_test(unlistable_directories_say_so),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
