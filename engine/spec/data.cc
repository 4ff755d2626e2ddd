// DataSpec as JSON.
#include "engine/spec/data.h"

#include "engine/spec/names.h"

namespace traind {
namespace {

constexpr spec::Named<DataFormat> kFormats[] = {{DataFormat::kText, "text"}};

}  // namespace

std::string_view DataFormatName(DataFormat format) {
  return spec::NameOf(kFormats, format);
}

Result<DataFormat> ParseDataFormat(std::string_view name) {
  return spec::ValueOf(kFormats, name, ErrorCode::UNKNOWN_FORMAT, "data format");
}

Json DataToJson(const DataSpec& data) {
  return {{"name", data.name}, {"patterns", data.patterns}, {"format", DataFormatName(data.format)}};
}

Result<DataSpec> DataFromJson(const Json& object) {
  DataSpec data;
  TRAIND_ASSIGN(data.name, GetString(object, "name"));
  TRAIND_ASSIGN(const std::string format, GetString(object, "format"));
  TRAIND_ASSIGN(data.format, ParseDataFormat(format));
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

}  // namespace traind
