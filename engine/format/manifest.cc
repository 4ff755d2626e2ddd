// The manifest as text and back, and the checks of a checkpoint directory against it.
#include "engine/format/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "engine/base/checksum.h"
#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "engine/base/rooted_path.h"

namespace traind::format {
namespace {

constexpr std::string_view kFormatName = "traind checkpoint";
constexpr std::string_view kNamePrefix = "step-";
constexpr int64_t kPieceBytes = 1 << 20;
constexpr size_t kChecksumDigits = 32;
// The text ends in this, the checksum of all before it, and the tail.
constexpr std::string_view kChecksumField = ",\n \"checksum\": \"";
constexpr std::string_view kTail = "\"\n}\n";

Status Damaged(const std::string& path, std::string_view what) {
  return Status(ErrorCode::DAMAGED_CHECKPOINT, fmt::format("{}: {}", path, what),
                "an older checkpoint is used where there is one; this one is kept for inspection");
}

OrderedJson Optional(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson ManifestToJson(const Manifest& manifest) {
  OrderedJson object;
  object["format"] = kFormatName;
  object["format_version"] = kManifestVersion;
  object["job"] = manifest.job;
  object["attempt"] = manifest.attempt;
  object["step"] = manifest.step;
  object["total_steps"] = manifest.total_steps;
  object["tokens"] = manifest.tokens;
  object["seed"] = manifest.seed;
  object["cursor"] = {{"key", manifest.cursor.key},
                      {"validation", manifest.cursor.validation},
                      {"position", manifest.cursor.position}};
  object["plan_hash"] = manifest.plan_hash;
  object["ranks"] = manifest.ranks;
  object["loss"] = Optional(manifest.loss);
  object["val_loss"] = Optional(manifest.val_loss);
  if (manifest.validated_step) object["validated_step"] = *manifest.validated_step;
  object["validation_due"] = manifest.validation_due;
  object["statement"] = manifest.statement;
  object["optimizer"] = OrderedJson::array();
  for (const OptimizerRange& range : manifest.optimizer) {
    object["optimizer"].push_back({{"file", range.file}, {"begin", range.begin}, {"end", range.end}});
  }
  object["files"] = OrderedJson::array();
  for (const ManifestFile& file : manifest.files) {
    object["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksum", file.checksum}});
  }
  return object;
}

Result<std::optional<double>> OptionalFrom(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<double>();
  TRAIND_ASSIGN(const double value, GetDouble(object, key));
  return std::optional<double>(value);
}

Result<Json> Child(const Json& object, std::string_view key, Json::value_t type) {
  const auto found = object.find(key);
  if (found != object.end() && found->type() == type) return *found;
  return Status(ErrorCode::MALFORMED_FRAME, fmt::format("the field '{}' is missing or of another type", key));
}

Status ReadLists(const Json& object, Manifest* manifest) {
  TRAIND_ASSIGN(const Json ranges, Child(object, "optimizer", Json::value_t::array));
  for (const Json& item : ranges) {
    OptimizerRange& range = manifest->optimizer.emplace_back();
    TRAIND_ASSIGN(range.file, GetString(item, "file"));
    TRAIND_ASSIGN(range.begin, GetInt(item, "begin"));
    TRAIND_ASSIGN(range.end, GetInt(item, "end"));
  }
  TRAIND_ASSIGN(const Json files, Child(object, "files", Json::value_t::array));
  for (const Json& item : files) {
    ManifestFile& file = manifest->files.emplace_back();
    TRAIND_ASSIGN(file.name, GetString(item, "name"));
    TRAIND_ASSIGN(file.bytes, GetInt(item, "bytes"));
    TRAIND_ASSIGN(file.checksum, GetString(item, "checksum"));
  }
  return Ok();
}

Result<Manifest> ManifestFromJson(const Json& object) {
  Manifest manifest;
  TRAIND_ASSIGN(const std::string format, GetString(object, "format"));
  TRAIND_ASSIGN(const int64_t version, GetInt(object, "format_version"));
  if (format != kFormatName || version != kManifestVersion) {
    return Status(ErrorCode::MALFORMED_FRAME, fmt::format("'{}' version {}; version {} of '{}' is read",
                                                          format, version, kManifestVersion, kFormatName));
  }
  TRAIND_ASSIGN(manifest.job, GetInt(object, "job"));
  TRAIND_ASSIGN(manifest.attempt, GetInt(object, "attempt"));
  TRAIND_ASSIGN(manifest.step, GetInt(object, "step"));
  TRAIND_ASSIGN(manifest.total_steps, GetInt(object, "total_steps"));
  TRAIND_ASSIGN(manifest.tokens, GetInt(object, "tokens"));
  TRAIND_ASSIGN(manifest.seed, GetInt(object, "seed"));
  TRAIND_ASSIGN(const Json cursor, Child(object, "cursor", Json::value_t::object));
  TRAIND_ASSIGN(manifest.cursor.key, GetString(cursor, "key"));
  TRAIND_ASSIGN(manifest.cursor.validation, GetString(cursor, "validation"));
  TRAIND_ASSIGN(manifest.cursor.position, GetInt(cursor, "position"));
  TRAIND_ASSIGN(manifest.plan_hash, GetString(object, "plan_hash"));
  TRAIND_ASSIGN(manifest.ranks, GetInt(object, "ranks"));
  TRAIND_ASSIGN(manifest.loss, OptionalFrom(object, "loss"));
  TRAIND_ASSIGN(manifest.val_loss, OptionalFrom(object, "val_loss"));
  if (object.contains("validated_step")) {
    TRAIND_ASSIGN(manifest.validated_step, GetInt(object, "validated_step"));
  }
  TRAIND_ASSIGN(manifest.validation_due, GetBool(object, "validation_due"));
  TRAIND_ASSIGN(manifest.statement, GetString(object, "statement"));
  TRAIND_TRY(ReadLists(object, &manifest));
  return manifest;
}

// What no honest manifest holds, checked so that paths and sizes made from it are safe.
Status CheckManifest(const Manifest& manifest) {
  const auto bad = [](std::string what) { return Status(ErrorCode::MALFORMED_FRAME, std::move(what)); };
  if (manifest.step < 0 || manifest.total_steps < 0 || manifest.tokens < 0 || manifest.cursor.position < 0) {
    return bad("a negative count");
  }
  if (manifest.ranks < 1) return bad("no ranks");
  std::set<std::string> names;
  for (const ManifestFile& file : manifest.files) {
    if (!RootedPath("/", {file.name}).ok() || file.name == kManifestName || !names.insert(file.name).second) {
      return bad(fmt::format("the file name '{}' is not allowed or given twice", file.name));
    }
    if (file.bytes < 0) return bad(fmt::format("the file '{}' has a negative size", file.name));
  }
  int64_t end = 0;
  for (const OptimizerRange& range : manifest.optimizer) {
    if (range.begin != end || range.end <= range.begin || !names.contains(range.file)) {
      return bad("the optimizer's ranges are not contiguous or name no file");
    }
    end = range.end;
  }
  for (const std::string_view name : {kWeightsName, kConfigName, kMetricsName}) {
    if (!names.contains(std::string(name))) return bad(fmt::format("'{}' is not listed", name));
  }
  return Ok();
}

Status VerifyFile(Io& io, const std::string& path, const ManifestFile& expected) {
  TRAIND_ASSIGN(std::unique_ptr<ReadableFile> file, io.OpenRead(path));
  if (file->size() != expected.bytes) {
    return Damaged(path, fmt::format("has {} bytes; the manifest says {}", file->size(), expected.bytes));
  }
  ChecksumStream checksum;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(kPieceBytes, expected.bytes)));
  for (int64_t offset = 0; offset < expected.bytes;) {
    const auto length = std::min<int64_t>(std::ssize(piece), expected.bytes - offset);
    const auto part = std::span(piece).first(static_cast<size_t>(length));
    TRAIND_TRY(file->ReadAt(offset, part));
    checksum.Update(part);
    offset += length;
  }
  if (checksum.Hex() != expected.checksum) {
    return Damaged(path, "the content does not match the manifest's checksum");
  }
  return Ok();
}

}  // namespace

