// JSONL: what a line may be, and where it says that something is wrong.
#include "engine/data/jsonl.h"

#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/limits.h"
#include "tests/support/test.h"

namespace traind::data {
namespace {

using Kind = JsonProblem::Kind;

void ReadsTheField(void**) {
  const auto read = [](std::string_view line) {
    JsonField value;
    const auto problem = ReadJsonField(line, "text", &value);
    if (problem) fail_msg("%s", problem->what.c_str());
    return value.text;
  };
  assert_text(read(R"({"text":"plain"})"), "plain");
  assert_text(read(" \t{ \"a\" : [1, -2.5e+3, {\"text\":\"inner\"}], \"text\" : \"x\" } \r"), "x");
  assert_text(read(R"({"text":"","b":null})"), "");
  assert_text(read(R"({"text":"\"\\\/\b\f\n\r\t"})"), "\"\\/\b\f\n\r\t");
  assert_text(read(R"({"text":"\u00e9\u4E2d\ud83d\ude00ö"})"), "é中😀ö");
  assert_text(read(R"({"te\u0078t":"by an escaped key"})"), "by an escaped key");
  assert_text(read(R"({"a":{},"b":[],"c":[[],{"d":[{}]}],"e":true,"f":false,"text":"t","g":0})"), "t");
}

void FindsWhereALineIsWrong(void**) {
  struct Case {
    std::string line;
    Kind kind;
    int64_t offset;
  };
  const std::string deep(static_cast<size_t>(kMaxJsonDepth), '[');
  const std::vector<Case> cases = {
      {R"({"a":1})", Kind::kField, 0},
      {R"({"text":1})", Kind::kField, 8},
      {R"({"text":null})", Kind::kField, 8},
      {R"({"text":["x"]})", Kind::kField, 8},
      {R"({"text":"a","text":"b"})", Kind::kField, 12},
      {R"(["text"])", Kind::kSyntax, 0},
      {R"("text")", Kind::kSyntax, 0},
      {R"({"text":"a"}{"text":"b"})", Kind::kSyntax, 12},
      {R"({"text":"a"} x)", Kind::kSyntax, 13},
      {R"({"text":"a",})", Kind::kSyntax, 12},
      {R"({"a":[1,],"text":"a"})", Kind::kSyntax, 8},
      {R"({text:"a"})", Kind::kSyntax, 1},
      {R"({'text':'a'})", Kind::kSyntax, 1},
      {R"({"text" "a"})", Kind::kSyntax, 8},
      {R"({"a":01,"text":"a"})", Kind::kSyntax, 6},
      {R"({"a":1.,"text":"a"})", Kind::kSyntax, 7},
      {R"({"a":+1,"text":"a"})", Kind::kSyntax, 5},
      {R"({"a":NaN,"text":"a"})", Kind::kSyntax, 5},
      {R"({"a":[},"text":"a"})", Kind::kSyntax, 6},
      {R"({"a":{"b":1],"text":"a"})", Kind::kSyntax, 11},
      {R"({"text":"a\x"})", Kind::kSyntax, 10},
      {R"({"text":"a\u12g4"})", Kind::kSyntax, 14},
      {"{\"text\":\"a\tb\"}", Kind::kSyntax, 10},
      {R"({"text":"a\ud83d"})", Kind::kSurrogate, 10},
      {R"({"text":"a\ud83d\u0041"})", Kind::kSurrogate, 10},
      {R"({"text":"a\ude00"})", Kind::kSurrogate, 10},
      {R"({"other":"\ud83d","text":"a"})", Kind::kSurrogate, 10},
      {"", Kind::kCutShort, 0},
      {R"({"text":"abc)", Kind::kCutShort, 12},
      {R"({"text":"abc\)", Kind::kCutShort, 13},
      {R"({"text":"abc")", Kind::kCutShort, 13},
      {R"({"text":)", Kind::kCutShort, 8},
      {R"({"text")", Kind::kCutShort, 7},
      {R"({"a":[{"b")", Kind::kCutShort, 10},
      {"{\"a\":" + deep, Kind::kSyntax, 4 + kMaxJsonDepth},
  };
  for (const Case& each : cases) {
    JsonField value;
    const auto problem = ReadJsonField(each.line, "text", &value);
    if (!problem || problem->kind != each.kind || problem->offset != each.offset) {
      fail_msg("%s: kind %d at %ld: %s", each.line.c_str(), problem ? static_cast<int>(problem->kind) : -1,
               problem ? long{problem->offset} : -1, problem ? problem->what.c_str() : "");
    }
  }
}

void EveryCutIsAnError(void**) {
  const std::string line = R"({"a":[1,{"b":"\u00e9"}],"text":"some \ud83d\ude00","c":-1.5e3})";
  for (size_t length = 0; length < line.size(); ++length) {
    JsonField value;
    assert_true(ReadJsonField(line.substr(0, length), "text", &value).has_value());
  }
}

struct Read {
  std::vector<std::string> texts;
  std::vector<int64_t> lines;
  Status status;
};

Read ReadAll(const std::string& content, size_t piece, bool nul_is_forbidden = true) {
  const SourceFile source{"/d.jsonl", {}};
  const std::string field = "text";
  Read read;
  JsonlReader reader(source, field, nul_is_forbidden, [&](const JsonlReader::Document& document) {
    read.texts.emplace_back(document.text);
    read.lines.push_back(document.line);
    return Ok();
  });
  for (size_t i = 0; i < content.size() && read.status.ok(); i += piece) {
    read.status = reader.Append(std::string_view(content).substr(i, piece));
  }
  if (read.status.ok()) read.status = reader.Finish();
  return read;
}

void CutsLinesHoweverThePiecesFall(void**) {
  const std::string content =
      "{\"text\":\"one\"}\n{\"text\":\"zwö\"}\r\n{\"id\":3,\"text\":\"\"}\n{\"text\":\"the\\nlast\"}";
  for (size_t piece = 1; piece <= content.size(); ++piece) {
    for (const char* end : {"", "\n", "\r\n"}) {
      const Read read = ReadAll(content + end, piece);
      assert_ok(read.status);
      assert_true(read.texts == (std::vector<std::string>{"one", "zwö", "", "the\nlast"}));
      assert_true(read.lines == (std::vector<int64_t>{1, 2, 3, 4}));
    }
  }
}

void ErrorsNameFileLineAndByte(void**) {
  const std::string good = "{\"text\":\"good\"}\n";  // 16 bytes
  const auto refuse = [&](const std::string& line, ErrorCode code, const char* place, const char* hint) {
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{1000}}) {
      const Status status = ReadAll(good + line, piece).status;
      assert_code(status, code);
      assert_true(status.message().starts_with("/d.jsonl: "));
      if (strstr(status.message().c_str(), place) == nullptr) fail_msg("%s", status.message().c_str());
      if (strstr(status.hint().c_str(), hint) == nullptr) fail_msg("%s", status.hint().c_str());
    }
  };
  refuse("\n" + good, ErrorCode::DAMAGED_FILE, "line 2 (byte 16) is empty", "empty lines");
  refuse("  \r\n" + good, ErrorCode::DAMAGED_FILE, "line 2 (byte 16) is empty", "empty lines");
  refuse("{\"body\":\"x\"}\n", ErrorCode::DAMAGED_FILE, "line 2 (byte 16): the object has no field 'text'",
         "text_field");
  refuse("{\"text\":7}\n", ErrorCode::DAMAGED_FILE, "line 2 (byte 24): the field 'text' is no string",
         "text_field");
  refuse("{\"text\":\"cut", ErrorCode::DAMAGED_FILE, "line 2 (byte 28)", "cut short");
  refuse("{\"text\":\"cut\n" + good, ErrorCode::DAMAGED_FILE, "line 2 (byte 28)", "one JSON object");
  refuse("{\"text\":\"\xff\"}\n", ErrorCode::INVALID_ENCODING, "line 2 (byte 25)", "UTF-8");
  refuse("{\"text\":\"\xc3", ErrorCode::INVALID_ENCODING, "line 2 (byte 25)", "UTF-8");
  refuse("{\"text\":\"\\ud800\"}\n", ErrorCode::INVALID_ENCODING, "line 2 (byte 25)", "half a character");
  refuse("{\"text\":\"a\\u0000\"}\n", ErrorCode::FORBIDDEN_BYTE, "line 2 (byte 26)", "NUL");
  refuse(std::string("{\"text\":\"\0\"}\n", 12), ErrorCode::DAMAGED_FILE, "line 2 (byte 25): a NUL byte",
         "JSONL");
}

