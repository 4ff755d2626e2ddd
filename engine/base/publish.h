// publish(): the one way in which traind makes a file or directory visible under its final name.
//
// Order: write to a temporary name beside it, fsync the file(s), rename, fsync the directory. A crash at any
// point leaves either nothing or all of it under the final name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind {

// Publishes `content` as the file `path`, replacing what is there.
Status PublishFile(Io& io, const std::string& path, std::string_view content);

// Renames the complete, synced and closed file `temporary` to `path`, replacing what is there, and syncs the
// directory. On failure `temporary` is removed.
Status PublishWrittenFile(Io& io, const std::string& temporary, const std::string& path);

// The temporary name under which a directory is filled before PublishDirectory:
// "<parent>/.tmp-<leaf>-<unique>". What a crashed run left under such names may be removed with
// RemoveTemporaries.
std::string TemporaryName(const std::string& path, std::string_view unique);

// Renames the filled `temporary` (each of its files already synced) to `path`, which must not exist, and
// syncs both directories.
Status PublishDirectory(Io& io, const std::string& temporary, const std::string& path);

// Removes every ".tmp-*" entry of `directory`.
Status RemoveTemporaries(Io& io, const std::string& directory);

// Removes those whose `unique` was "<owner>-<number>": what the process `owner`, which has ended, left in a
// directory that others use too.
Status RemoveTemporariesOf(Io& io, const std::string& directory, int64_t owner);

}  // namespace traind
