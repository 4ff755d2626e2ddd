// Data of statements: data sets by name, files by pattern; paths made absolute and looked at.
#include "daemon/bind/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/bind/path.h"
#include "daemon/bind/values.h"
#include "engine/base/nearest.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

struct FileTotals {
  int64_t files = 0;
  int64_t bytes = 0;
  std::string empty_file;  // the first that holds nothing
};

constexpr std::string_view kIndexEnding = ".idx";
constexpr std::string_view kTokensEnding = ".bin";
constexpr double kMaxWeight = 1e15;

Status LookAtFile(const std::string& name, Io& io, FileTotals* totals) {
  TRAIND_ASSIGN(const auto file, io.OpenRead(name));
  if (file->size() == 0 && totals->empty_file.empty()) totals->empty_file = name;
  ++totals->files;
  totals->bytes += file->size();
  return {};
}

Result<FileTotals> LookAtFiles(const std::string& pattern, DataFormat format, Io& io) {
  FileTotals totals;
  TRAIND_ASSIGN(const std::vector<std::string> names, ExpandFiles(pattern));
  for (const std::string& name : names) {
    TRAIND_TRY(LookAtFile(name, io, &totals));
    if (format != DataFormat::kMegatron) continue;
    std::string tokens = name;
    if (name.ends_with(kIndexEnding))
      tokens.replace(name.size() - kIndexEnding.size(), std::string::npos, kTokensEnding);
    TRAIND_TRY(LookAtFile(tokens, io, &totals));
  }
  return totals;
}

// Megatron data is named by its index, its tokens, or the prefix of both.
std::string IndexPattern(std::string pattern) {
  if (pattern.ends_with(kTokensEnding)) pattern.resize(pattern.size() - kTokensEnding.size());
  return pattern.ends_with(kIndexEnding) ? pattern : pattern.append(kIndexEnding);
}

Result<std::string> PatternOf(const std::string& text, DataFormat format, const Context& context) {
  return PathOf(format == DataFormat::kMegatron && !text.empty() ? IndexPattern(text) : text, context);
}

// A data set's files may have changed since it was made: they are looked at again.
Result<BoundData> WithFiles(BoundData data, const Context& context) {
  for (const std::string& pattern : data.spec.patterns) {
    TRAIND_ASSIGN(const FileTotals totals, LookAtFiles(pattern, data.spec.format, *context.daemon.io));
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
  data.spec.format = FormatOfName(value.text);
  TRAIND_ASSIGN(std::string pattern, PatternOf(value.text, data.spec.format, context));
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

Result<std::vector<std::string>> BindPatterns(const std::vector<grammar::Value>& sources, DataFormat format,
                                              const Context& context, int64_t* files, int64_t* bytes) {
  std::vector<std::string> patterns;
  for (const grammar::Value& source : sources) {
    TRAIND_ASSIGN(const std::string text, BindText(source, "FROM"));
    auto pattern = PatternOf(text, format, context);
    if (!pattern.ok()) return pattern.status().At(source.position);
    const auto totals = LookAtFiles(*pattern, format, *context.daemon.io);
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

Result<BoundMixture> BindSources(const std::vector<grammar::Source>& sources, const Context& context) {
  BoundMixture mixture;
  TRAIND_ASSIGN(mixture.weights, BindWeights(sources));
  for (const grammar::Source& source : sources) {
    TRAIND_ASSIGN(BoundData data, BindSource(source, context));
    mixture.sources.push_back(std::move(data));
  }
  return mixture;
}

Result<std::vector<double>> BindWeights(const std::vector<grammar::Source>& sources) {
  std::vector<double> weights;
  for (const grammar::Source& source : sources) {
    if (source.weight.has_value() != sources.front().weight.has_value()) {
      return Status(ErrorCode::INVALID_OPTION, "some sources have a WEIGHT and others none",
                    "give each its WEIGHT, or none: they are mixed by their sizes then")
          .At(source.weight ? source.weight_position : source.value.position);
    }
    if (!source.weight) continue;
    TRAIND_ASSIGN(const Quantity weight, BindQuantity(*source.weight, Dimension::kNumber, "WEIGHT"));
    if (!(weight.value > 0 && weight.value <= kMaxWeight)) {
      return Status(ErrorCode::INVALID_OPTION,
                    fmt::format("WEIGHT is {}; it must be above 0 and at most {}", PrintQuantity(weight),
                                kMaxWeight),
                    "a source's share is its weight out of the sum of all")
          .At(source.weight->position);
    }
    weights.push_back(weight.value);
  }
  return weights;
}

MixtureSpec BoundMixture::spec() const {
  MixtureSpec mixture;
  for (size_t i = 0; i < sources.size(); ++i) {
    MixturePart part{sources[i].spec, {}};
    if (!weights.empty()) part.weight = weights[i];
    mixture.parts.push_back(std::move(part));
  }
  return mixture;
}

bool BoundMixture::TokensAreKnown() const {
  return std::ranges::all_of(sources, [](const BoundData& source) { return source.tokens.has_value(); });
}

int64_t BoundMixture::MostTokens() const {
  int64_t tokens = 0;
  for (const BoundData& source : sources) tokens += source.MostTokens();
  return tokens;
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
  } else if (existing.text_field != wanted.text_field) {
    difference += fmt::format("{}its text_field is {}, not {}", difference.empty() ? "" : "; ",
                              existing.text_field, wanted.text_field);
  }
  return difference;
}

}  // namespace traind::daemon
