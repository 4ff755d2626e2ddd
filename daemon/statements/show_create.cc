// SHOW CREATE: the statement that makes a model, data set or job again.
#include "daemon/bind/data.h"
#include "daemon/bind/job.h"
#include "daemon/bind/model.h"
#include "daemon/bind/option_table.h"
#include "daemon/bind/values.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"
#include "engine/base/quantity.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

grammar::Value ValueFromJson(const Json& json) {
  grammar::Value value;
  value.kind = grammar::Value::Kind::kWord;
  if (json.is_boolean()) {
    value.text = json.get<bool>() ? "true" : "false";
  } else if (json.is_number()) {
    value.kind = grammar::Value::Kind::kQuantity;
    value.quantity = NumberQuantity(json.get<double>());  // sizes are below 2^53
  } else {
    value.text = json.get<std::string>();
  }
  return value;
}

std::string CreateModelText(const ModelRecord& model) {
  grammar::CreateModel create;
  create.name.text = model.name;
  create.architecture.emplace().text = ArchitectureName(model.spec.architecture);
  const Json spec = ModelToJson(model.spec);
  for (const OptionInfo& info : OptionsOf(OptionList::kModel)) {
    if (!spec.contains(info.name)) continue;  // of another family
    grammar::Option option;
    option.key.text = info.name;
    option.value = ValueFromJson(spec.at(option.key.text));
    create.options.push_back(std::move(option));
  }
  return grammar::Print(create);
}

std::string CreateDatasetText(const DataSpec& spec) {
  grammar::CreateDataset create;
  create.name.text = spec.name;
  create.format.text = DataFormatName(spec.format);
  if (spec.format == DataFormat::kJsonl) {
    grammar::Value field;
    field.text = spec.text_field;
    create.options.push_back({{"text_field", {}, {}}, std::move(field)});
  }
  for (const std::string& pattern : spec.patterns) {
    grammar::Value source;
    source.text = pattern;
    create.sources.push_back(std::move(source));
  }
  return grammar::Print(create);
}

// As written; with the parameters' values in their places if it had any.
std::string TrainText(const JobRecord& job) {
  const auto parsed = grammar::ParseOne(job.statement);
  return parsed.ok() && parsed->parameters.empty() ? job.statement : job.canonical;
}

Result<std::string> TextOf(const grammar::ShowCreate& statement, const Context& context) {
  switch (statement.what) {
    case grammar::ShowCreate::What::kModel: {
      TRAIND_ASSIGN(const ModelRecord model, FindModel(*statement.name, context));
      return CreateModelText(model);
    }
    case grammar::ShowCreate::What::kDataset: {
      TRAIND_ASSIGN(const DatasetRecord dataset, FindDataset(*statement.name, context));
      return CreateDatasetText(dataset.spec);
    }
    case grammar::ShowCreate::What::kJob:
      break;
  }
  TRAIND_ASSIGN(const int64_t id, FindJob(*statement.job, context));
  if (id == kCheckedJob) return std::string();
  TRAIND_ASSIGN(const JobRecord job, LoadJob(context.reader, id));
  return TrainText(job);
}

}  // namespace

Result<Outcome> Run(const grammar::ShowCreate& statement, const Context& context) {
  TRAIND_ASSIGN(std::string text, TextOf(statement, context));
  Reply reply;
  if (context.check) return Done(std::move(reply));
  reply.columns = {{"statement", "text"}};
  reply.rows = {{std::move(text)}};
  return Done(std::move(reply));
}

}  // namespace traind::daemon
