// The log: spdlog behind two functions. One line per entry: time, level, process, message.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace traind {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Sends entries at or above `level` to `path` (rotated at max_bytes, one older file kept), or to stderr if it
// is empty. `process` names the program in each line ("traind", "worker 7.1"). Before it is called, entries
// go to stderr.
Status OpenLog(std::string_view process, const std::string& path, LogLevel level, int64_t max_bytes);

// Never blocks on a pipe, never throws.
void LogLine(LogLevel level, std::string_view message);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  LogLine(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace traind
