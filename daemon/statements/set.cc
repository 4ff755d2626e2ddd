// SET: a setting of the session.
#include "daemon/statements/set.h"

#include <fmt/format.h>

#include "daemon/bind/options.h"
#include "daemon/statements/statements.h"
#include "engine/base/nearest.h"
#include "engine/spec/training.h"

namespace traind::daemon {
namespace {

// Words that only the specification knows.
Status CheckWord(const BoundOption& option) {
  if (option.info->name == "precision") return ParsePrecision(option.text).status();
  if (option.info->name == "lr_scheduler_type") return ParseScheduler(option.text).status();
  return {};
}

}  // namespace

Result<const OptionInfo*> FindSettingNamed(const grammar::Name& name) {
  if (const OptionInfo* info = FindSetting(name.text)) return info;
  std::vector<std::string_view> known;
  for (const OptionInfo& info : AllSettings()) known.push_back(info.name);
  const std::string nearest = NearestWord(name.text, std::span<const std::string_view>(known));
  return Status(ErrorCode::NO_SUCH_SETTING, fmt::format("there is no setting {}", name.text),
                nearest.empty() ? "SHOW SETTINGS lists them"
                                : fmt::format("did you mean {}? SHOW SETTINGS lists them", nearest))
      .At(name.position);
}

Result<Outcome> Run(const grammar::Set& statement, const Context& context) {
  TRAIND_ASSIGN(const OptionInfo* info, FindSettingNamed(statement.name));
  TRAIND_ASSIGN(const BoundOption option, BindOption(*info, &statement.value, statement.name.position));
  Status word = CheckWord(option);
  if (!word.ok()) return std::move(word).At(statement.value.position);
  Reply reply;
  reply.session = context.session;
  reply.session->settings[std::string(info->name)] = option.text;
  return Done(std::move(reply));
}

}  // namespace traind::daemon
