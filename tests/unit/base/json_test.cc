// JSON: what is read, what is refused and why, fields with types, and Status there and back.
#include "engine/base/json.h"

#include <limits>

#include "tests/support/test.h"

namespace traind {
namespace {

std::string Nested(int64_t levels, char open, char close) {
  return std::string(static_cast<size_t>(levels), open) + std::string(static_cast<size_t>(levels), close);
}

void reads_every_kind(void**) {
  const auto value = ParseJson(R"({"a":[1,-2,2.5,true,false,null,"x\u00e9\ud83d\ude00"],"b":{}})");
  assert_ok(value);
  assert_text(DumpJson(*value), "{\"a\":[1,-2,2.5,true,false,null,\"x\u00e9\U0001F600\"],\"b\":{}}");
}

void round_trips_extreme_numbers(void**) {
  const Json written = {{"most", std::numeric_limits<int64_t>::max()},
                        {"least", std::numeric_limits<int64_t>::min()},
                        {"tiny", 5e-324},
                        {"third", 1.0 / 3},
                        {"huge", std::numeric_limits<double>::max()}};
  const auto read = ParseJson(DumpJson(written));
  assert_ok(read);
  assert_true(*read == written);
}

void refuses_what_is_no_json(void**) {
  for (const char* text : {"",          " ",        "nul", "[1,2",     "{\"a\":}", "{a:1}",
                           "[1,]",      "{}x",      "01",  "'a'",      "[1 2]",    "\"\x01\"",
                           "// c\n1",   "\xef\xbb", "NaN", "Infinity", "[1e999]",  "{\"a\":1 \"b\":2}",
                           "\"\\x41\"", "\""}) {
    assert_code(ParseJson(text), ErrorCode::MALFORMED_FRAME);
  }
}

void refuses_bad_unicode(void**) {
  for (const char* text : {"\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"\xff\"", "\"\xc0\xaf\"",
                           "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\""}) {
    assert_code(ParseJson(text), ErrorCode::MALFORMED_FRAME);
  }
}

void names_the_byte(void**) {
  const Status status = ParseJson("[1, x]").status();
  assert_non_null(strstr(status.message().c_str(), "byte 5"));
}

void refuses_repeated_keys(void**) {
  const Status status = ParseJson(R"({"a":1,"b":{"a":2},"a":3})").status();
  assert_int_equal(status.code(), ErrorCode::MALFORMED_FRAME);
  assert_non_null(strstr(status.message().c_str(), "'a' stands twice"));
  assert_ok(ParseJson(R"({"a":{"a":1}})"));
}

void depth_limit_is_exact(void**) {
  assert_ok(ParseJson(Nested(kMaxJsonDepth - 1, '[', ']')));
  assert_ok(ParseJson(Nested(kMaxJsonDepth, '[', ']')));
  assert_code(ParseJson(Nested(kMaxJsonDepth + 1, '[', ']')), ErrorCode::MALFORMED_FRAME);
  std::string objects = "1";
  for (int64_t i = 0; i < kMaxJsonDepth; ++i) objects = "{\"a\":" + objects + "}";
  assert_ok(ParseJson(objects));
  assert_code(ParseJson("[" + objects + "]"), ErrorCode::MALFORMED_FRAME);
  assert_ok(ParseJson("[[1]]", 2));
  assert_code(ParseJson("[[1]]", 1), ErrorCode::MALFORMED_FRAME);
  assert_ok(ParseJson("1", 0));
}

void depth_of_100000_is_refused(void**) {
  assert_code(ParseJson(Nested(100000, '[', ']')), ErrorCode::MALFORMED_FRAME);
  assert_code(ParseJson(std::string(100000, '[')), ErrorCode::MALFORMED_FRAME);
  // Width is no depth.
  std::string wide = "[";
  for (int i = 0; i < 100000; ++i) wide += "[],";
  assert_ok(ParseJson(wide + "0]"));
}

void dumps_what_json_cannot_hold(void**) {
  assert_text(DumpJson(Json("a\xff"
                            "b")),
              "\"a\xef\xbf\xbd"
              "b\"");
  assert_text(DumpJson(Json{std::nan(""), std::numeric_limits<double>::infinity()}), "[null,null]");
  assert_text(DumpJson(Json("a\nb\"\\")), "\"a\\nb\\\"\\\\\"");
}

void ordered_keeps_order(void**) {
  OrderedJson object;
  object["z"] = 1;
  object["a"] = 2;
  assert_text(DumpJson(object, 2), "{\n  \"z\": 1,\n  \"a\": 2\n}");
}

void fields_have_types(void**) {
  const Json object = {{"s", "text"}, {"i", 7}, {"d", 2.5}, {"b", true}, {"n", nullptr}, {"neg", -3}};
  assert_text(*GetString(object, "s"), "text");
  assert_int_equal(*GetInt(object, "i"), 7);
  assert_int_equal(*GetInt(object, "neg"), -3);
  assert_true(*GetDouble(object, "d") == 2.5);
  assert_true(*GetDouble(object, "i") == 7.0);
  assert_true(*GetBool(object, "b"));
  assert_code(GetString(object, "i"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetInt(object, "d"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetInt(object, "b"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetDouble(object, "s"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetDouble(object, "n"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetBool(object, "i"), ErrorCode::MALFORMED_FRAME);
}

void field_errors_say_which(void**) {
  const Json object = {{"i", 7}};
  assert_text(GetString(object, "i").status().message(), "the field 'i' must be a string, not a JSON number");
  assert_text(GetInt(object, "step").status().message(),
              "the field 'step' must be an integer, and it is missing");
  assert_text(GetInt(Json::array(), "step").status().message(),
              "the field 'step' must be an integer, but it is looked for in a JSON array, not in an object");
}

void integers_are_exact(void**) {
  const auto object = ParseJson(
      R"({"most":9223372036854775807,"over":9223372036854775808,"least":-9223372036854775808,"real":3.0,"big":1e3})");
  assert_ok(object);
  assert_true(*GetInt(*object, "most") == std::numeric_limits<int64_t>::max());
  assert_true(*GetInt(*object, "least") == std::numeric_limits<int64_t>::min());
  assert_code(GetInt(*object, "over"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetInt(*object, "real"), ErrorCode::MALFORMED_FRAME);
  assert_code(GetInt(*object, "big"), ErrorCode::MALFORMED_FRAME);
}

void fallbacks_serve_absent_fields_only(void**) {
  const Json object = {{"n", nullptr}, {"wrong", Json::array()}};
  assert_text(*GetStringOr(object, "x", "f"), "f");
  assert_text(*GetStringOr(object, "n", "f"), "f");
  assert_int_equal(*GetIntOr(object, "x", 5), 5);
  assert_true(*GetDoubleOr(object, "n", 0.5) == 0.5);
  assert_true(*GetBoolOr(object, "x", true));
  assert_code(GetStringOr(object, "wrong", ""), ErrorCode::MALFORMED_FRAME);
  assert_code(GetIntOr(object, "wrong", 0), ErrorCode::MALFORMED_FRAME);
  assert_code(GetDoubleOr(object, "wrong", 0), ErrorCode::MALFORMED_FRAME);
  assert_code(GetBoolOr(object, "wrong", false), ErrorCode::MALFORMED_FRAME);
  assert_code(GetIntOr(Json(3), "x", 0), ErrorCode::MALFORMED_FRAME);
}

void status_round_trips(void**) {
  const Status written = Status(ErrorCode::SYNTAX, "FORM is not expected", "Write FROM.")
                             .At({17, 1, 18})
                             .Expecting({"FROM", "a name"})
                             .With("{\"option\":\"x\"}");
  const Json object = StatusToJson(written);
  assert_text(
      DumpJson(object),
      R"({"class":"SYNTAX","code":100,"column":18,"detail":{"option":"x"},"expected":["FROM","a name"],)"
      R"("hint":"Write FROM.","line":1,"message":"FORM is not expected","name":"SYNTAX","offset":17,)"
      R"("retryable":false})");
  const Status read = StatusFromJson(object);
  assert_int_equal(read.code(), ErrorCode::SYNTAX);
  assert_text(read.message(), written.message());
  assert_text(read.hint(), written.hint());
  assert_true(read.position() == written.position());
  assert_true(read.expected() == written.expected());
  assert_text(read.detail_json(), written.detail_json());
}

void plain_status_leaves_parts_out(void**) {
  const Json object = StatusToJson(Status(ErrorCode::IO, "m"));
  assert_text(DumpJson(object), R"({"class":"IO","code":600,"message":"m","name":"IO","retryable":true})");
  assert_false(StatusFromJson(object).position().known());
}

void every_error_round_trips(void**) {
  for (const ErrorInfo& info : AllErrors()) {
    assert_int_equal(StatusFromJson(StatusToJson(Status(info.code, "m"))).code(), info.code);
  }
}

void hostile_statuses_stay_errors(void**) {
  for (const char* text : {"{}", "[]", "3", "{\"code\":0}", "{\"code\":-1}", "{\"code\":\"SYNTAX\"}",
                           "{\"code\":99999999999}", "{\"code\":100,\"message\":7}"}) {
    const auto object = ParseJson(text);
    assert_ok(object);
    assert_code(StatusFromJson(*object), ErrorCode::MALFORMED_FRAME);
  }
  const auto newer = ParseJson("{\"code\":4711,\"message\":\"new\"}");
  const Status status = StatusFromJson(*newer);
  assert_int_equal(status.code(), ErrorCode::INTERNAL);
  assert_text(status.message(), "new (error 4711, unknown here)");
  const auto odd = ParseJson(R"({"code":100,"line":-4,"column":1,"expected":[1,"A"],"detail":null})");
  assert_false(StatusFromJson(*odd).position().known());
  assert_int_equal(StatusFromJson(*odd).expected().size(), 1);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_kind),
      cmocka_unit_test(round_trips_extreme_numbers),
      cmocka_unit_test(refuses_what_is_no_json),
      cmocka_unit_test(refuses_bad_unicode),
      cmocka_unit_test(names_the_byte),
      cmocka_unit_test(refuses_repeated_keys),
      cmocka_unit_test(depth_limit_is_exact),
      cmocka_unit_test(depth_of_100000_is_refused),
      cmocka_unit_test(dumps_what_json_cannot_hold),
      cmocka_unit_test(ordered_keeps_order),
      cmocka_unit_test(fields_have_types),
      cmocka_unit_test(field_errors_say_which),
      cmocka_unit_test(integers_are_exact),
      cmocka_unit_test(fallbacks_serve_absent_fields_only),
      cmocka_unit_test(status_round_trips),
      cmocka_unit_test(plain_status_leaves_parts_out),
      cmocka_unit_test(every_error_round_trips),
      cmocka_unit_test(hostile_statuses_stay_errors),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
