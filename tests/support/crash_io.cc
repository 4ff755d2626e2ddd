// The file system in memory: what is seen, what is durable, and the changes between the two.
#include "tests/support/crash_io.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "engine/base/io_error.h"

namespace traind::testing {

struct CrashIo::Node {
  struct Write {
    size_t offset;
    std::string bytes;
    bool truncates;  // to `offset`
  };
  // One change, there as a whole or not at all; the two halves of a rename between directories share `fate`.
  struct EntryChange {
    std::string name;
    NodePointer node;  // null: removed
    std::string old_name;
    std::shared_ptr<std::optional<bool>> fate = std::make_shared<std::optional<bool>>();

    void ApplyTo(std::map<std::string, NodePointer>* entries) const {
      if (!old_name.empty()) entries->erase(old_name);
      if (node == nullptr) {
        entries->erase(name);
      } else {
        (*entries)[name] = node;
      }
    }
  };

  uint64_t inode = 0;
  bool is_directory = false;
  // Of a file.
  std::string content;
  std::string durable_content;
  std::vector<Write> unsynced;
  std::vector<Write> unsure;  // of failed syncs
  // Of a directory.
  std::map<std::string, NodePointer> entries;
  std::map<std::string, NodePointer> durable_entries;
  std::vector<EntryChange> changes;
};

namespace {

constexpr int64_t kFreeBytes = int64_t{1} << 40;

// Puts `bytes` at `offset` as a disk would: a gap before it reads as zeros.
void Overwrite(std::string* content, size_t offset, std::string_view bytes) {
  if (content->size() < offset + bytes.size()) content->resize(offset + bytes.size(), '\0');
  content->replace(offset, bytes.size(), bytes);
}

class MemoryMappedFile : public MappedFile {
 public:
  explicit MemoryMappedFile(std::string content) : content_(std::move(content)) {}
  std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(content_)); }

 private:
  std::string content_;
};

}  // namespace

class CrashWritableFile : public WritableFile {
 public:
  CrashWritableFile(CrashIo* io, std::string path, CrashIo::NodePointer node)
      : io_(io), path_(std::move(path)), node_(std::move(node)), restarts_(io->restarts_) {}

  Status Append(std::span<const std::byte> bytes) override {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    TRAIND_TRY(CheckUsable("write"));
    const Status status = io_->Call("write", path_);
    if (!status.ok()) {
      failed_ = true;
      if (io_->power_lost_at_ == 0) Put(text.substr(0, text.size() / 2));
      return status;
    }
    Put(text);
    return Ok();
  }

  Status Sync() override {
    TRAIND_TRY(CheckUsable("sync"));
    const Status status = io_->Call("sync", path_);
    if (!status.ok()) {
      failed_ = true;
      std::ranges::move(node_->unsynced, std::back_inserter(node_->unsure));
      node_->unsynced.clear();
      return status;
    }
    for (const auto& write : node_->unsynced) {
      if (write.truncates) {
        node_->durable_content.resize(write.offset);
      } else {
        Overwrite(&node_->durable_content, write.offset, write.bytes);
      }
    }
    node_->unsynced.clear();
    return Ok();
  }

  Status Close() override {
    TRAIND_TRY(CheckUsable("close"));
    closed_ = true;
    return io_->Call("close", path_);
  }

 private:
  Status CheckUsable(std::string_view operation) const {
    if (closed_ || failed_ || restarts_ != io_->restarts_) return IoError(operation, path_, EBADF);
    return Ok();
  }

  void Put(std::string_view text) {
    if (text.empty()) return;
    node_->unsynced.push_back({node_->content.size(), std::string(text), false});
    node_->content += text;
  }

  CrashIo* io_;
  std::string path_;
  CrashIo::NodePointer node_;
  uint64_t restarts_;
  bool failed_ = false;
  bool closed_ = false;
};

class CrashReadableFile : public ReadableFile {
 public:
  CrashReadableFile(CrashIo* io, std::string path, CrashIo::NodePointer node)
      : io_(io), path_(std::move(path)), node_(std::move(node)), size_(node_->content.size()) {}

  int64_t size() const override { return static_cast<int64_t>(size_); }

  Status ReadAt(int64_t offset, std::span<std::byte> out) const override {
    TRAIND_TRY(io_->Call("read", path_));
    const auto begin = static_cast<size_t>(offset);
    if (begin > node_->content.size() || out.size() > node_->content.size() - begin) {
      return Status(ErrorCode::DAMAGED_FILE, path_ + " ends before the bytes that are to be read");
    }
    if (!out.empty()) std::memcpy(out.data(), node_->content.data() + begin, out.size());
    return Ok();
  }

 private:
  CrashIo* io_;
  std::string path_;
  CrashIo::NodePointer node_;
  size_t size_;
};

CrashIo::CrashIo() : root_(NewNode(true)) {}
CrashIo::~CrashIo() = default;

