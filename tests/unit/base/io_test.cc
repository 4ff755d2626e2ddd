// Io on the machine's file system: what it does, and the error for each thing that can stand in its way.
#include "engine/base/io.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "engine/base/descriptor.h"
#include "engine/base/io_error.h"
#include "tests/support/ordinary_user.h"
#include "tests/support/scratch.h"
#include "tests/support/test.h"

namespace traind {
namespace {

using testing::ReadFile;
using testing::Scratch;
using testing::WriteFile;

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Contains all of the parts that an error of a file operation must name.
void assert_names(const Status& status, const std::string& operation, const std::string& path) {
  assert_true(status.message().find(operation) != std::string::npos);
  assert_true(status.message().find(path) != std::string::npos);
}

void files_are_written_and_read(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  {
    auto file = io.Create(scratch / "f");
    assert_ok(file);
    assert_ok((*file)->Append(Bytes("hello ")));
    assert_ok((*file)->Append({}));
    assert_ok((*file)->Append(Bytes("world")));
    assert_ok((*file)->Sync());
    assert_ok((*file)->Close());
    assert_code((*file)->Append(Bytes("x")), ErrorCode::IO);
    assert_code((*file)->Close(), ErrorCode::IO);
  }
  assert_text(ReadFile(scratch / "f"), "hello world");
  const auto file = io.OpenRead(scratch / "f");
  assert_ok(file);
  assert_int_equal((*file)->size(), 11);
  std::byte part[5];
  assert_ok((*file)->ReadAt(6, part));
  assert_memory_equal(part, "world", 5);
  assert_ok((*file)->ReadAt(11, {}));
  const Status status = (*file)->ReadAt(7, part);
  assert_int_equal(status.code(), ErrorCode::DAMAGED_FILE);
  assert_names(status, "byte 11", scratch / "f");
}

void create_truncates_and_is_private(void**) {
  const Scratch scratch;
  WriteFile(scratch / "f", "old content");
  umask(0);
  assert_ok((*PosixIo().Create(scratch / "f"))->Close());
  assert_text(ReadFile(scratch / "f"), "");
  assert_ok((*PosixIo().Create(scratch / "g"))->Close());
  struct stat info {};
  stat((scratch / "g").c_str(), &info);
  assert_int_equal(info.st_mode & 0777, 0600);
}

void descriptors_are_not_inherited(void**) {
  const Scratch scratch;
  const auto written = PosixIo().Create(scratch / "f");
  const auto read = PosixIo().OpenRead(scratch / "f");
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored) != (scratch / "f")) continue;
    ++seen;
    assert_true((fcntl(std::stoi(entry.path().filename().string()), F_GETFD) & FD_CLOEXEC) != 0);
  }
  assert_int_equal(seen, 2);
}

void missing_files_are_not_found(void**) {
  const Scratch scratch;
  const std::string path = (scratch / "none");
  Io& io = PosixIo();
  const Status status = io.OpenRead(path).status();
  assert_int_equal(status.code(), ErrorCode::FILE_NOT_FOUND);
  assert_text(status.message(), "cannot open " + path + ": No such file or directory");
  assert_code(io.Map(path), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.List(path), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.Rename(path, scratch / "x"), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.HardLink(path, scratch / "x"), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.SyncDirectory(path), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.FreeBytes(path), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.Create(path + "/f"), ErrorCode::FILE_NOT_FOUND);
  assert_ok(io.Remove(path));
  assert_ok(io.RemoveTree(path));
  const auto info = io.Stat(path);
  assert_ok(info);
  assert_true(info->kind == FileKind::kMissing);
  WriteFile(scratch / "f", "x");
  assert_true(io.Stat(scratch / "f/below")->kind == FileKind::kMissing);
  assert_code(io.OpenRead(scratch / "f/below"), ErrorCode::FILE_NOT_FOUND);
}

