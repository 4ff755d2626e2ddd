// Data of statements: data sets by name, files by pattern; paths made absolute and looked at.
#include "daemon/bind/data.h"

#include <fmt/format.h>

#include "daemon/bind/path.h"
#include "daemon/bind/values.h"
#include "engine/base/nearest.h"

namespace traind::daemon {
namespace {

struct FileTotals {
  int64_t files = 0;
  int64_t bytes = 0;
  std::string empty_file;  // the first that holds nothing
};

Result<FileTotals> LookAtFiles(const std::string& pattern, Io& io) {
  FileTotals totals;
  TRAIND_ASSIGN(const std::vector<std::string> names, ExpandFiles(pattern));
  for (const std::string& name : names) {
    TRAIND_ASSIGN(const auto file, io.OpenRead(name));
    if (file->size() == 0 && totals.empty_file.empty()) totals.empty_file = name;
    ++totals.files;
    totals.bytes += file->size();
  }
  return totals;
}

// A data set's files may have changed since it was made: they are looked at again.
Result<BoundData> WithFiles(BoundData data, const Context& context) {
  for (const std::string& pattern : data.spec.patterns) {
    TRAIND_ASSIGN(const FileTotals totals, LookAtFiles(pattern, *context.daemon.io));
    if (!totals.empty_file.empty()) {
      return Status(ErrorCode::EMPTY_FILE, fmt::format("{} holds no data", totals.empty_file));
    }
    data.files += totals.files;
    data.bytes += totals.bytes;
  }
  return data;
}

Result<BoundData> FromPattern(const grammar::Value& value, const Context& context) {
  BoundData data;
  data.spec.name = value.text;
  TRAIND_ASSIGN(std::string pattern, PathOf(value.text, context));
  data.spec.patterns.push_back(std::move(pattern));
  return WithFiles(std::move(data), context);
}

Result<BoundData> FromDataset(const DatasetRecord& dataset, const Context& context) {
  BoundData data;
  data.spec = dataset.spec;
  data.tokens = dataset.tokens;
  return WithFiles(std::move(data), context);
}

Status NoSuchDataset(const std::string& name, const Context& context) {
  TRAIND_ASSIGN(const std::vector<std::string> names, DatasetNames(context.reader));
  const std::string nearest = NearestWord(name, std::vector<std::string_view>(names.begin(), names.end()));
  return {ErrorCode::NO_SUCH_DATASET, fmt::format("there is no data set {}", name),
          nearest.empty() ? fmt::format("SHOW DATASETS lists them; a file is written in quotes: '{}'", name)
                          : fmt::format("did you mean {}? SHOW DATASETS lists them", nearest)};
}

Result<BoundData> FindSource(const grammar::Value& value, const Context& context) {
  if (value.kind == grammar::Value::Kind::kQuantity) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("FROM needs a data set or a file, not {}", DescribeValue(value)));
  }
  const bool is_word = value.kind == grammar::Value::Kind::kWord;
  const bool was_parameter = !value.parameter.name.empty();
  if (is_word || was_parameter) {
    TRAIND_ASSIGN(const auto dataset, FindDatasetIfAny(value.text, context));
    if (dataset) return FromDataset(*dataset, context);
    if (is_word) return NoSuchDataset(value.text, context);
  }
  return FromPattern(value, context);
}

}  // namespace

Result<std::vector<std::string>> BindPatterns(const std::vector<grammar::Value>& sources,
                                              const Context& context, int64_t* files, int64_t* bytes) {
  std::vector<std::string> patterns;
  for (const grammar::Value& source : sources) {
    TRAIND_ASSIGN(const std::string text, BindText(source, "FROM"));
    auto pattern = PathOf(text, context);
    if (!pattern.ok()) return pattern.status().At(source.position);
    const auto totals = LookAtFiles(*pattern, *context.daemon.io);
    if (!totals.ok()) return totals.status().At(source.position);
    *files += totals->files;
    *bytes += totals->bytes;
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

Result<BoundData> BindSource(const grammar::Source& source, const Context& context) {
  auto data = FindSource(source.value, context);
  if (!data.ok()) return data.status().At(source.value.position);
  data->position = source.value.position;
  return data;
}

Result<std::optional<DatasetRecord>> FindDatasetIfAny(const std::string& name, const Context& context) {
  const auto checked = context.session.checked_datasets.find(name);
  if (context.check && checked != context.session.checked_datasets.end()) {
    if (!checked->second) return std::optional<DatasetRecord>();
    DatasetRecord dataset;
    dataset.spec = *checked->second;
    return std::optional(std::move(dataset));
  }
  return LookUpDataset(context.reader, name);
}

Result<DatasetRecord> FindDataset(const grammar::Name& name, const Context& context) {
  TRAIND_ASSIGN(auto dataset, FindDatasetIfAny(name.text, context));
  if (dataset) return *std::move(dataset);
  return NoSuchDataset(name.text, context).At(name.position);
}

std::string DataDifference(const DataSpec& existing, const DataSpec& wanted) {
  std::string difference;
  if (existing.patterns != wanted.patterns) {
    difference =
        fmt::format("it is made FROM {}, not {}", DumpJson(existing.patterns), DumpJson(wanted.patterns));
  }
  if (existing.format != wanted.format) {
    difference += fmt::format("{}its format is {}, not {}", difference.empty() ? "" : "; ",
                              DataFormatName(existing.format), DataFormatName(wanted.format));
  }
  return difference;
}

}  // namespace traind::daemon
