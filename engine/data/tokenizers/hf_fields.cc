// Fields, normalizers, pre-tokenizers, decoders and post-processors.
#include "engine/data/tokenizers/hf_fields.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "engine/data/tokenizers/patterns.h"

namespace traind::data {
namespace {

constexpr std::string_view kMetaspace = "\xe2\x96\x81";  // ▁
constexpr int64_t kMostSteps = 64;

std::string_view KindOf(const Json& value) {
  if (value.is_null()) return "missing";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "a flag";
  return "a number";
}

// Takes a part, its type and its path.
using TakePart = std::function<Status(const Json& part, const std::string& type, const std::string& path)>;

// Calls `take` with the parts of a Sequence, or the one that it is; with none for null.
Status ForEach(const Json& object, const std::string& path, const char* list, const TakePart& take) {
  if (object.is_null()) return Ok();
  TRAIND_ASSIGN(const std::string type, TypeOf(object, path));
  if (type != "Sequence") return take(object, type, path);
  const Json& parts = FieldOf(object, list);
  if (!parts.is_array()) return Wrong(fmt::format("{}.{}", path, list), "a list", parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    TRAIND_TRY(ForEach(parts[i], fmt::format("{}.{}[{}]", path, list, i), list, take));
  }
  return Ok();
}

// {"Regex": r} or {"String": s}.
Result<std::shared_ptr<const Pattern>> PatternField(const Json& object, const std::string& path) {
  const Json& pattern = FieldOf(object, "pattern");
  const std::string place = fmt::format("{}.pattern", path);
  if (pattern.is_object() && pattern.size() == 1) {
    const Json& regex = FieldOf(pattern, "Regex");
    const Json& text = FieldOf(pattern, "String");
    auto compiled = regex.is_string()  ? Pattern::Compile(regex.get<std::string>())
                    : text.is_string() ? Pattern::Literal(text.get<std::string>())
                                       : Status(Wrong(place, R"({"Regex": …} or {"String": …})", pattern));
    if (compiled.ok()) return compiled;
    return Status(compiled.status().code(), fmt::format("{}: {}", place, compiled.status().message()));
  }
  return Wrong(place, R"({"Regex": …} or {"String": …})", pattern);
}

Result<SplitStep::Behavior> BehaviorField(const Json& object, const std::string& path) {
  using Behavior = SplitStep::Behavior;
  constexpr std::pair<std::string_view, Behavior> kBehaviors[] = {
      {"Isolated", Behavior::kIsolated},
      {"Removed", Behavior::kRemoved},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous}};
  TRAIND_ASSIGN(const std::string name, StringField(object, "behavior", path));
  for (const auto& [known, behavior] : kBehaviors) {
    if (name == known) return behavior;
  }
  return Malformed(fmt::format("{}.behavior", path),
                   fmt::format("is '{}'; known: Isolated, Removed, MergedWithPrevious, MergedWithNext, "
                               "Contiguous",
                               name));
}

class PreTokenizerParser {
 public:
  Result<PreTokenizerParts> Run(const Json& object) {
    TRAIND_TRY(ForEach(object, "pre_tokenizer", "pretokenizers",
                       [this](const Json& part, const std::string& type, const std::string& path) {
                         return Add(part, type, path);
                       }));
    return std::move(parts_);
  }

 private:
  Status Add(const Json& part, const std::string& type, const std::string& path) {
    if (std::ssize(parts_.steps) >= kMostSteps)
      return Malformed(path, fmt::format("is beyond {} steps", kMostSteps));
    if (parts_.byte_level) return Malformed(path, "comes after ByteLevel, which must be the last");
    if (type == "Split") return AddSplit(part, path);
    if (type == "ByteLevel") return AddByteLevel(part, path);
    if (type == "Metaspace") return AddMetaspace(part, path);
    if (type == "Digits") {
      TRAIND_ASSIGN(const bool individual, FlagField(part, "individual_digits", path, false));
      return AddPattern(individual ? R"(\p{N})" : R"(\p{N}+)", SplitStep::Behavior::kIsolated);
    }
    if (type == "Punctuation") {
      TRAIND_ASSIGN(const auto behavior, BehaviorField(part, path));
      return AddPattern(R"([!-\/:-@\[-`{-~\p{P}])", behavior);
    }
    if (type == "Whitespace") {
      TRAIND_TRY(AddPattern(R"(\w+|[^\w\s]+)", SplitStep::Behavior::kRemoved));
      parts_.steps.back().invert = true;
      return Ok();
    }
    if (type == "WhitespaceSplit") return AddPattern(R"(\s)", SplitStep::Behavior::kRemoved);
    return Malformed(fmt::format("{}.type", path),
                     fmt::format("is '{}'; known: Sequence, Split, ByteLevel, Digits, Punctuation, "
                                 "Metaspace, Whitespace, WhitespaceSplit",
                                 type));
  }