void CrashIo::FailAt(int64_t number, int error_number, bool for_ever) {
  fail_at_ = number;
  fail_errno_ = error_number;
  fail_for_ever_ = for_ever;
}

void CrashIo::LosePowerAt(int64_t number) {
  power_lost_at_ = number;
}

Status CrashIo::Call(std::string_view operation, const std::string& path) {
  ++calls_;
  if (power_lost_at_ > 0 && calls_ >= power_lost_at_) return IoError(operation, path, ESHUTDOWN);
  const bool fails = fail_at_ > 0 && (calls_ == fail_at_ || (fail_for_ever_ && calls_ > fail_at_));
  return fails ? IoError(operation, path, fail_errno_) : Ok();
}

CrashIo::NodePointer CrashIo::NewNode(bool is_directory) {
  auto node = std::make_shared<Node>();
  node->inode = next_inode_++;
  node->is_directory = is_directory;
  return node;
}

CrashIo::NodePointer CrashIo::Find(const std::string& path) const {
  NodePointer node = root_;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty()) continue;
    if (!node->is_directory) return nullptr;
    const auto entry = node->entries.find(part);
    if (entry == node->entries.end()) return nullptr;
    node = entry->second;
  }
  return node;
}

CrashIo::Place CrashIo::FindPlace(const std::string& path) const {
  const size_t slash = path.rfind('/');
  NodePointer directory = Find(path.substr(0, slash));
  if (directory != nullptr && !directory->is_directory) directory = nullptr;
  return {std::move(directory), path.substr(slash + 1)};
}

void CrashIo::SetEntry(Node& directory, const std::string& name, NodePointer node) {
  directory.changes.push_back({name, std::move(node), {}});
  directory.changes.back().ApplyTo(&directory.entries);
}

std::optional<std::string> CrashIo::Peek(const std::string& path) const {
  const NodePointer node = Find(path);
  if (node == nullptr || node->is_directory) return std::nullopt;
  return node->content;
}

Result<std::unique_ptr<WritableFile>> CrashIo::Create(const std::string& path) {
  TRAIND_TRY(Call("create", path));
  const Place place = FindPlace(path);
  if (place.directory == nullptr) return IoError("create", path, ENOENT);
  NodePointer node = Find(path);
  if (node == nullptr) {
    node = NewNode(false);
    SetEntry(*place.directory, place.name, node);
  } else if (node->is_directory) {
    return IoError("create", path, EISDIR);
  } else if (!node->content.empty()) {
    node->unsynced.push_back({0, {}, true});
    node->content.clear();
  }
  return std::unique_ptr<WritableFile>(std::make_unique<CrashWritableFile>(this, path, std::move(node)));
}

Result<std::unique_ptr<ReadableFile>> CrashIo::OpenRead(const std::string& path) {
  TRAIND_TRY(Call("open", path));
  NodePointer node = Find(path);
  if (node == nullptr) return IoError("open", path, ENOENT, true);
  if (node->is_directory) return IoError("open", path, EISDIR, true);
  return std::unique_ptr<ReadableFile>(std::make_unique<CrashReadableFile>(this, path, std::move(node)));
}

Result<std::unique_ptr<MappedFile>> CrashIo::Map(const std::string& path) {
  TRAIND_TRY(Call("map", path));
  const NodePointer node = Find(path);
  if (node == nullptr) return IoError("map", path, ENOENT, true);
  if (node->is_directory) return IoError("map", path, EISDIR, true);
  return std::unique_ptr<MappedFile>(std::make_unique<MemoryMappedFile>(node->content));
}

Result<FileInfo> CrashIo::Stat(const std::string& path) {
  TRAIND_TRY(Call("look up", path));
  const NodePointer node = Find(path);
  if (node == nullptr) return FileInfo{};
  return FileInfo{node->is_directory ? FileKind::kDirectory : FileKind::kRegular,
                  static_cast<int64_t>(node->content.size()), 0, 1, node->inode};
}

Result<std::vector<std::string>> CrashIo::List(const std::string& directory) {
  TRAIND_TRY(Call("list", directory));
  const NodePointer node = Find(directory);
  if (node == nullptr || !node->is_directory) return IoError("list", directory, ENOENT, true);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

// A directory made is durable with its name, as io.h promises.
Status CrashIo::MakeDirectory(const std::string& path) {
  const Place place = FindPlace(path);
  if (place.directory == nullptr) return IoError("make the directory", path, ENOTDIR);
  if (const NodePointer node = Find(path)) return node->is_directory ? Ok() : IoError("make", path, EEXIST);
  TRAIND_TRY(Call("make the directory", path));
  SetEntry(*place.directory, place.name, NewNode(true));
  const Status synced = SyncDirectory(path.substr(0, path.rfind('/')));
  // Or the next call would find it and take it for durable.
  if (!synced.ok() && power_lost_at_ == 0) SetEntry(*place.directory, place.name, nullptr);
  return synced;
}

Status CrashIo::MakeDirectories(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    TRAIND_TRY(MakeDirectory(path.substr(0, slash)));
    if (slash == std::string::npos) return Ok();
  }
}

