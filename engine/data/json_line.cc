// A JSON scanner with a stack of bits: a level is an object or an array.
#include "engine/data/json_line.h"

#include <fmt/format.h>

#include "engine/base/limits.h"

namespace traind::data {
namespace {

static_assert(kMaxJsonDepth <= 64, "the stack is one word");

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

void AppendUtf8(uint32_t code, std::string* text) {
  const auto byte = [text](uint32_t value) { text->push_back(static_cast<char>(value)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

// Every function returns false once there is a problem.
class Scanner {
 public:
  Scanner(std::string_view line, std::string_view field, JsonField* value)
      : line_(line), field_(field), value_(value) {}

  std::optional<JsonProblem> Run() {
    value_->text.clear();
    value_->nul_offset.reset();
    if (Object() && !found_) {
      Fail(JsonProblem::Kind::kField, begin_, fmt::format("the object has no field '{}'", field_));
    }
    return std::move(problem_);
  }

 private:
  enum class Next { kValue, kFirstItem, kKey, kFirstKey, kCommaOrEnd };

  bool Fail(JsonProblem::Kind kind, size_t offset, std::string what) {
    problem_ = JsonProblem{kind, static_cast<int64_t>(offset), std::move(what)};
    return false;
  }
  bool Expected(std::string_view what) {
    if (at_ >= line_.size()) {
      return Fail(JsonProblem::Kind::kCutShort, at_, fmt::format("the line ends where {} is expected", what));
    }
    return Fail(JsonProblem::Kind::kSyntax, at_, fmt::format("{} is expected", what));
  }

  char Here() const { return at_ < line_.size() ? line_[at_] : '\0'; }
  bool Take(char c) {
    if (Here() != c || at_ >= line_.size()) return false;
    ++at_;
    return true;
  }
  void SkipBlanks() {
    while (Here() == ' ' || Here() == '\t' || Here() == '\r' || Here() == '\n') ++at_;
  }

  bool in_object() const { return (levels_ & 1) != 0; }
  bool Push(bool is_object) {
    if (depth_ == kMaxJsonDepth) {
      return Fail(JsonProblem::Kind::kSyntax, at_ - 1,
                  fmt::format("nested deeper than {} levels", kMaxJsonDepth));
    }
    ++depth_;
    levels_ = levels_ << 1 | (is_object ? 1 : 0);
    next_ = is_object ? Next::kFirstKey : Next::kFirstItem;
    return true;
  }
  void Pop() {
    --depth_;
    levels_ >>= 1;
    next_ = Next::kCommaOrEnd;
  }

  bool Object() {
    SkipBlanks();
    begin_ = at_;
    if (!Take('{')) return Expected("a JSON object, {…},");
    if (!Push(true)) return false;
    while (depth_ > 0) {
      SkipBlanks();
      if (!Step()) return false;
    }
    SkipBlanks();
    if (at_ == line_.size()) return true;
    return Fail(JsonProblem::Kind::kSyntax, at_, "the line goes on after its object");
  }

  bool Step() {
    switch (next_) {
      case Next::kFirstItem:
        if (Take(']')) return Pop(), true;
        return Value();
      case Next::kValue:
        return Value();
      case Next::kFirstKey:
        if (Take('}')) return Pop(), true;
        return Key();
      case Next::kKey:
        return Key();
      case Next::kCommaOrEnd:
        break;
    }
    if (Take(',')) return next_ = in_object() ? Next::kKey : Next::kValue, true;
    if (Take(in_object() ? '}' : ']')) return Pop(), true;
    return Expected(in_object() ? "',' or '}'" : "',' or ']'");
  }

  bool Key() {
    const bool looked_at = depth_ == 1;
    const size_t begin = at_;
    if (Here() != '"') return Expected("a key in double quotes");
    key_.clear();
    if (!String(looked_at ? &key_ : nullptr, nullptr)) return false;
    SkipBlanks();
    if (!Take(':')) return Expected("':'");
    wanted_ = looked_at && key_ == field_;
    if (wanted_ && found_) {
      return Fail(JsonProblem::Kind::kField, begin, fmt::format("the field '{}' stands twice", field_));
    }
    next_ = Next::kValue;
    return true;
  }

  bool Value() {
    const bool wanted = wanted_;
    wanted_ = false;
    if (wanted) {
      found_ = true;
      if (at_ < line_.size() && Here() != '"') {
        return Fail(JsonProblem::Kind::kField, at_, fmt::format("the field '{}' is no string", field_));
      }
    }
    next_ = Next::kCommaOrEnd;
    if (Here() == '"')
      return String(wanted ? &value_->text : nullptr, wanted ? &value_->nul_offset : nullptr);
    if (Take('{')) return Push(true);
    if (Take('[')) return Push(false);
    if (Here() == '-' || IsDigit(Here())) return Number();
    return Word("true") || Word("false") || Word("null") || Expected("a value");
  }

  bool Word(std::string_view word) {
    if (!line_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  bool Digits() {
    if (!IsDigit(Here())) return Expected("a digit");
    while (IsDigit(Here())) ++at_;
    return true;
  }
  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (!Take('e') && !Take('E')) return true;
    if (!Take('+')) Take('-');
    return Digits();
  }

  // At its quote. Both outputs may be null.
  bool String(std::string* text, std::optional<int64_t>* nul_offset) {
    ++at_;
    while (true) {
      const size_t begin = at_;
      while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\' &&
             static_cast<unsigned char>(line_[at_]) >= 0x20) {
        ++at_;
      }
      if (text != nullptr) text->append(line_.substr(begin, at_ - begin));
      if (Take('"')) return true;
      if (at_ >= line_.size()) {
        return Fail(JsonProblem::Kind::kCutShort, at_, "the line ends inside a string");
      }
      if (Here() != '\\') {
        return Fail(JsonProblem::Kind::kSyntax, at_, "a control character in a string must be escaped");
      }
      if (!Escape(text, nul_offset)) return false;
    }
  }

  bool Escape(std::string* text, std::optional<int64_t>* nul_offset) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeans = "\"\\/\b\f\n\r\t";
    const size_t begin = at_++;
    if (at_ >= line_.size()) return Fail(JsonProblem::Kind::kCutShort, at_, "the line ends inside a string");
    if (Here() == 'u') {
      uint32_t code = 0;
      if (!CodePoint(&code)) return false;
      if (code == 0 && nul_offset != nullptr && !nul_offset->has_value()) {
        *nul_offset = static_cast<int64_t>(begin);
      }
      if (text != nullptr) AppendUtf8(code, text);
      return true;
    }
    const size_t name = kNames.find(Here());
    if (name == std::string_view::npos) {
      return Fail(JsonProblem::Kind::kSyntax, begin, "an escape that JSON does not have");
    }
    ++at_;
    if (text != nullptr) text->push_back(kMeans[name]);
    return true;
  }

  // At a u and what follows it: one unit, or two that are a pair.
  bool CodePoint(uint32_t* code) {
    const size_t begin = at_ - 1;
    const auto lone = [&] {
      return Fail(JsonProblem::Kind::kSurrogate, begin, "an escaped surrogate without its other half");
    };
    if (!Unit(code)) return false;
    if (*code < 0xd800 || *code > 0xdfff) return true;
    if (*code > 0xdbff || !line_.substr(at_).starts_with("\\u")) return lone();
    ++at_;
    uint32_t low = 0;
    if (!Unit(&low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return lone();
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return true;
  }

  bool Unit(uint32_t* unit) {
    ++at_;
    *unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int digit = HexValue(Here());
      if (digit < 0) return Expected("a hexadecimal digit");
      *unit = *unit << 4 | static_cast<uint32_t>(digit);
    }
    return true;
  }

  const std::string_view line_;
  const std::string_view field_;
  JsonField* const value_;
  std::optional<JsonProblem> problem_;
  size_t begin_ = 0;  // of the object
  size_t at_ = 0;
  int64_t depth_ = 0;
  uint64_t levels_ = 0;  // the lowest bit is the innermost level; 1 for an object
  Next next_ = Next::kFirstKey;
  std::string key_;
  bool wanted_ = false;  // the value that comes next is the field's
  bool found_ = false;
};

}  // namespace

std::optional<JsonProblem> ReadJsonField(std::string_view line, std::string_view field, JsonField* value) {
  return Scanner(line, field, value).Run();
}

}  // namespace traind::data
