// (key = value, …) lists against their table.
#include "daemon/bind/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "daemon/bind/values.h"
#include "engine/base/json.h"
#include "engine/base/nearest.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

using grammar::Value;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

Dimension DimensionOf(OptionType type) {
  return type == OptionType::kDuration ? Dimension::kSeconds : Dimension::kNumber;
}

Status OutOfRange(const OptionInfo& info, std::string_view given) {
  return {ErrorCode::INVALID_OPTION, fmt::format("{} is {}; it must be from {} to {}", info.name, given,
                                                 fmt::format("{}", info.low), fmt::format("{}", info.high))};
}

Status BindNumber(const OptionInfo& info, const Value& value, BoundOption* bound) {
  TRAIND_ASSIGN(const Quantity quantity, BindQuantity(value, DimensionOf(info.type), info.name));
  if (info.type == OptionType::kInteger && !quantity.integral) {
    return {ErrorCode::INVALID_OPTION,
            fmt::format("{} needs a whole number, not {}", info.name, PrintQuantity(quantity))};
  }
  bound->integer = quantity.integral ? quantity.integer : 0;
  bound->real = quantity.value;
  if (!(bound->real >= info.low && bound->real <= info.high))
    return OutOfRange(info, PrintQuantity(quantity));
  switch (info.type) {
    case OptionType::kInteger:
      bound->text = std::to_string(bound->integer);
      break;
    case OptionType::kDuration:
      bound->text = PrintQuantity(quantity);
      break;
    default:
      bound->text = fmt::format("{}", bound->real);
  }
  return {};
}

std::optional<bool> ReadBoolean(const Value* value) {
  if (value == nullptr) return true;
  if (value->kind == Value::Kind::kQuantity) {
    if (value->quantity.dimension != Dimension::kNumber || !value->quantity.integral) return std::nullopt;
    if (value->quantity.integer == 0 || value->quantity.integer == 1) return value->quantity.integer == 1;
    return std::nullopt;
  }
  const std::string word = Lower(value->text);
  if (word == "true" || word == "on" || word == "yes") return true;
  if (word == "false" || word == "off" || word == "no") return false;
  return std::nullopt;
}

Status BindAny(const OptionInfo& info, const Value* value, BoundOption* bound) {
  if (info.type == OptionType::kBoolean) {
    const std::optional<bool> answer = ReadBoolean(value);
    if (!answer) {
      return {ErrorCode::INVALID_OPTION,
              fmt::format("{} needs true or false, not {}", info.name, DescribeValue(*value))};
    }
    bound->integer = *answer ? 1 : 0;
    bound->text = *answer ? "true" : "false";
    return {};
  }
  if (value == nullptr) {
    return {ErrorCode::INVALID_OPTION,
            fmt::format("{} needs {}: {} = …", info.name, OptionTypeName(info.type), info.name)};
  }
  if (info.type != OptionType::kWord && info.type != OptionType::kText)
    return BindNumber(info, *value, bound);
  TRAIND_ASSIGN(bound->text, BindText(*value, info.name));
  return {};
}

Status UnknownOption(OptionList list, const grammar::Name& key) {
  std::vector<std::string_view> known;
  std::string names;
  for (const OptionInfo& info : OptionsOf(list)) {
    known.push_back(info.name);
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  if (known.empty()) {
    return Status(ErrorCode::UNKNOWN_OPTION,
                  fmt::format("there is no option {}; none is known here", key.text))
        .At(key.position);
  }
  const std::string nearest = NearestWord(key.text, std::span<const std::string_view>(known));
  return Status(
             ErrorCode::UNKNOWN_OPTION, fmt::format("there is no option {}", key.text),
             nearest.empty() ? "known: " + names : fmt::format("did you mean {}? Known: {}", nearest, names))
      .At(key.position);
}

}  // namespace

const BoundOption* BoundOptions::Find(std::string_view name) const {
  const auto found = options_.find(name);
  return found == options_.end() ? nullptr : &found->second;
}

SourcePosition BoundOptions::KeyPosition(std::string_view name, SourcePosition otherwise) const {
  const BoundOption* option = Find(name);
  return option != nullptr && option->key.known() ? option->key : otherwise;
}

Result<BoundOption> BindOption(const OptionInfo& info, const Value* value, SourcePosition key) {
  BoundOption bound;
  bound.info = &info;
  bound.key = key;
  if (value != nullptr) bound.value = value->position;
  Status status = BindAny(info, value, &bound);
  if (status.ok()) return bound;
  if (status.code() == ErrorCode::INVALID_OPTION && key.known()) status.set_position(key);
  return status;
}

Result<BoundOptions> BindOptions(OptionList list, const grammar::Options& options) {
  BoundOptions bound;
  for (const grammar::Option& option : options) {
    const OptionInfo* info = FindOption(list, option.key.text);
    if (info == nullptr) return UnknownOption(list, option.key);
    if (const BoundOption* first = bound.Find(info->name)) {
      return Status(ErrorCode::DUPLICATE_OPTION, fmt::format("{} is given twice, first at line {}, column {}",
                                                             info->name, first->key.line, first->key.column))
          .At(option.key.position);
    }
    TRAIND_ASSIGN(BoundOption one,
                  BindOption(*info, option.value ? &*option.value : nullptr, option.key.position));
    bound.Add(std::move(one));
  }
  return bound;
}

std::string OptionOf(const Status& status) {
  if (status.detail_json().empty()) return {};
  const auto detail = ParseJson(status.detail_json());
  if (!detail.ok() || !detail->is_object()) return {};
  const auto name = GetStringOr(*detail, "option", "");
  return name.ok() ? *name : std::string();
}

Status AtOption(Status status, const BoundOptions& options, SourcePosition otherwise) {
  if (!status.ok()) status.set_position(options.KeyPosition(OptionOf(status), otherwise));
  return status;
}

}  // namespace traind::daemon
