// DESCRIBE DATASET: a row per property, with what its patterns match now.
#include <fmt/format.h>

#include "daemon/bind/data.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

std::string Known(const std::optional<int64_t>& count) {
  return count ? std::to_string(*count) : std::string("known once a job has prepared the data");
}

}  // namespace

Result<Outcome> Run(const grammar::DescribeDataset& statement, const Context& context) {
  TRAIND_ASSIGN(const DatasetRecord dataset, FindDataset(statement.name, context));
  if (context.check) return Done(Reply{});
  FieldReply reply;
  reply.Add("name", dataset.spec.name);
  reply.Add("format", std::string(DataFormatName(dataset.spec.format)));
  if (dataset.spec.format == DataFormat::kJsonl) reply.Add("text_field", dataset.spec.text_field);
  for (const std::string& pattern : dataset.spec.patterns) {
    reply.Add("pattern", pattern);
    const auto files = ExpandFiles(pattern);
    reply.Add("files now", files.ok() ? std::to_string(files->size()) : files.status().message());
  }
  reply.Add("files", Known(dataset.files));
  reply.Add("bytes", Known(dataset.bytes));
  reply.Add("documents", Known(dataset.documents));
  reply.Add("tokens", Known(dataset.tokens));
  reply.Add("largest token", Known(dataset.largest_token));
  return Done(reply.Take());
}

}  // namespace traind::daemon
