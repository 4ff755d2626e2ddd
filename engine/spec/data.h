// DataSpec: what a data set is made of; MixtureSpec: the sources of a run and their shares.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {

enum class DataFormat {
  kText,      // a file is a document
  kJsonl,     // a line is a JSON object, a document one field of it
  kLlmc,      // llm.c's token shards
  kMegatron,  // Megatron's .idx beside its .bin; patterns name the .idx
};

std::string_view DataFormatName(DataFormat format);
Result<DataFormat> ParseDataFormat(std::string_view name);  // UNKNOWN_FORMAT
// What the name of a file given without a format says: .jsonl, .bin (llm.c), .idx (Megatron), else text.
DataFormat FormatOfName(std::string_view pattern);
// Holds tokens rather than text: the model's tokenizer takes no part.
bool IsTokenized(DataFormat format);

// The default of the option text_field.
inline constexpr std::string_view kTextField = "text";

struct DataSpec {
  std::string name;                   // of the data set, or the file's pattern when inline; for messages
  std::vector<std::string> patterns;  // absolute; may hold * ? [ ]
  DataFormat format = DataFormat::kText;
  std::string text_field{kTextField};  // jsonl: the field that holds a line's text

  bool operator==(const DataSpec&) const = default;
};

Json DataToJson(const DataSpec& data);
Result<DataSpec> DataFromJson(const Json& object);
// The options as they stand in WITH (…): "text_field=text"; empty if the format has none.
std::string DataOptions(const DataSpec& data);

// The most tokens that `files` files of `bytes` bytes in all can hold, with any tokenizer.
int64_t MostTokens(DataFormat format, int64_t files, int64_t bytes);

struct MixturePart {
  DataSpec data;
  std::optional<double> weight;  // > 0; its share is weight / sum of all; without: by size

  bool operator==(const MixturePart&) const = default;
};

// One or more sources. Either all have weights or none has.
struct MixtureSpec {
  std::vector<MixturePart> parts;

  MixtureSpec() = default;
  MixtureSpec(DataSpec data) {
    parts.push_back({std::move(data), {}});
  }  // NOLINT(google-explicit-constructor)
  bool weighted() const { return !parts.empty() && parts.front().weight.has_value(); }
  // For messages: the sources' names.
  std::string Name() const;

  bool operator==(const MixtureSpec&) const = default;
};

// A mixture of one unweighted source is written as that source.
Json MixtureToJson(const MixtureSpec& mixture);
Result<MixtureSpec> MixtureFromJson(const Json& object);

}  // namespace traind