  Status AddSplit(const Json& part, const std::string& path) {
    SplitStep step;
    TRAIND_ASSIGN(step.pattern, PatternField(part, path));
    TRAIND_ASSIGN(step.behavior, BehaviorField(part, path));
    TRAIND_ASSIGN(step.invert, FlagField(part, "invert", path, false));
    parts_.steps.push_back(std::move(step));
    return Ok();
  }

  Status AddPattern(std::string_view expression, SplitStep::Behavior behavior) {
    SplitStep step;
    TRAIND_ASSIGN(step.pattern, Pattern::Compile(expression));
    step.behavior = behavior;
    parts_.steps.push_back(std::move(step));
    return Ok();
  }

  void AddText(SplitStep::Kind kind, std::string text, bool only_first) {
    SplitStep step;
    step.kind = kind;
    step.text = std::move(text);
    step.only_first = only_first;
    parts_.steps.push_back(std::move(step));
  }

  Status AddByteLevel(const Json& part, const std::string& path) {
    TRAIND_ASSIGN(const bool prefix, FlagField(part, "add_prefix_space", path, true));
    TRAIND_ASSIGN(const bool splits, FlagField(part, "use_regex", path, true));
    if (prefix) AddText(SplitStep::Kind::kPrefix, " ", false);
    parts_.byte_level = true;
    return splits ? AddPattern(FindPattern("gpt2")->expression, SplitStep::Behavior::kIsolated) : Ok();
  }

  Status AddMetaspace(const Json& part, const std::string& path) {
    std::string replacement(kMetaspace);
    if (!FieldOf(part, "replacement").is_null()) {
      TRAIND_ASSIGN(replacement, StringField(part, "replacement", path));
    }
    TRAIND_ASSIGN(const bool splits, FlagField(part, "split", path, true));
    TRAIND_ASSIGN(const bool prefix, FlagField(part, "add_prefix_space", path, true));
    std::string scheme(prefix ? "always" : "never");
    if (!FieldOf(part, "prepend_scheme").is_null()) {
      TRAIND_ASSIGN(scheme, StringField(part, "prepend_scheme", path));
    }
    if (scheme != "always" && scheme != "first" && scheme != "never") {
      return Malformed(fmt::format("{}.prepend_scheme", path),
                       fmt::format("is '{}'; known: always, first, never", scheme));
    }
    AddText(SplitStep::Kind::kReplaceSpace, replacement, false);
    if (scheme != "never") AddText(SplitStep::Kind::kPrefix, replacement, scheme == "first");
    if (!splits) return Ok();
    SplitStep step;
    TRAIND_ASSIGN(step.pattern, Pattern::Literal(replacement));
    step.behavior = SplitStep::Behavior::kMergedWithNext;
    parts_.steps.push_back(std::move(step));
    return Ok();
  }

  PreTokenizerParts parts_;
};

Status AddDecoder(const Json& part, const std::string& type, const std::string& path, Decoder* decoder) {
  if (type == "ByteLevel" || type == "Fuse") return Ok();
  if (type == "ByteFallback") {
    decoder->byte_fallback = true;
    return Ok();
  }
  if (type == "Replace") {
    const Json& text = FieldOf(FieldOf(part, "pattern"), "String");
    if (!text.is_string() || text.get<std::string>().empty()) {
      return Wrong(fmt::format("{}.pattern.String", path), "a string", text);
    }
    TRAIND_ASSIGN(std::string content, StringField(part, "content", path));
    decoder->replaced.emplace_back(text.get<std::string>(), std::move(content));
    return Ok();
  }
  if (type == "Strip") {
    TRAIND_ASSIGN(decoder->stripped, StringField(part, "content", path));
    return Ok();
  }
  if (type == "Metaspace") {
    std::string replacement(kMetaspace);
    if (!FieldOf(part, "replacement").is_null()) {
      TRAIND_ASSIGN(replacement, StringField(part, "replacement", path));
    }
    decoder->replaced.emplace_back(replacement, " ");
    if (FieldOf(part, "prepend_scheme") != "never") decoder->stripped.assign(1, ' ');
    return Ok();
  }
  return Malformed(fmt::format("{}.type", path),
                   fmt::format("is '{}'; known: Sequence, ByteLevel, ByteFallback, Fuse, Replace, Strip, "
                               "Metaspace",
                               type));
}

Status AddNormalizer(const Json& part, const std::string& type, const std::string& path,
                     Normalizer* normalizer) {
  using Kind = NormalizerStep::Kind;
  if (std::ssize(normalizer->steps) >= kMostSteps)
    return Malformed(path, fmt::format("is beyond {} steps", kMostSteps));
  constexpr std::pair<std::string_view, Kind> kForms[] = {
      {"NFC", Kind::kNfc}, {"NFD", Kind::kNfd}, {"NFKC", Kind::kNfkc}, {"NFKD", Kind::kNfkd}};
  for (const auto& [name, kind] : kForms) {
    if (type != name) continue;
    normalizer->steps.push_back({kind, nullptr, {}});
    return Ok();
  }
  NormalizerStep step;
  if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    TRAIND_ASSIGN(step.text, StringField(part, "prepend", path));
  } else if (type == "Replace") {
    step.kind = Kind::kReplace;
    TRAIND_ASSIGN(step.pattern, PatternField(part, path));
    TRAIND_ASSIGN(step.text, StringField(part, "content", path));
  } else {
    return Malformed(fmt::format("{}.type", path),
                     fmt::format("is '{}'; known: Sequence, NFC, NFD, NFKC, NFKD, Prepend, Replace", type));
  }
  normalizer->steps.push_back(std::move(step));
  return Ok();
}

