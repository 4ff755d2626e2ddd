// DataSpec and MixtureSpec as JSON.
#include "engine/spec/data.h"

#include <cmath>

#include "engine/spec/names.h"

namespace traind {
namespace {

constexpr spec::Named<DataFormat> kFormats[] = {{DataFormat::kText, "text"},
                                                {DataFormat::kJsonl, "jsonl"},
                                                {DataFormat::kLlmc, "llmc"},
                                                {DataFormat::kMegatron, "megatron"}};

// What a file's name says when nobody else does.
struct Extension {
  std::string_view ending;
  DataFormat format;
};
constexpr Extension kExtensions[] = {
    {".jsonl", DataFormat::kJsonl}, {".bin", DataFormat::kLlmc}, {".idx", DataFormat::kMegatron}};

Result<MixturePart> PartFromJson(const Json& object) {
  MixturePart part;
  TRAIND_ASSIGN(part.data, DataFromJson(object));
  if (object.contains("weight")) {
    TRAIND_ASSIGN(const double weight, GetDouble(object, "weight"));
    if (!std::isfinite(weight) || weight <= 0) {
      return Status(ErrorCode::MALFORMED_FRAME, "the field 'weight' must be above 0");
    }
    part.weight = weight;
  }
  return part;
}

}  // namespace

std::string_view DataFormatName(DataFormat format) {
  return spec::NameOf(kFormats, format);
}

Result<DataFormat> ParseDataFormat(std::string_view name) {
  return spec::ValueOf(kFormats, name, ErrorCode::UNKNOWN_FORMAT, "data format");
}

DataFormat FormatOfName(std::string_view pattern) {
  for (const Extension& extension : kExtensions) {
    if (pattern.ends_with(extension.ending)) return extension.format;
  }
  return DataFormat::kText;
}

bool IsTokenized(DataFormat format) {
  return format == DataFormat::kLlmc || format == DataFormat::kMegatron;
}

Json DataToJson(const DataSpec& data) {
  Json object = {{"name", data.name}, {"patterns", data.patterns}, {"format", DataFormatName(data.format)}};
  if (data.format == DataFormat::kJsonl) object["text_field"] = data.text_field;
  return object;
}

Result<DataSpec> DataFromJson(const Json& object) {
  DataSpec data;
  TRAIND_ASSIGN(data.name, GetString(object, "name"));
  TRAIND_ASSIGN(const std::string format, GetString(object, "format"));
  TRAIND_ASSIGN(data.format, ParseDataFormat(format));
  TRAIND_ASSIGN(data.text_field, GetStringOr(object, "text_field", std::string(kTextField)));
  const auto patterns = object.find("patterns");
  if (patterns == object.end() || !patterns->is_array() || patterns->empty()) {
    return Status(ErrorCode::MALFORMED_FRAME, "the field 'patterns' must be a list of one or more paths");
  }
  for (const Json& pattern : *patterns) {
    if (!pattern.is_string()) {
      return Status(ErrorCode::MALFORMED_FRAME, "an item of 'patterns' must be a string");
    }
    data.patterns.push_back(pattern.get<std::string>());
  }
  return data;
}

std::string DataOptions(const DataSpec& data) {
  return data.format == DataFormat::kJsonl ? "text_field=" + data.text_field : std::string();
}

int64_t MostTokens(DataFormat format, int64_t files, int64_t bytes) {
  switch (format) {
    case DataFormat::kText:  // every byte a token, and one more to end each document
      return bytes + files;
    case DataFormat::kJsonl:     // a line is longer than its text
    case DataFormat::kMegatron:  // uint8 is the shortest
      return bytes;
    case DataFormat::kLlmc:
      return bytes / 2;
  }
  return bytes;
}

std::string MixtureSpec::Name() const {
  std::string name;
  for (const MixturePart& part : parts) name += (name.empty() ? "" : ", ") + part.data.name;
  return name;
}

Json MixtureToJson(const MixtureSpec& mixture) {
  if (mixture.parts.size() == 1 && !mixture.weighted()) return DataToJson(mixture.parts.front().data);
  Json parts = Json::array();
  for (const MixturePart& part : mixture.parts) {
    parts.push_back(DataToJson(part.data));
    if (part.weight) parts.back()["weight"] = *part.weight;
  }
  return {{"sources", std::move(parts)}};
}

Result<MixtureSpec> MixtureFromJson(const Json& object) {
  MixtureSpec mixture;
  if (!object.is_object() || !object.contains("sources")) {
    TRAIND_ASSIGN(MixturePart part, PartFromJson(object));
    mixture.parts.push_back(std::move(part));
    return mixture;
  }
  const Json& sources = object["sources"];
  if (!sources.is_array() || sources.empty()) {
    return Status(ErrorCode::MALFORMED_FRAME, "the field 'sources' must be a list of one or more sources");
  }
  for (const Json& source : sources) {
    TRAIND_ASSIGN(MixturePart part, PartFromJson(source));
    if (!mixture.parts.empty() && part.weight.has_value() != mixture.weighted()) {
      return Status(ErrorCode::MALFORMED_FRAME, "either all sources have a 'weight' or none has");
    }
    mixture.parts.push_back(std::move(part));
  }
  return mixture;
}

}  // namespace traind