void ByteOrderMarksAreRefused(void**) {
  const Status utf8 = ReadAll("\xef\xbb\xbf{\"text\":\"x\"}\n", 100).status;
  assert_code(utf8, ErrorCode::DAMAGED_FILE);
  assert_non_null(strstr(utf8.message().c_str(), "line 1 (byte 0) begins with a byte order mark"));
  const Status utf16 = ReadAll(std::string("\xff\xfe{\0\"\0", 6), 100).status;
  assert_code(utf16, ErrorCode::INVALID_ENCODING);
  assert_non_null(strstr(utf16.hint().c_str(), "UTF-16"));
}

void NulIsTextWhereItMeansNothing(void**) {
  const Read read = ReadAll("{\"text\":\"a\\u0000b\"}\n", 100, false);
  assert_ok(read.status);
  assert_true(read.texts[0] == std::string("a\0b", 3));
}

void LinesHaveALimit(void**) {
  const std::string open = "{\"text\":\"", close = "\"}";
  const auto line = [&](int64_t bytes) {
    return open + std::string(static_cast<size_t>(bytes) - open.size() - close.size(), 'x') + close;
  };
  for (const char* end : {"", "\n"}) {
    assert_ok(ReadAll(line(kMaxJsonlLineBytes) + end, 1 << 20).status);
    const Status status = ReadAll(line(kMaxJsonlLineBytes + 1) + end, 1 << 20).status;
    assert_code(status, ErrorCode::DAMAGED_FILE);
    assert_non_null(strstr(status.message().c_str(), "line 1 (byte 0): the line is longer than"));
  }
}

}  // namespace
}  // namespace traind::data

int main() {
  using namespace traind::data;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ReadsTheField),
      cmocka_unit_test(FindsWhereALineIsWrong),
      cmocka_unit_test(EveryCutIsAnError),
      cmocka_unit_test(CutsLinesHoweverThePiecesFall),
      cmocka_unit_test(ErrorsNameFileLineAndByte),
      cmocka_unit_test(ByteOrderMarksAreRefused),
      cmocka_unit_test(NulIsTextWhereItMeansNothing),
      cmocka_unit_test(LinesHaveALimit),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
