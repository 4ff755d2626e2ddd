// JSON at our borders: nlohmann::json without exceptions and within limits.
//
// Reading is strict (UTF-8, depth, no duplicate surprises); fields are fetched with a type and a message that
// names the path.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/base/status.h"

namespace traind {

using Json = nlohmann::json;
// Keeps the order in which keys were written; for what people read (manifests, config.json, EXPLAIN).
using OrderedJson = nlohmann::ordered_json;

// Parses one JSON text. MALFORMED_FRAME with the byte offset if it is none or is nested deeper than
// `max_depth`.
Result<Json> ParseJson(std::string_view text, int64_t max_depth = kMaxJsonDepth);

// Serialises on one line. Bytes that are not UTF-8 become U+FFFD; NaN and infinities become null.
std::string DumpJson(const Json& value);
std::string DumpJson(const OrderedJson& value, int indent);

// Field `key` of object `object`, with its type checked; MALFORMED_FRAME naming `key` and the expected type
// otherwise.
Result<std::string> GetString(const Json& object, std::string_view key);
Result<int64_t> GetInt(const Json& object, std::string_view key);  // exact integers only
Result<double> GetDouble(const Json& object, std::string_view key);
Result<bool> GetBool(const Json& object, std::string_view key);
// The same, with a value for an absent or null field; a field of the wrong type is still an error.
Result<std::string> GetStringOr(const Json& object, std::string_view key, std::string fallback);
Result<int64_t> GetIntOr(const Json& object, std::string_view key, int64_t fallback);
Result<double> GetDoubleOr(const Json& object, std::string_view key, double fallback);
Result<bool> GetBoolOr(const Json& object, std::string_view key, bool fallback);

// A Status as the JSON object that frames carry, and back:
// {"code":100,"name":"SYNTAX","class":"SYNTAX","message":…,"hint":…,"retryable":false,
//  "offset":…,"line":…,"column":…,"expected":[…],"detail":{…}}   (absent parts are left out)
Json StatusToJson(const Status& status);
Status StatusFromJson(const Json& object);

}  // namespace traind
