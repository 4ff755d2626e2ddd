// The UTF-8 validator against a plain decoder, at every split point.
#include "engine/data/text_validator.h"

#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/test.h"

namespace traind::data {
namespace {

using Kind = TextProblem::Kind;

std::optional<TextProblem> CheckWhole(std::string_view text) {
  TextValidator validator;
  if (const auto problem = validator.Check(text)) return problem;
  return validator.Finish();
}

std::optional<TextProblem> CheckSplit(std::string_view text, size_t at) {
  TextValidator validator;
  if (const auto problem = validator.Check(text.substr(0, at))) return problem;
  if (const auto problem = validator.Check(text.substr(at))) return problem;
  return validator.Finish();
}

// By the definition: decode, re-encode, compare.
std::optional<TextProblem> Reference(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t k) { return static_cast<uint32_t>(static_cast<unsigned char>(text[k])); };
    const uint32_t lead = byte(i);
    const TextProblem invalid{Kind::kInvalidUtf8, static_cast<int64_t>(i)};
    if (lead == 0) return TextProblem{Kind::kNul, static_cast<int64_t>(i)};
    const size_t length = lead < 0x80       ? 1
                          : lead >> 5 == 6  ? 2
                          : lead >> 4 == 14 ? 3
                          : lead >> 3 == 30 ? 4
                                            : 0;
    if (length == 0 || i + length > text.size()) return invalid;
    uint32_t code = length == 1 ? lead : lead & ((1u << (7 - length)) - 1);
    for (size_t k = 1; k < length; ++k) {
      if (byte(i + k) >> 6 != 2) return invalid;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    constexpr uint32_t kFirst[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kFirst[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return invalid;
    i += length;
  }
  return std::nullopt;
}

void Agree(std::string_view text) {
  const auto expected = Reference(text);
  assert_true(CheckWhole(text) == expected);
  for (size_t at = 0; at <= text.size(); at += text.size() < 16 ? 1 : 7) {
    assert_true(CheckSplit(text, at) == expected);
  }
}

void AcceptsText(void**) {
  assert_false(CheckWhole("").has_value());
  assert_false(CheckWhole("plain").has_value());
  assert_false(CheckWhole(std::string(1000, 'x') + "é ☃ 😀 \xef\xbb\xbf").has_value());
}

void NamesTheFirstProblem(void**) {
  assert_true(CheckWhole("ab\xff") == (TextProblem{Kind::kInvalidUtf8, 2}));
  assert_true(CheckWhole("ab\xe2\x98") == (TextProblem{Kind::kInvalidUtf8, 2}));
  assert_true(CheckWhole("\xc3(") == (TextProblem{Kind::kInvalidUtf8, 0}));
  assert_true(CheckWhole(std::string(777, 'a') + '\0' + "b") == (TextProblem{Kind::kNul, 777}));
  assert_true(CheckWhole(std::string(64, 'a') + "\x80") == (TextProblem{Kind::kInvalidUtf8, 64}));
}

// Every sequence of up to three bytes from the values where the rules change.
void AgreesOnEdges(void**) {
  const std::vector<int> edges = {0x00, 0x01, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                  0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                  0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
  std::string text;
  for (const int a : edges) {
    Agree(text = {static_cast<char>(a)});
    for (const int b : edges) {
      Agree(text = {static_cast<char>(a), static_cast<char>(b)});
      for (const int c : edges) {
        Agree(text = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)});
        Agree(text = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                      static_cast<char>(0x80)});
      }
    }
  }
}

// One wrong byte anywhere in a mixed text, across the blocks of the fast path.
void AgreesOnDamagedText(void**) {
  std::mt19937 random(7);
  std::string text;
  while (text.size() < 400) text += random() % 4 == 0 ? "ß☃😀" : "a line of text ";
  assert_false(CheckWhole(text).has_value());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(random());
    Agree(damaged);
    Agree(std::string_view(text).substr(0, i));
  }
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(AcceptsText),
      cmocka_unit_test(NamesTheFirstProblem),
      cmocka_unit_test(AgreesOnEdges),
      cmocka_unit_test(AgreesOnDamagedText),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
