// JSON at our borders: a strict reader over nlohmann's SAX interface, and typed access to fields.
#include "engine/base/json.h"

#include <limits>
#include <utility>
#include <vector>

namespace traind {
namespace {

// Builds the value while checking what the library does not: depth before a level is entered, and repeated
// keys. `error` holds the reason of a refusal.
class TreeBuilder {
 public:
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  explicit TreeBuilder(int64_t max_depth) : max_depth_(max_depth) {}

  // The SAX interface; names are the library's.
  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(number_integer_t value) { return Add(value); }
  bool number_unsigned(number_unsigned_t value) { return Add(value); }
  bool number_float(number_float_t value, const string_t&) { return Add(value); }
  bool string(string_t& value) { return Add(std::move(value)); }
  bool binary(binary_t&) { return Refuse("binary values are not JSON"); }
  bool start_object(size_t) { return Enter(Json::object()); }
  bool start_array(size_t) { return Enter(Json::array()); }
  bool end_object() { return Leave(); }
  bool end_array() { return Leave(); }
  bool key(string_t& name) {
    if (open_.back()->contains(name)) return Refuse("the key '" + name + "' stands twice in one object");
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const string_t&, const nlohmann::detail::exception& problem) {
    // The library's text is "[id] parse error at line 1, column 8: reason" or "[id] reason"; our callers want
    // the byte.
    std::string reason = problem.what();
    const size_t bracket = reason.find("] ");
    if (bracket != std::string::npos) reason.erase(0, bracket + 2);
    if (reason.starts_with("parse error at ")) reason.erase(0, reason.find(": ") + 2);
    return Refuse("byte " + std::to_string(position) + ": " + reason);
  }

  Json& root() { return root_; }
  const std::string& error() const { return error_; }

 private:
  bool Refuse(std::string reason) {
    error_ = std::move(reason);
    return false;
  }

  template <typename T>
  Json* Place(T&& value) {
    if (open_.empty()) {
      root_ = std::forward<T>(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_object()) {
      Json& slot = parent[key_];
      slot = std::forward<T>(value);
      return &slot;
    }
    parent.push_back(std::forward<T>(value));
    return &parent.back();
  }

  template <typename T>
  bool Add(T&& value) {
    Place(std::forward<T>(value));
    return true;
  }

  bool Enter(Json container) {
    if (static_cast<int64_t>(open_.size()) >= max_depth_) {
      return Refuse("nested deeper than " + std::to_string(max_depth_) + " levels");
    }
    open_.push_back(Place(std::move(container)));
    return true;
  }

  bool Leave() {
    open_.pop_back();
    return true;
  }

  int64_t max_depth_;
  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::string error_;
};

// The field, or nullptr if `object` is no object or has none of that name.
const Json* Find(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto field = object.find(std::string(key));
  return field == object.end() ? nullptr : &*field;
}

Status WrongField(const Json& object, std::string_view key, std::string_view expected) {
  std::string message = "the field '" + std::string(key) + "' must be " + std::string(expected);
  if (!object.is_object()) {
    message += ", but it is looked for in a JSON " + std::string(object.type_name()) + ", not in an object";
  } else if (const Json* field = Find(object, key)) {
    message += ", not a JSON " + std::string(field->type_name());
  } else {
    message += ", and it is missing";
  }
  return Status(ErrorCode::MALFORMED_FRAME, std::move(message));
}

bool IsAbsent(const Json& object, std::string_view key) {
  if (!object.is_object()) return false;
  const Json* field = Find(object, key);
  return field == nullptr || field->is_null();
}

}  // namespace

Result<Json> ParseJson(std::string_view text, int64_t max_depth) {
  TreeBuilder builder(max_depth);
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return Status(ErrorCode::MALFORMED_FRAME, "not the JSON expected: " + builder.error());
  }
  return std::move(builder.root());
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string DumpJson(const OrderedJson& value, int indent) {
  return value.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

Result<std::string> GetString(const Json& object, std::string_view key) {
  const Json* field = Find(object, key);
  if (field == nullptr || !field->is_string()) return WrongField(object, key, "a string");
  return *field->get_ptr<const std::string*>();
}

Result<int64_t> GetInt(const Json& object, std::string_view key) {
  const Json* field = Find(object, key);
  if (field == nullptr || !field->is_number_integer()) return WrongField(object, key, "an integer");
  if (field->is_number_unsigned()) {
    const uint64_t value = *field->get_ptr<const uint64_t*>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Status(ErrorCode::MALFORMED_FRAME, "the field '" + std::string(key) + "' is " +
                                                    std::to_string(value) +
                                                    ", above the largest integer 9223372036854775807");
    }
    return static_cast<int64_t>(value);
  }
  return *field->get_ptr<const int64_t*>();
}

Result<double> GetDouble(const Json& object, std::string_view key) {
  const Json* field = Find(object, key);
  if (field == nullptr || !field->is_number()) return WrongField(object, key, "a number");
  return field->get<double>();
}

Result<bool> GetBool(const Json& object, std::string_view key) {
  const Json* field = Find(object, key);
  if (field == nullptr || !field->is_boolean()) return WrongField(object, key, "true or false");
  return *field->get_ptr<const bool*>();
}

Result<std::string> GetStringOr(const Json& object, std::string_view key, std::string fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetString(object, key);
}

Result<int64_t> GetIntOr(const Json& object, std::string_view key, int64_t fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetInt(object, key);
}

Result<double> GetDoubleOr(const Json& object, std::string_view key, double fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetDouble(object, key);
}

Result<bool> GetBoolOr(const Json& object, std::string_view key, bool fallback) {
  if (IsAbsent(object, key)) return fallback;
  return GetBool(object, key);
}

}  // namespace traind
