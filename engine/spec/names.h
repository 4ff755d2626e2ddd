// Names of enumerators, from one table each: printing, reading, and the message for an unknown one.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/nearest.h"
#include "engine/base/status.h"

namespace traind::spec {

template <typename T>
struct Named {
  T value;
  std::string_view name;
};

template <typename T, size_t N>
std::string_view NameOf(const Named<T> (&table)[N], T value) {
  const auto* row = std::ranges::find(table, value, &Named<T>::value);
  return row == std::end(table) ? std::string_view("unknown") : row->name;
}

// The value of `name`; else `code` with "unknown <what> '<name>'", the nearest name and the known ones.
template <typename T, size_t N>
Result<T> ValueOf(const Named<T> (&table)[N], std::string_view name, ErrorCode code, std::string_view what) {
  const auto* row = std::ranges::find(table, name, &Named<T>::name);
  if (row != std::end(table)) return row->value;
  std::vector<std::string_view> known;
  std::string list;
  for (const Named<T>& each : table) {
    known.push_back(each.name);
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  const std::string nearest = NearestWord(name, std::span<const std::string_view>(known));
  return Status(code,
                "unknown " + std::string(what) + " '" + std::string(name) + "'" +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"),
                "Known: " + list + ".");
}

// INVALID_OPTION that names its option in detail_json, so that the caller can point at it.
Status InvalidOption(std::string_view option, const std::string& message, const std::string& hint = {});

}  // namespace traind::spec
