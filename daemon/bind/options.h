// (key = value, …) lists against their table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "daemon/bind/option_table.h"
#include "engine/base/status.h"
#include "grammar/ast.h"

namespace traind::daemon {

// One option's value, of the type its row says.
struct BoundOption {
  const OptionInfo* info = nullptr;
  int64_t integer = 0;  // Integer; Boolean as 0 or 1
  double real = 0;      // Integer, Real, Duration (seconds)
  std::string text;     // canonical, of every type: "0.003", "10m", "cosine", "true"
  SourcePosition key;   // where its name stands; unknown for a default or a session's
  SourcePosition value;
};

class BoundOptions {
 public:
  void Add(BoundOption option) { options_[std::string(option.info->name)] = std::move(option); }
  // nullptr if it was not given.
  const BoundOption* Find(std::string_view name) const;
  const std::map<std::string, BoundOption, std::less<>>& all() const { return options_; }
  // Where the option's key stands, else `otherwise`.
  SourcePosition KeyPosition(std::string_view name, SourcePosition otherwise) const;

 private:
  std::map<std::string, BoundOption, std::less<>> options_;
};

// The value as the row's type. INVALID_OPTION (at `key`, for a wrong kind of value or one out of range) or
// WRONG_UNIT (at the value). No value means true.
Result<BoundOption> BindOption(const OptionInfo& info, const grammar::Value* value, SourcePosition key);

// The list. UNKNOWN_OPTION with the nearest known key, DUPLICATE_OPTION naming the first place, both at the
// key; and what BindOption says.
Result<BoundOptions> BindOptions(OptionList list, const grammar::Options& options);

// A Status of spec's checks, which names its option in detail_json ({"option": name}), at that option's key;
// at `otherwise` if it was not given.
Status AtOption(Status status, const BoundOptions& options, SourcePosition otherwise);
// The option that such a Status names; empty if none.
std::string OptionOf(const Status& status);

}  // namespace traind::daemon