Status CrashIo::Rename(const std::string& from, const std::string& to) {
  TRAIND_TRY(Call("rename", from + " to " + to));
  NodePointer node = Find(from);
  const Place source = FindPlace(from), target = FindPlace(to);
  if (node == nullptr || target.directory == nullptr) return IoError("rename", from + " to " + to, ENOENT);
  if (const NodePointer replaced = Find(to)) {
    if (replaced->is_directory != node->is_directory) return IoError("rename", from + " to " + to, EISDIR);
    if (!replaced->entries.empty()) return IoError("rename", from + " to " + to, ENOTEMPTY);
  }
  if (source.directory == target.directory) {
    if (source.name == target.name) return Ok();
    source.directory->changes.push_back({target.name, std::move(node), source.name});
    source.directory->changes.back().ApplyTo(&source.directory->entries);
    return Ok();
  }
  SetEntry(*target.directory, target.name, std::move(node));
  SetEntry(*source.directory, source.name, nullptr);
  source.directory->changes.back().fate = target.directory->changes.back().fate;
  return Ok();
}

Status CrashIo::HardLink(const std::string& from, const std::string& to) {
  TRAIND_TRY(Call("link", from + " as " + to));
  NodePointer node = Find(from);
  const Place target = FindPlace(to);
  if (node == nullptr || target.directory == nullptr) return IoError("link", from + " as " + to, ENOENT);
  if (node->is_directory) return IoError("link", from + " as " + to, EPERM);
  if (Find(to) != nullptr) return IoError("link", from + " as " + to, EEXIST);
  SetEntry(*target.directory, target.name, std::move(node));
  return Ok();
}

Status CrashIo::SyncDirectory(const std::string& path) {
  TRAIND_TRY(Call("sync", path));
  const NodePointer node = Find(path);
  if (node == nullptr || !node->is_directory) return IoError("sync", path, ENOENT);
  node->durable_entries = node->entries;
  for (const Node::EntryChange& change : node->changes) *change.fate = true;
  node->changes.clear();
  return Ok();
}

Status CrashIo::Remove(const std::string& path) {
  TRAIND_TRY(Call("remove", path));
  const NodePointer node = Find(path);
  if (node == nullptr) return Ok();
  if (!node->entries.empty()) return IoError("remove", path, ENOTEMPTY);
  const Place place = FindPlace(path);
  SetEntry(*place.directory, place.name, nullptr);
  return Ok();
}

// Entry by entry, as the machine does it, so that each can be the last.
Status CrashIo::RemoveTree(const std::string& path) {
  const NodePointer node = Find(path);
  if (node != nullptr) {
    std::vector<std::string> names;
    for (const auto& [name, child] : node->entries) names.push_back(name);
    for (const std::string& name : names) TRAIND_TRY(RemoveTree(path + "/" + name));
  }
  return Remove(path);
}

Result<int64_t> CrashIo::FreeBytes(const std::string& path) {
  TRAIND_TRY(Call("measure", path));
  return kFreeBytes;
}

void CrashIo::SettleContent(Node& file, std::mt19937_64& random) {
  std::vector<Node::Write> writes = std::move(file.unsure);
  std::ranges::move(file.unsynced, std::back_inserter(writes));
  std::string content = file.durable_content;
  for (const Node::Write& write : writes) {
    const uint64_t fate = random() % 4;
    if (fate == 0) continue;  // lost
    if (write.truncates) {
      content.resize(std::min(content.size(), write.offset));
    } else {
      const size_t kept = fate == 1 ? random() % (write.bytes.size() + 1) : write.bytes.size();  // torn
      Overwrite(&content, write.offset, std::string_view(write.bytes).substr(0, kept));
    }
  }
  file.content = file.durable_content = std::move(content);
  file.unsynced.clear();
  file.unsure.clear();
}

void CrashIo::SettleEntries(Node& directory, std::mt19937_64& random) {
  const uint64_t mood = random() % 4;  // all lost, all there, or each by itself
  std::map<std::string, NodePointer> entries = directory.durable_entries;
  for (const Node::EntryChange& change : directory.changes) {
    if (!change.fate->has_value()) *change.fate = mood == 1 || (mood > 1 && random() % 2 == 0);
    if (**change.fate) change.ApplyTo(&entries);
  }
  directory.entries = directory.durable_entries = std::move(entries);
  directory.changes.clear();
}

void CrashIo::Settle(Node& node, std::mt19937_64& random) {
  if (!node.is_directory) {
    SettleContent(node, random);
    return;
  }
  SettleEntries(node, random);
  for (const auto& [name, child] : node.entries) Settle(*child, random);
}

void CrashIo::Restart(uint64_t seed) {
  std::mt19937_64 random(seed);
  Settle(*root_, random);
  ++restarts_;
  FailAt(0, 0);
  LosePowerAt(0);
}

}  // namespace traind::testing
