// publish(): temporary name, sync, rename, sync of the directory.
#include "engine/base/publish.h"

#include <unistd.h>

#include <atomic>

#include "engine/base/fault.h"

namespace traind {
namespace {

constexpr std::string_view kTemporaryPrefix = ".tmp-";

std::string ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

// Differs from every other name this process made, and from those of processes alive now.
std::string UniqueSuffix() {
  static std::atomic<int64_t> counter{0};
  return std::to_string(getpid()) + "-" + std::to_string(++counter);
}

Status WriteSynced(Io& io, const std::string& path, std::string_view content) {
  TRAIND_ASSIGN(const std::unique_ptr<WritableFile> file, io.Create(path));
  TRAIND_TRY(file->Append(std::as_bytes(std::span(content))));
  TRAIND_TRY(file->Sync());
  return file->Close();
}

// From the synced temporary to the durable final name.
Status RenameDurably(Io& io, const std::string& temporary, const std::string& path) {
  TRAIND_TRY(PassFaultPoint(FaultPoint::publish_before_rename));
  TRAIND_TRY(io.Rename(temporary, path));
  TRAIND_TRY(PassFaultPoint(FaultPoint::publish_after_rename));
  return io.SyncDirectory(ParentOf(path));
}

}  // namespace

std::string TemporaryName(const std::string& path, std::string_view unique) {
  const size_t slash = path.rfind('/');
  const size_t leaf = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, leaf) + std::string(kTemporaryPrefix) + path.substr(leaf) + "-" + std::string(unique);
}

Status PublishFile(Io& io, const std::string& path, std::string_view content) {
  const std::string temporary = TemporaryName(path, UniqueSuffix());
  Status status = WriteSynced(io, temporary, content);
  if (status.ok()) return PublishWrittenFile(io, temporary, path);
  static_cast<void>(io.Remove(temporary));
  return status;
}

Status PublishWrittenFile(Io& io, const std::string& temporary, const std::string& path) {
  Status status = RenameDurably(io, temporary, path);
  // Best effort: what is left here, RemoveTemporaries finds. After the rename there is nothing to remove.
  if (!status.ok()) static_cast<void>(io.Remove(temporary));
  return status;
}

Status PublishDirectory(Io& io, const std::string& temporary, const std::string& path) {
  TRAIND_ASSIGN(const FileInfo target, io.Stat(path));
  if (target.kind != FileKind::kMissing) {
    return Status(ErrorCode::IO, "cannot publish " + path + ": it exists already");
  }
  TRAIND_TRY(io.SyncDirectory(temporary));
  return RenameDurably(io, temporary, path);
}

Status RemoveTemporariesOf(Io& io, const std::string& directory, int64_t owner) {
  TRAIND_ASSIGN(const std::vector<std::string> names, io.List(directory));
  const std::string mark = "-" + std::to_string(owner) + "-";
  for (const std::string& name : names) {
    if (!name.starts_with(kTemporaryPrefix)) continue;
    const size_t found = name.rfind(mark);
    if (found == std::string::npos) continue;
    const std::string_view number = std::string_view(name).substr(found + mark.size());
    const bool digits = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
    if (digits) TRAIND_TRY(io.RemoveTree(directory + "/" + name));
  }
  return Ok();
}

Status RemoveTemporaries(Io& io, const std::string& directory) {
  TRAIND_ASSIGN(const std::vector<std::string> names, io.List(directory));
  for (const std::string& name : names) {
    if (name.starts_with(kTemporaryPrefix)) TRAIND_TRY(io.RemoveTree(directory + "/" + name));
  }
  return Ok();
}

}  // namespace traind