// {"SpecialToken": {"id": "<s>"}} … up to {"Sequence": {"id": "A"}}.
Status ReadTemplate(const Json& part, const std::string& path, std::vector<std::string>* names) {
  const Json& items = FieldOf(part, "single");
  if (!items.is_array()) return Wrong(fmt::format("{}.single", path), "a list", items);
  for (size_t i = 0; i < items.size(); ++i) {
    const Json& special = FieldOf(items[i], "SpecialToken");
    if (special.is_null()) return Ok();
    TRAIND_ASSIGN(std::string name,
                  StringField(special, "id", fmt::format("{}.single[{}].SpecialToken", path, i)));
    names->push_back(std::move(name));
  }
  return Ok();
}

}  // namespace

Status Malformed(std::string_view path, std::string_view what) {
  return Status(ErrorCode::DAMAGED_TOKENIZER, fmt::format("{} {}", path, what));
}

Status Wrong(std::string_view path, std::string_view expected, const Json& found) {
  return Malformed(path.empty() ? "the file" : path,
                   fmt::format("is {}; it must be {}", KindOf(found), expected));
}

const Json& FieldOf(const Json& object, std::string_view key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto field = object.find(key);
  return field == object.end() ? none : *field;
}

Result<std::string> StringField(const Json& object, std::string_view key, std::string_view path) {
  const Json& field = FieldOf(object, key);
  if (!field.is_string()) return Wrong(fmt::format("{}.{}", path, key), "a string", field);
  return field.get<std::string>();
}

Result<bool> FlagField(const Json& object, std::string_view key, std::string_view path, bool otherwise) {
  const Json& field = FieldOf(object, key);
  if (field.is_null()) return otherwise;
  if (!field.is_boolean()) return Wrong(fmt::format("{}.{}", path, key), "true or false", field);
  return field.get<bool>();
}

Result<TokenId> IdField(const Json& object, std::string_view key, std::string_view path) {
  const Json& field = FieldOf(object, key);
  const std::string place = fmt::format("{}.{}", path, key);
  if (!field.is_number_unsigned()) return Wrong(place, "an id, 0 or more", field);
  if (field.get<uint64_t>() >= static_cast<uint64_t>(kMaxTokenizerTokens)) {
    return Malformed(place,
                     fmt::format("is {}; ids must be below {}", field.get<uint64_t>(), kMaxTokenizerTokens));
  }
  return field.get<TokenId>();
}

Result<std::string> TypeOf(const Json& object, std::string_view path, std::string_view otherwise) {
  if (!object.is_object()) return Wrong(path, "an object", object);
  if (!otherwise.empty() && FieldOf(object, "type").is_null()) return std::string(otherwise);
  return StringField(object, "type", path);
}

Result<Normalizer> ParseNormalizer(const Json& object) {
  Normalizer normalizer;
  TRAIND_TRY(ForEach(object, "normalizer", "normalizers",
                     [&](const Json& part, const std::string& type, const std::string& path) {
                       return AddNormalizer(part, type, path, &normalizer);
                     }));
  return normalizer;
}

Result<PreTokenizerParts> ParsePreTokenizer(const Json& object) {
  return PreTokenizerParser().Run(object);
}

Result<Decoder> ParseDecoder(const Json& object) {
  Decoder decoder;
  TRAIND_TRY(ForEach(object, "decoder", "decoders",
                     [&](const Json& part, const std::string& type, const std::string& path) {
                       return AddDecoder(part, type, path, &decoder);
                     }));
  return decoder;
}

Result<std::vector<std::string>> ParsePrefix(const Json& object) {
  std::vector<std::string> names;
  TRAIND_TRY(ForEach(object, "post_processor", "processors",
                     [&](const Json& part, const std::string& type, const std::string& path) {
                       if (type == "ByteLevel") return Ok();
                       if (type == "TemplateProcessing") return ReadTemplate(part, path, &names);
                       return Malformed(
                           fmt::format("{}.type", path),
                           fmt::format("is '{}'; known: Sequence, ByteLevel, TemplateProcessing", type));
                     }));
  return names;
}

}  // namespace traind::data
