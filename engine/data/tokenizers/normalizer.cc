// Unicode normalisation by utf8proc; replacements by patterns.
#include "engine/data/tokenizers/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <ranges>

#include "engine/data/tokenizers/utf8.h"

namespace traind::data {
namespace {

using Kind = NormalizerStep::Kind;

int OptionsOf(Kind kind) {
  switch (kind) {
    case Kind::kNfd:
      return UTF8PROC_DECOMPOSE;
    case Kind::kNfkc:
      return UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
    case Kind::kNfkd:
      return UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
    default:
      return UTF8PROC_COMPOSE;
  }
}

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Result<std::string> Unicode(Kind kind, std::string_view text) {
  if (IsAscii(text)) return std::string(text);
  utf8proc_uint8_t* normalised = nullptr;
  const utf8proc_ssize_t bytes = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
      &normalised, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | OptionsOf(kind)));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&free)> owned(normalised, &free);
  if (bytes < 0) {
    return Status(ErrorCode::TEXT_NOT_TOKENIZABLE, fmt::format("a piece of {} bytes cannot be normalised: {}",
                                                               text.size(), utf8proc_errmsg(bytes)));
  }
  return std::string(reinterpret_cast<const char*>(normalised), static_cast<size_t>(bytes));
}

Result<std::string> Replace(const NormalizerStep& step, std::string_view text) {
  Matcher matcher(step.pattern);
  std::string out;
  size_t from = 0;
  for (size_t at = 0; at <= text.size();) {
    TRAIND_ASSIGN(const Matcher::Found found, matcher.Find(text, at, true));
    if (found != Matcher::Found::kMatch) break;
    out.append(text, from, matcher.begin() - from);
    out += step.text;
    from = matcher.end();
    // After an empty match the search goes on one character later.
    at = matcher.end() > matcher.begin() ? from
         : from < text.size()            ? from + CharacterBytes(text, from)
                                         : text.size() + 1;
  }
  return out.append(text, from);
}

// Whether nothing before a character can change by what begins with it: it is no mark and no Hangul vowel or
// final, the only ones that reorder or compose backwards.
bool BeginsAnew(char32_t code) {
  if (code < 0x300) return true;
  if ((code >= 0x1160 && code < 0x1200) || (code >= 0xd7b0 && code < 0xd800)) return false;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC &&
         category != UTF8PROC_CATEGORY_ME && code < 0xff00;  // half-width forms decompose into marks too
}

}  // namespace

bool Normalizer::streams() const {
  return std::ranges::none_of(steps, [](const NormalizerStep& step) {
    return step.kind == Kind::kPrepend || step.kind == Kind::kReplace;
  });
}

Result<std::string> Normalizer::Apply(std::string_view text) const {
  std::string current(text);
  for (const NormalizerStep& step : steps) {
    if (step.kind == Kind::kPrepend) {
      if (!current.empty()) current.insert(0, step.text);
    } else if (step.kind == Kind::kReplace) {
      TRAIND_ASSIGN(current, Replace(step, current));
    } else {
      TRAIND_ASSIGN(current, Unicode(step.kind, current));
    }
  }
  return current;
}

size_t SafeEnd(std::string_view text) {
  for (size_t at = text.size(); at > 0;) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;
    if (BeginsAnew(CodePointAt(text, at))) return at;
  }
  return 0;
}

}  // namespace traind::data