// Each of these would hang or do harm if it were opened as a file.
void only_regular_files_are_opened(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  assert_int_equal(mkfifo((scratch / "fifo").c_str(), 0600), 0);
  const Descriptor socket_descriptor(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", (scratch / "s").c_str());
  assert_int_equal(bind(socket_descriptor.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  for (const std::string& path : {scratch / "fifo", scratch / "s", scratch.path(), std::string("/dev/null"),
                                  std::string("/dev/zero")}) {
    assert_code(io.OpenRead(path), ErrorCode::NOT_A_REGULAR_FILE);
    assert_code(io.Map(path), ErrorCode::NOT_A_REGULAR_FILE);
    assert_code(io.Create(path), ErrorCode::NOT_A_REGULAR_FILE);
    assert_code(ReadWholeFile(io, path, 100), ErrorCode::NOT_A_REGULAR_FILE);
  }
  // A FIFO whose other end is open, too.
  const Descriptor reader(open((scratch / "fifo").c_str(), O_RDONLY | O_NONBLOCK));
  assert_code(io.Create(scratch / "fifo"), ErrorCode::NOT_A_REGULAR_FILE);
}

void links_are_read_but_never_written_through(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  WriteFile(scratch / "f", "content");
  assert_int_equal(symlink("f", (scratch / "link").c_str()), 0);
  assert_int_equal(symlink("nowhere", (scratch / "dangling").c_str()), 0);
  assert_int_equal(symlink("loop", (scratch / "loop").c_str()), 0);
  assert_text(*ReadWholeFile(io, scratch / "link", 100), "content");
  const Status status = io.Create(scratch / "link").status();
  assert_int_equal(status.code(), ErrorCode::NOT_A_REGULAR_FILE);
  assert_names(status, "a symbolic link", scratch / "link");
  assert_text(ReadFile(scratch / "f"), "content");
  assert_code(io.Create(scratch / "dangling"), ErrorCode::NOT_A_REGULAR_FILE);
  assert_code(io.OpenRead(scratch / "dangling"), ErrorCode::FILE_NOT_FOUND);
  assert_code(io.OpenRead(scratch / "loop"), ErrorCode::IO);
  assert_code(io.Stat(scratch / "loop"), ErrorCode::IO);
  assert_true(io.Stat(scratch / "dangling")->kind == FileKind::kMissing);
}

void files_are_mapped(void**) {
  const Scratch scratch;
  WriteFile(scratch / "f", "mapped");
  WriteFile(scratch / "empty", "");
  const auto file = PosixIo().Map(scratch / "f");
  assert_ok(file);
  assert_int_equal((*file)->bytes().size(), 6);
  assert_memory_equal((*file)->bytes().data(), "mapped", 6);
  const auto empty = PosixIo().Map(scratch / "empty");
  assert_ok(empty);
  assert_true((*empty)->bytes().empty());
}

void stat_tells_kind_size_and_identity(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  WriteFile(scratch / "f", "12345");
  assert_ok(io.HardLink(scratch / "f", scratch / "g"));
  const auto f = io.Stat(scratch / "f"), g = io.Stat(scratch / "g");
  assert_true(f->kind == FileKind::kRegular && f->bytes == 5);
  assert_true(f->device == g->device && f->inode == g->inode);
  assert_true(f->modified_ns > 1'700'000'000'000'000'000);
  assert_true(io.Stat(scratch.path())->kind == FileKind::kDirectory);
  assert_true(io.Stat("/dev/null")->kind == FileKind::kOther);
  assert_code(io.HardLink(scratch / "f", scratch / "g"), ErrorCode::IO);
}

void listings_are_sorted(void**) {
  const Scratch scratch;
  for (const char* name : {"b", "a", ".hidden", "C"}) WriteFile(scratch / name, "");
  const auto names = PosixIo().List(scratch.path());
  assert_ok(names);
  assert_true(*names == (std::vector<std::string>{".hidden", "C", "a", "b"}));
  assert_code(PosixIo().List(scratch / "a"), ErrorCode::FILE_NOT_FOUND);
}

void directories_are_made_with_parents(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  umask(0);
  assert_ok(io.MakeDirectories(scratch / "a/b/c"));
  assert_ok(io.MakeDirectories(scratch / "a/b/c"));
  assert_ok(io.MakeDirectories(scratch / "a//d/"));
  struct stat info {};
  assert_int_equal(stat((scratch / "a/d").c_str(), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0700);
  assert_ok(io.MakeDirectories("/"));
  WriteFile(scratch / "file", "");
  const Status status = io.MakeDirectories(scratch / "file/x");
  assert_int_equal(status.code(), ErrorCode::IO);
  assert_names(status, "it is a file", scratch / "file");
}

void renames_replace_files(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  WriteFile(scratch / "new", "new");
  WriteFile(scratch / "old", "old");
  assert_ok(io.Rename(scratch / "new", scratch / "old"));
  assert_text(ReadFile(scratch / "old"), "new");
  assert_ok(io.MakeDirectories(scratch / "d/full"));
  const Status status = io.Rename(scratch / "old", scratch / "d");
  assert_int_equal(status.code(), ErrorCode::NOT_A_REGULAR_FILE);
  assert_names(status, "rename", (scratch / "old") + " to " + (scratch / "d"));
  assert_ok(io.SyncDirectory(scratch.path()));
}

void trees_are_removed_without_following_links(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  assert_ok(io.MakeDirectories(scratch / "kept"));
  WriteFile(scratch / "kept/f", "kept");
  assert_ok(io.MakeDirectories(scratch / "tree/a/b"));
  WriteFile(scratch / "tree/a/b/f", "");
  assert_int_equal(symlink((scratch / "kept").c_str(), (scratch / "tree/a/link").c_str()), 0);
  assert_code(io.Remove(scratch / "tree"), ErrorCode::IO);
  assert_ok(io.RemoveTree(scratch / "tree"));
  assert_true(io.Stat(scratch / "tree")->kind == FileKind::kMissing);
  assert_text(ReadFile(scratch / "kept/f"), "kept");
  assert_int_equal(symlink((scratch / "kept").c_str(), (scratch / "link").c_str()), 0);
  assert_ok(io.RemoveTree(scratch / "link"));
  assert_text(ReadFile(scratch / "kept/f"), "kept");
  assert_ok(io.Remove(scratch / "kept/f"));
  assert_ok(io.Remove(scratch / "kept"));
}

void whole_files_are_limited(void**) {
  const Scratch scratch;
  WriteFile(scratch / "f", "12345");
  assert_text(*ReadWholeFile(PosixIo(), scratch / "f", 5), "12345");
  const Status status = ReadWholeFile(PosixIo(), scratch / "f", 4).status();
  assert_int_equal(status.code(), ErrorCode::IO);
  assert_text(status.message(), "cannot read " + (scratch / "f") + ": it has 5 bytes; the limit is 4 bytes");
}

void free_space_is_measured(void**) {
  const Scratch scratch;
  const auto bytes = PosixIo().FreeBytes(scratch.path());
  assert_ok(bytes);
  assert_true(*bytes > 0);
}

// A file size limit makes a write short, then refused: a short write is finished, a refusal voids the file.
void a_failed_write_voids_the_file(void**) {
  const Scratch scratch;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit saved{};
  getrlimit(RLIMIT_FSIZE, &saved);
  auto file = PosixIo().Create(scratch / "f");
  assert_ok(file);
  const rlimit small{1000, saved.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const Status write = (*file)->Append(Bytes(std::string(4096, 'x')));
  setrlimit(RLIMIT_FSIZE, &saved);
  assert_int_equal(write.code(), ErrorCode::IO);
  assert_names(write, "write", scratch / "f");
  assert_code((*file)->Append(Bytes("y")), ErrorCode::IO);
  assert_code((*file)->Sync(), ErrorCode::IO);
  assert_int_equal(ReadFile(scratch / "f").size(), 1000);
}

void reasons_have_codes(void**) {
  assert_code(IoError("write", "/f", ENOSPC), ErrorCode::DISK_FULL);
  assert_code(IoError("write", "/f", EDQUOT), ErrorCode::DISK_FULL);
  assert_code(IoError("write", "/f", EIO), ErrorCode::IO);
  assert_code(IoError("write", "/f", EACCES), ErrorCode::IO);
  assert_code(IoError("read", "/f", EACCES, true), ErrorCode::FILE_NOT_READABLE);
  assert_code(IoError("read", "/f", EPERM, true), ErrorCode::FILE_NOT_READABLE);
  assert_code(IoError("read", "/f", ENOENT), ErrorCode::FILE_NOT_FOUND);
  assert_code(IoError("read", "/f", ENAMETOOLONG), ErrorCode::IO);
  assert_text(IoError("write", "/f", ENOSPC).message(), "cannot write /f: No space left on device");
  assert_false(IoError("write", "/f", ENOSPC).hint().empty());
}

void names_that_are_too_long(void**) {
  const Scratch scratch;
  assert_code(PosixIo().OpenRead((scratch / std::string(4096, 'x'))), ErrorCode::IO);
  assert_code(PosixIo().Create((scratch / std::string(256, 'x'))), ErrorCode::IO);
}

void unreadable_files_say_so(void**) {
  const Scratch scratch;
  Io& io = PosixIo();
  WriteFile(scratch / "f", "secret");
  chmod((scratch / "f").c_str(), 0);
  chmod(scratch.path().c_str(), 0755);
  Status open_status, create_status, remove_status;
  {
    const testing::OrdinaryUser user;
    open_status = io.OpenRead(scratch / "f").status();
    create_status = io.Create(scratch / "f").status();
    chmod(scratch.path().c_str(), 0500);  // has effect, and is needed, when the tests do not run as root
    remove_status = io.Remove(scratch / "f");
  }
  chmod(scratch.path().c_str(), 0700);
  assert_int_equal(open_status.code(), ErrorCode::FILE_NOT_READABLE);
  assert_false(open_status.hint().empty());
  assert_int_equal(create_status.code(), ErrorCode::IO);
  assert_int_equal(remove_status.code(), ErrorCode::IO);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(files_are_written_and_read),
      cmocka_unit_test(create_truncates_and_is_private),
      cmocka_unit_test(descriptors_are_not_inherited),
      cmocka_unit_test(missing_files_are_not_found),
      cmocka_unit_test(only_regular_files_are_opened),
      cmocka_unit_test(links_are_read_but_never_written_through),
      cmocka_unit_test(files_are_mapped),
      cmocka_unit_test(stat_tells_kind_size_and_identity),
      cmocka_unit_test(listings_are_sorted),
      cmocka_unit_test(directories_are_made_with_parents),
      cmocka_unit_test(renames_replace_files),
      cmocka_unit_test(trees_are_removed_without_following_links),
      cmocka_unit_test(whole_files_are_limited),
      cmocka_unit_test(free_space_is_measured),
      cmocka_unit_test(a_failed_write_voids_the_file),
      cmocka_unit_test(reasons_have_codes),
      cmocka_unit_test(names_that_are_too_long),
      cmocka_unit_test(unreadable_files_say_so),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
