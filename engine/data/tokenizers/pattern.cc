// Translation, compilation and matching with PCRE2.
#include "engine/data/tokenizers/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/limits.h"

namespace traind::data {
namespace {

constexpr uint32_t kMatchLimit = 4'000'000;
constexpr uint32_t kDepthLimit = 100'000;
constexpr uint32_t kHeapLimitKib = 64 * 1024;
constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackMost = 1024 * 1024;
constexpr uint32_t kMostNesting = 64;
constexpr std::string_view kWordProperties = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

std::string ErrorText(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// Oniguruma's \s is Unicode's White_Space, PCRE2's has U+180E too; its \w counts all marks and connectors.
std::string Translate(std::string_view expression) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\' && i + 1 < expression.size()) {
      const char escaped = expression[++i];
      if (escaped == 's') {
        out += R"(\p{White_Space})";
      } else if (escaped == 'S') {
        out += R"(\P{White_Space})";
      } else if (escaped == 'w') {
        out += in_class ? std::string(kWordProperties) : fmt::format("[{}]", kWordProperties);
      } else if (escaped == 'W' && !in_class) {
        out += fmt::format("[^{}]", kWordProperties);
      } else {
        out += {c, escaped};
      }
      continue;
    }
    if (in_class) {
      if (c == ']') in_class = false;
    } else if (c == '[') {
      in_class = true;
      // A ] that comes first stands for itself.
      out.push_back(c);
      if (i + 1 < expression.size() && expression[i + 1] == '^') out.push_back(expression[++i]);
      if (i + 1 < expression.size() && expression[i + 1] == ']') out += {'\\', expression[++i]};
      continue;
    }
    out.push_back(c);
  }
  return out;
}

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  pcre2_code* code;
  bool jit = false;
};

Pattern::~Pattern() = default;

Result<std::shared_ptr<const Pattern>> Pattern::Compile(std::string_view expression) {
  if (std::ssize(expression) > kMaxPatternBytes) {
    return Status(ErrorCode::DAMAGED_TOKENIZER, fmt::format("a pattern has {} bytes; the limit is {}",
                                                            expression.size(), kMaxPatternBytes));
  }
  const std::string translated = Translate(expression);
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (!context) return Status(ErrorCode::OUT_OF_MEMORY, "no memory for a pattern");
  pcre2_set_parens_nest_limit(context.get(), kMostNesting);
  int error = 0;
  size_t offset = 0;
  // \K and callouts could give matches that end before they begin; Oniguruma has no \C.
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE, &error,
                                   &offset, context.get());
  if (code == nullptr) {
    return Status(ErrorCode::DAMAGED_TOKENIZER,
                  fmt::format("the pattern '{}' cannot be used: {} at byte {} of {}", expression,
                              ErrorText(error), offset, translated));
  }
  std::shared_ptr<Pattern> pattern(new Pattern());
  pattern->code_ = std::make_unique<Code>(code);
  pattern->code_->jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
  pattern->text_ = expression;
  uint32_t lookbehind = 0;
  pcre2_pattern_info(code, PCRE2_INFO_MAXLOOKBEHIND, &lookbehind);
  pattern->lookbehind_ = std::max<size_t>(1, lookbehind);
  return std::shared_ptr<const Pattern>(std::move(pattern));
}

Result<std::shared_ptr<const Pattern>> Pattern::Literal(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') ||
                       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (!plain && c >= ' ' && c != 0x7f) quoted.push_back('\\');
    quoted.push_back(c);
  }
  return Compile(quoted);
}

struct Matcher::State {
  explicit State(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kJitStackStart, kJitStackMost, nullptr)) {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_depth_limit(context, kDepthLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~State() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  pcre2_match_data* data;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

Matcher::Matcher(std::shared_ptr<const Pattern> pattern)
    : pattern_(std::move(pattern)), state_(std::make_unique<State>(pattern_->code_->code)) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

Result<Matcher::Found> Matcher::Find(std::string_view text, size_t from, bool whole) {
  const Pattern::Code& code = *pattern_->code_;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const uint32_t partial = whole ? 0 : PCRE2_PARTIAL_HARD;
  const int found = code.jit ? pcre2_jit_match(code.code, subject, text.size(), from, partial, state_->data,
                                               state_->context)
                             : pcre2_match(code.code, subject, text.size(), from,
                                           partial | PCRE2_NO_UTF_CHECK, state_->data, state_->context);
  if (found == PCRE2_ERROR_NOMATCH) return Found::kNone;
  if (found == PCRE2_ERROR_PARTIAL) return Found::kNeedMore;
  if (found < 0) {
    return Status(ErrorCode::TEXT_NOT_TOKENIZABLE,
                  fmt::format("the pattern '{}' gives up at byte {} of a piece of {}: {}", pattern_->text(),
                              from, text.size(), ErrorText(found)),
                  "the pattern backtracks too much on this text: use a tokenizer with a simpler one");
  }
  const size_t* range = pcre2_get_ovector_pointer(state_->data);
  begin_ = range[0];
  end_ = std::max(range[0], range[1]);
  return Found::kMatch;
}

}  // namespace traind::data
