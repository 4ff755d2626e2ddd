// options.def and settings.def as rows.
#include "daemon/bind/option_table.h"

#include <algorithm>
#include <iterator>

namespace traind::daemon {
namespace {

constexpr OptionInfo kOptions[] = {
#define O(list, name, type, default_text, low, high, meaning) \
  {OptionList::k##list, #name, OptionType::k##type, default_text, low, high, meaning},
#include "daemon/options.def"
#undef O
};

constexpr OptionInfo kSessionSettings[] = {
#define S(name, type, default_text, low, high, meaning) \
  {OptionList::kTrain, #name, OptionType::k##type, default_text, low, high, meaning},
#include "daemon/settings.def"
#undef S
};

}  // namespace

std::vector<OptionInfo> OptionsOf(OptionList list) {
  std::vector<OptionInfo> options;
  std::ranges::copy_if(kOptions, std::back_inserter(options),
                       [list](const OptionInfo& option) { return option.list == list; });
  return options;
}

std::vector<OptionInfo> AllSettings() {
  std::vector<OptionInfo> settings(std::begin(kSessionSettings), std::end(kSessionSettings));
  std::ranges::copy(OptionsOf(OptionList::kTrain), std::back_inserter(settings));
  std::ranges::sort(settings, {}, &OptionInfo::name);
  return settings;
}

const OptionInfo* FindOption(OptionList list, std::string_view name) {
  const auto* row = std::ranges::find_if(
      kOptions, [&](const OptionInfo& option) { return option.list == list && option.name == name; });
  return row == std::end(kOptions) ? nullptr : row;
}

const OptionInfo* FindSetting(std::string_view name) {
  const auto* row = std::ranges::find(kSessionSettings, name, &OptionInfo::name);
  return row == std::end(kSessionSettings) ? FindOption(OptionList::kTrain, name) : row;
}

std::string_view OptionTypeName(OptionType type) {
  switch (type) {
    case OptionType::kInteger:
      return "a whole number";
    case OptionType::kReal:
      return "a number";
    case OptionType::kDuration:
      return "a duration such as 30m";
    case OptionType::kWord:
      return "a word";
    case OptionType::kText:
      return "a string";
    case OptionType::kBoolean:
      return "true or false";
  }
  return "a value";
}

}  // namespace traind::daemon