std::string ManifestToText(const Manifest& manifest) {
  std::string text = DumpJson(ManifestToJson(manifest), 1);
  text.resize(text.rfind("\n}"));  // reopened for one more field
  const std::string checksum = Checksum(text);
  return text.append(kChecksumField).append(checksum).append(kTail);
}

Result<Manifest> ManifestFromText(std::string_view text, const std::string& path) {
  constexpr size_t kEndBytes = kChecksumField.size() + kChecksumDigits + kTail.size();
  if (text.size() < kEndBytes) return Damaged(path, "cut short");
  const std::string_view body = text.substr(0, text.size() - kEndBytes);
  const std::string end = std::string(kChecksumField).append(Checksum(body)).append(kTail);
  if (text.substr(body.size()) != end) return Damaged(path, "the content does not match its own checksum");
  Result<Json> object = ParseJson(text);
  if (!object.ok()) return Damaged(path, object.status().message());
  Result<Manifest> manifest = ManifestFromJson(*object);
  if (!manifest.ok()) return Damaged(path, manifest.status().message());
  const Status sane = CheckManifest(*manifest);
  if (!sane.ok()) return Damaged(path, sane.message());
  return manifest;
}

std::string CheckpointName(int64_t step) {
  return fmt::format("{}{:08}", kNamePrefix, step);
}

