// options.def and settings.def as rows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace traind::daemon {

enum class OptionList {
  kModel,
  kDataset,
  kTrain,
  kEvaluate,
  kGenerate,
  kExplain,
  kCreateTokenizer,
  kTrainTokenizer
};
enum class OptionType { kInteger, kReal, kDuration, kWord, kText, kBoolean };

struct OptionInfo {
  OptionList list = OptionList::kModel;
  std::string_view name;
  OptionType type = OptionType::kText;
  std::string_view default_text;
  double low = 0;
  double high = 0;
  std::string_view meaning;
};

// The options of one list, in the table's order.
std::vector<OptionInfo> OptionsOf(OptionList list);
// The session's own settings, then TRAIN's options; sorted by name.
std::vector<OptionInfo> AllSettings();
// nullptr if there is none; lives for ever.
const OptionInfo* FindOption(OptionList list, std::string_view name);
const OptionInfo* FindSetting(std::string_view name);

std::string_view OptionTypeName(OptionType type);  // "a whole number", "true or false" …

}  // namespace traind::daemon
