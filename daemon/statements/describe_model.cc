// DESCRIBE MODEL: a row per property.
#include <fmt/format.h>

#include "daemon/bind/model.h"
#include "daemon/bind/option_table.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::DescribeModel& statement, const Context& context) {
  TRAIND_ASSIGN(const ModelRecord model, FindModel(statement.name, context));
  if (context.check) return Done(Reply{});
  FieldReply reply;
  reply.Add("name", model.name);
  reply.Add("architecture", std::string(ArchitectureName(model.spec.architecture)));
  const Json spec = ModelToJson(model.spec);
  for (const OptionInfo& option : OptionsOf(OptionList::kModel)) {
    if (!spec.contains(option.name)) continue;  // of another family
    const Json& value = spec.at(std::string(option.name));
    reply.Add(option.name, value.is_string() ? value.get<std::string>() : DumpJson(value));
  }
  reply.Add("parameters", ParameterCount(model.spec));
  reply.Add("versions", model.versions);
  reply.Add("newest_version",
            model.newest_version == 0 ? std::string("none") : std::to_string(model.newest_version));
  return Done(reply.Take());
}

}  // namespace traind::daemon
