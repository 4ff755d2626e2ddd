// DataSpec: what a data set is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

enum class DataFormat { kText };

std::string_view DataFormatName(DataFormat format);
Result<DataFormat> ParseDataFormat(std::string_view name);  // UNKNOWN_FORMAT

struct DataSpec {
  std::string name;                   // of the data set, or the file's pattern when inline; for messages
  std::vector<std::string> patterns;  // absolute; may hold * ? [ ]
  DataFormat format = DataFormat::kText;

  bool operator==(const DataSpec&) const = default;
};

Json DataToJson(const DataSpec& data);
Result<DataSpec> DataFromJson(const Json& object);

}  // namespace traind
