// EXPLAIN TRAIN: the plan, without running it.
#include <fmt/format.h>

#include <numeric>

#include "daemon/bind/options.h"
#include "daemon/bind/train.h"
#include "daemon/statements/common.h"
#include "daemon/statements/explain_rows.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

struct ExplainOptions {
  bool json = false;
  bool verbose = false;
};

Result<ExplainOptions> BindExplain(const grammar::Options& options) {
  TRAIND_ASSIGN(const BoundOptions bound, BindOptions(OptionList::kExplain, options));
  ExplainOptions explain;
  if (const BoundOption* format = bound.Find("format")) {
    if (format->text != "json" && format->text != "text") {
      return Status(ErrorCode::INVALID_OPTION, fmt::format("format is text or json, not {}", format->text))
          .At(format->key);
    }
    explain.json = format->text == "json";
  }
  if (const BoundOption* verbose = bound.Find("verbose")) explain.verbose = verbose->integer != 0;
  return explain;
}

// Where the plan could be made: the ON clause as the condition that it is.
std::string DeviceQuery(const BoundTrain& train) {
  std::string sql =
      "SELECT node, idx, type, memory_bytes, free_bytes + reserved_bytes AS free_bytes FROM sys_gpus";
  if (!train.hardware.wanted.is_array()) return sql;
  std::string condition;
  for (const DeviceSpec& device : train.hardware.devices) {
    condition += fmt::format("{}(node = '{}' AND idx = {})", condition.empty() ? " WHERE " : " OR ",
                             device.node, device.index);
  }
  return sql + condition;
}

std::vector<std::string> Queries(const BoundTrain& train) {
  std::vector<std::string> queries = {
      fmt::format("SELECT max(version) FROM sys_versions WHERE model = '{}'", train.model.name),
      DeviceQuery(train)};
  return queries;
}

bool IsApproximate(const BoundTrain& train) {
  return train.training.spec.target.epochs.has_value() && !train.tokens_exact;
}

std::string DataText(const BoundData& data) {
  const std::string tokens =
      data.tokens ? fmt::format("{} tokens", *data.tokens) : fmt::format("~{} tokens", data.MostOfFiles());
  return fmt::format("{} ({} file{}, {}, {})", data.spec.name, data.files, data.files == 1 ? "" : "s",
                     FormatBytes(static_cast<double>(data.bytes)), tokens);
}

// A row for each source, with its share where it has a weight.
void AddData(std::string_view item, const BoundMixture& data, ExplainRows* rows) {
  const double sum = std::accumulate(data.weights.begin(), data.weights.end(), 0.0);
  for (size_t i = 0; i < data.sources.size(); ++i) {
    std::string text = DataText(data.sources[i]);
    if (!data.weights.empty()) text += fmt::format(", weight {:.4g} %", data.weights[i] / sum * 100);
    rows->Add("data", item, text);
  }
}

std::string StartText(const BoundTrain& train) {
  if (!train.resume_checkpoint.empty())
    return fmt::format("{} (step {})", train.resume_checkpoint, train.start_step);
  return train.from_version == 0 ? std::string("scratch")
                                 : fmt::format("{}@{}", train.model.name, train.from_version);
}

Reply AsRows(const BoundTrain& train, bool verbose, double now) {
  ExplainRows rows;
  rows.Add("model", "from", StartText(train));
  rows.Add("model", "to", fmt::format("{}@{}", train.target_name, train.to_version()));
  rows.Add("model", "parameters", FormatCount(static_cast<double>(ParameterCount(train.model.spec))));
  AddData("train", train.data, &rows);
  if (train.validation) AddData("validate", *train.validation, &rows);
  rows.Add("plan", "precision", std::string(PrecisionName(train.training.spec.precision)));
  rows.AddPlan(train.choice.plan);
  rows.AddRun(train.choice.plan, IsApproximate(train), now);
  rows.AddBudget(train.choice.budget);
  rows.AddRejected(train.choice.rejected);
  rows.AddSettings(train.training.settings);
  if (verbose) {
    for (const std::string& query : Queries(train)) rows.Add("query", "sql", query);
  }
  return rows.Take();
}

Json SourceJson(const BoundData& data) {
  Json object = DataToJson(data.spec);
  object["files"] = data.files;
  object["bytes"] = data.bytes;
  object["tokens"] = data.tokens ? Json(*data.tokens) : Json();
  return object;
}

// One source as itself, several as a list.
Json DataJson(const BoundMixture& data) {
  Json sources = Json::array();
  for (size_t i = 0; i < data.sources.size(); ++i) {
    sources.push_back(SourceJson(data.sources[i]));
    if (!data.weights.empty()) sources.back()["weight"] = data.weights[i];
  }
  return sources.size() == 1 ? sources.front() : Json{{"sources", std::move(sources)}};
}

Reply AsJson(const BoundTrain& train, bool verbose) {
  Json object = {{"model", train.model.name},
                 {"target_model", train.target_name},
                 {"from_version", train.from_version},
                 {"to_version", train.to_version()},
                 {"start_step", train.start_step},
                 {"parameters", ParameterCount(train.model.spec)},
                 {"data", DataJson(train.data)},
                 {"validation", train.validation ? DataJson(*train.validation) : Json()},
                 {"plan", plan::PlanToJson(train.choice.plan)},
                 {"approximate", IsApproximate(train)},
                 {"rejected", RejectedToJson(train.choice.rejected)},
                 {"budget", HeadroomToJson(train.choice.budget)},
                 {"settings", SettingsToJson(train.training.settings)},
                 {"warnings", train.choice.warnings}};
  if (verbose) object["queries"] = Queries(train);
  Reply reply;
  reply.columns = {{"plan", "json"}};
  reply.rows = {{DumpJson(object)}};
  return reply;
}

}  // namespace

Result<Outcome> Run(const grammar::Explain& statement, const Context& context) {
  TRAIND_ASSIGN(const ExplainOptions options, BindExplain(statement.options));
  TRAIND_ASSIGN(BoundTrain train, BindTrain(statement.train, context));
  TRAIND_TRY(PlanTrain(statement.train, context, &train));
  if (context.check) return Done(Reply{});
  Reply reply = options.json ? AsJson(train, options.verbose) : AsRows(train, options.verbose, Now(context));
  reply.notices = train.choice.warnings;
  if (train.target) {
    const Status busy = CheckNotBusy(context.reader, train.target->id, train.target_name, false);
    if (!busy.ok()) reply.notices.push_back(busy.message());
  }
  return Done(std::move(reply));
}

}  // namespace traind::daemon