std::optional<int64_t> CheckpointStep(std::string_view name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kNamePrefix.size());
  int64_t step = 0;
  const std::errc error = std::from_chars(digits.data(), digits.data() + digits.size(), step).ec;
  // Only the one spelling that CheckpointName makes.
  if (error != std::errc() || step < 0 || CheckpointName(step) != name) return std::nullopt;
  return step;
}

Result<std::vector<CheckpointDirectory>> ListCheckpoints(Io& io, const std::string& directory) {
  TRAIND_ASSIGN(const FileInfo info, io.Stat(directory));
  std::vector<CheckpointDirectory> found;
  if (info.kind == FileKind::kMissing) return found;
  TRAIND_ASSIGN(const std::vector<std::string> names, io.List(directory));
  for (const std::string& name : names) {
    if (const std::optional<int64_t> step = CheckpointStep(name))
      found.push_back({*step, directory + "/" + name});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return found;
}

Result<Manifest> ReadCheckpoint(Io& io, const std::string& path) {
  const std::string manifest_path = path + "/" + std::string(kManifestName);
  Result<std::string> text = ReadWholeFile(io, manifest_path, kMaxManifestBytes);
  if (!text.ok()) return Damaged(manifest_path, text.status().message());
  TRAIND_ASSIGN(Manifest manifest, ManifestFromText(*text, manifest_path));
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (CheckpointStep(name) != manifest.step) {
    return Damaged(path, fmt::format("the manifest is of step {}", manifest.step));
  }
  for (const ManifestFile& file : manifest.files) {
    const std::string file_path = path + "/" + file.name;
    TRAIND_ASSIGN(const FileInfo info, io.Stat(file_path));
    if (info.kind == FileKind::kMissing) return Damaged(file_path, "missing");
    if (info.kind != FileKind::kRegular) return Damaged(file_path, "not a regular file");
    if (info.bytes != file.bytes) {
      return Damaged(file_path, fmt::format("has {} bytes; the manifest says {}", info.bytes, file.bytes));
    }
  }
  return manifest;
}

Status VerifyChecksums(Io& io, const std::string& path, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) TRAIND_TRY(VerifyFile(io, path + "/" + file.name, file));
  return Ok();
}

}  // namespace traind::format
