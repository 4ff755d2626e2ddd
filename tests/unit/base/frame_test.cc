// Frames: every split point, the limits to the byte, and broken streams that stay broken.
#include "engine/base/frame.h"

#include <vector>

#include "tests/support/test.h"

namespace traind {
namespace {

std::string RawFrame(uint32_t length, std::string_view bytes) {
  std::string frame;
  for (int i = 0; i < 4; ++i) frame += static_cast<char>((length >> (8 * i)) & 0xff);
  return frame + std::string(bytes);
}

std::string RawFrame(std::string_view bytes) {
  return RawFrame(static_cast<uint32_t>(bytes.size()), bytes);
}

// An object whose text has exactly `bytes` bytes.
std::string ObjectOf(size_t bytes) {
  return "{\"a\":\"" + std::string(bytes - 8, 'x') + "\"}";
}

void a_frame_is_length_and_json(void**) {
  std::string out = "before";
  AppendFrame(Json{{"id", 1}}, &out);
  assert_text(out, std::string("before\x08\0\0\0{\"id\":1}", 18));
}

void every_split_point_gives_the_same(void**) {
  std::string stream;
  AppendFrame(Json{{"id", 1}, {"text", "a\u00e9"}}, &stream);
  AppendFrame(Json::object(), &stream);
  AppendFrame(Json{{"id", 2}}, &stream);
  for (size_t split = 0; split <= stream.size(); ++split) {
    FrameReader reader(1000);
    std::vector<std::string> messages;
    for (const std::string_view piece :
         {std::string_view(stream).substr(0, split), std::string_view(stream).substr(split)}) {
      reader.Feed(piece);
      for (;;) {
        auto next = reader.Next();
        assert_ok(next);
        if (!next->has_value()) break;
        messages.push_back(DumpJson(**next));
      }
    }
    assert_int_equal(messages.size(), 3);
    assert_text(messages[0], "{\"id\":1,\"text\":\"a\u00e9\"}");
    assert_text(messages[1], "{}");
    assert_text(messages[2], "{\"id\":2}");
  }
}

void byte_by_byte(void**) {
  std::string stream;
  AppendFrame(Json{{"id", 1}}, &stream);
  FrameReader reader(1000);
  for (size_t i = 0; i + 1 < stream.size(); ++i) {
    reader.Feed(stream.substr(i, 1));
    const auto next = reader.Next();
    assert_ok(next);
    assert_false(next->has_value());
  }
  reader.Feed(stream.substr(stream.size() - 1));
  assert_true((*reader.Next()).has_value());
}

void the_limit_is_exact(void**) {
  constexpr int64_t kLimit = 64;
  for (const size_t size : {size_t{63}, size_t{64}}) {
    FrameReader reader(kLimit);
    reader.Feed(RawFrame(ObjectOf(size)));
    assert_true((*reader.Next()).has_value());
  }
  FrameReader reader(kLimit);
  reader.Feed(RawFrame(ObjectOf(65)));
  const Status status = reader.Next().status();
  assert_int_equal(status.code(), ErrorCode::FRAME_TOO_LARGE);
  assert_text(status.message(), "a message of 65 bytes; the limit is 64 bytes");
}

void a_length_is_refused_before_its_bytes_come(void**) {
  for (const uint32_t length : {65u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    FrameReader reader(64);
    reader.Feed(RawFrame(length, ""));
    assert_code(reader.Next(), ErrorCode::FRAME_TOO_LARGE);
  }
}

void refuses_what_is_no_object(void**) {
  for (const std::string& frame : {RawFrame(0, ""), RawFrame("[]"), RawFrame("1"), RawFrame("null"),
                                   RawFrame("\"a\""), RawFrame("{"), RawFrame("{}{}"), RawFrame("\xff\xff"),
                                   RawFrame(std::string(1000, '[')), RawFrame("{\"a\":1,\"a\":1}")}) {
    FrameReader reader(4096);
    reader.Feed(frame);
    assert_code(reader.Next(), ErrorCode::MALFORMED_FRAME);
  }
}

void a_broken_stream_stays_broken(void**) {
  FrameReader reader(64);
  reader.Feed(RawFrame("[]"));
  assert_code(reader.Next(), ErrorCode::MALFORMED_FRAME);
  for (int i = 0; i < 1000; ++i) reader.Feed(RawFrame("{}"));
  assert_code(reader.Next(), ErrorCode::MALFORMED_FRAME);
}

void messages_before_the_fault_are_served(void**) {
  FrameReader reader(64);
  reader.Feed(RawFrame("{}") + RawFrame("{\"a\":1}") + RawFrame("!"));
  assert_true((*reader.Next()).has_value());
  assert_true((*reader.Next()).has_value());
  assert_code(reader.Next(), ErrorCode::MALFORMED_FRAME);
}

void long_streams_keep_their_order(void**) {
  std::string stream;
  constexpr int kMessages = 20000;
  for (int i = 0; i < kMessages; ++i) AppendFrame(Json{{"i", i}, {"pad", std::string(i % 37, 'p')}}, &stream);
  FrameReader reader(1000);
  int expected = 0;
  for (size_t at = 0; at < stream.size(); at += 7919) {
    reader.Feed(std::string_view(stream).substr(at, 7919));
    for (auto next = reader.Next(); (assert_true(next.ok()), next->has_value()); next = reader.Next()) {
      assert_int_equal(*GetInt(**next, "i"), expected);
      ++expected;
    }
  }
  assert_int_equal(expected, kMessages);
}

}  // namespace
}  // namespace traind

int main() {
  using namespace traind;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_frame_is_length_and_json),
      cmocka_unit_test(every_split_point_gives_the_same),
      cmocka_unit_test(byte_by_byte),
      cmocka_unit_test(the_limit_is_exact),
      cmocka_unit_test(a_length_is_refused_before_its_bytes_come),
      cmocka_unit_test(refuses_what_is_no_object),
      cmocka_unit_test(a_broken_stream_stays_broken),
      cmocka_unit_test(messages_before_the_fault_are_served),
      cmocka_unit_test(long_streams_keep_their_order),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
