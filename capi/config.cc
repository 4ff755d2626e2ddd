// The options are one table: key, expected form, how the value is taken.
#include "capi/config.h"

#include <fmt/format.h>

#include <functional>
#include <vector>

#include "engine/base/nearest.h"
#include "engine/base/quantity.h"

namespace traind::capi {
namespace {

constexpr std::string_view kSwitch = "on or off";
constexpr std::string_view kDuration = "a duration such as 30s";
constexpr double kMaxTimeoutSeconds = 86400;

bool TakeSwitch(std::string_view value, bool* target) {
  if (value != "on" && value != "off") return false;
  *target = value == "on";
  return true;
}

bool TakeText(std::string_view value, std::string* target) {
  *target = value;
  return !value.empty();
}

bool TakeDirectory(std::string_view value, std::string* target) {
  *target = value;
  return value.starts_with('/');
}

bool TakeDuration(std::string_view value, double* target) {
  Result<Quantity> quantity = ParseQuantity(value);
  if (!quantity.ok() || quantity->dimension != Dimension::kSeconds) return false;
  *target = quantity->value;
  return *target >= 0 && *target <= kMaxTimeoutSeconds;
}

struct Option {
  std::string_view key;
  std::string_view form;
  std::function<bool(std::string_view, Config*)> take;
};

const std::vector<Option>& Options() {
  using View = std::string_view;
  static const std::vector<Option> options = {
      {"client", "a name", [](View value, Config* c) { return TakeText(value, &c->client); }},
      {"directory", "an absolute path",
       [](View value, Config* c) { return TakeDirectory(value, &c->directory); }},
      {"autostart", kSwitch, [](View value, Config* c) { return TakeSwitch(value, &c->autostart); }},
      {"traind", "the path of the program",
       [](View value, Config* c) { return TakeText(value, &c->traind); }},
      {"open_timeout", kDuration,
       [](View value, Config* c) { return TakeDuration(value, &c->open_timeout_seconds); }},
      {"progress", kSwitch, [](View value, Config* c) { return TakeSwitch(value, &c->progress); }},
      {"stop_on_paused", kSwitch,
       [](View value, Config* c) { return TakeSwitch(value, &c->stop_on_paused); }},
      {"check", kSwitch, [](View value, Config* c) { return TakeSwitch(value, &c->check); }},
  };
  return options;
}

}  // namespace

Status SetOption(std::string_view key, std::string_view value, Config* config) {
  std::vector<std::string> known;
  for (const Option& option : Options()) {
    known.emplace_back(option.key);
    if (option.key != key) continue;
    Config changed = *config;
    if (!option.take(value, &changed)) {
      return Status(ErrorCode::INVALID_OPTION,
                    fmt::format("'{}' is no value of {}: expected {}", value, key, option.form));
    }
    *config = std::move(changed);
    return Ok();
  }
  std::string nearest = NearestWord(key, known);
  return Status(ErrorCode::UNKNOWN_OPTION, fmt::format("a connection has no option '{}'", key),
                nearest.empty() ? fmt::format("the options are {}", fmt::join(known, ", "))
                                : fmt::format("did you mean {}?", nearest));
}

}  // namespace traind::capi
