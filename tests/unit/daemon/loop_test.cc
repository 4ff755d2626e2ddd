// The loop, its pool and its channels, from several threads.
#include "daemon/loop.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "daemon/channel.h"
#include "daemon/pool.h"
#include "engine/base/clock.h"
#include "engine/base/frame.h"
#include "engine/base/limits.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

// Runs the loop until `done` says so, ten seconds at most.
void RunUntil(Loop* loop, const std::function<bool()>& done) {
  const double end = SystemClock().MonotonicSeconds() + 10;
  Timer timer(loop, [&] {
    if (done() || SystemClock().MonotonicSeconds() > end) loop->Stop();
  });
  timer.Every(1);
  loop->Run();
  assert_true(done());
}

void posted_tasks_run_in_order_on_the_loop(void**) {
  Loop loop;
  const auto loop_thread = std::this_thread::get_id();
  std::vector<int> seen;
  bool elsewhere = false;
  std::thread poster([&] {
    for (int i = 0; i < 10000; ++i) {
      loop.Post([&, i] {
        elsewhere = elsewhere || std::this_thread::get_id() != loop_thread;
        seen.push_back(i);
      });
    }
  });
  RunUntil(&loop, [&] { return seen.size() == 10000; });
  poster.join();
  assert_false(elsewhere);
  for (int i = 0; i < 10000; ++i) assert_int_equal(seen[static_cast<size_t>(i)], i);
  assert_true(loop.lag().turns() > 0);
}

void a_timer_may_destroy_itself(void**) {
  Loop loop;
  int fired = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(&loop, [&] {
    ++fired;
    timer.reset();
  });
  timer->Every(1);
  RunUntil(&loop, [&] { return fired == 1 && timer == nullptr; });
}

void slow_turns_are_metered(void**) {
  Loop loop;
  bool done = false;
  loop.Post([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    done = true;
  });
  RunUntil(&loop, [&] { return done; });
  assert_true(loop.lag().max_ns() >= 30'000'000);
}

class PoolFixture {
 public:
  explicit PoolFixture(int threads = 2, int max_threads = 2) {
    assert_ok(state.Open());
    auto started = Pool::Start(&loop, &state.catalog(), threads, max_threads);
    assert_ok(started);
    pool = *std::move(started);
  }
  TemporaryState state;
  Loop loop;
  std::unique_ptr<Pool> pool;
};

void work_is_answered_on_the_loop(void**) {
  PoolFixture fixture;
  const auto loop_thread = std::this_thread::get_id();
  std::atomic<int> worked = 0;
  int answered = 0;
  for (int i = 0; i < 100; ++i) {
    fixture.pool->Submit(
        [&](Reader& reader) {
          if (std::this_thread::get_id() != loop_thread && reader.QueryRow("SELECT 1").ok()) ++worked;
        },
        [&] { ++answered; });
  }
  RunUntil(&fixture.loop, [&] { return answered == 100; });
  assert_int_equal(worked, 100);
}

constexpr std::string_view kForEver =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

void an_endless_query_is_interrupted(void**) {
  PoolFixture fixture(1, 1);
  Status first;
  Status second = Status(ErrorCode::INTERNAL, "not run");
  bool done = false;
  const auto ticket =
      fixture.pool->Submit([&](Reader& reader) { first = reader.Query(kForEver).status(); }, nullptr);
  fixture.pool->Submit([&](Reader& reader) { second = reader.Query("SELECT 1").status(); },
                       [&] { done = true; });
  Timer interrupt(&fixture.loop, [&] { fixture.pool->Interrupt(ticket); });
  interrupt.Once(50);
  RunUntil(&fixture.loop, [&] { return done; });
  assert_code(first, ErrorCode::INTERRUPTED);
  assert_ok(second);  // the interrupt was the first one's alone
}

void endless_queries_hold_nobody_up(void**) {
  PoolFixture fixture(2, 6);
  std::vector<Pool::Ticket> tickets;
  int ended = 0;
  for (int i = 0; i < 4; ++i) {
    tickets.push_back(
        fixture.pool->Submit([](Reader& reader) { (void)reader.Query(kForEver); }, [&] { ++ended; }));
  }
  bool served = false;
  fixture.pool->Submit([](Reader&) {}, [&] { served = true; });
  RunUntil(&fixture.loop, [&] { return served; });
  assert_in_range(fixture.pool->threads(), 5, 6);
  for (const auto ticket : tickets) fixture.pool->Interrupt(ticket);
  RunUntil(&fixture.loop, [&] { return ended == 4; });
}

void destruction_interrupts_what_runs(void**) {
  PoolFixture fixture(1, 1);
  std::atomic<bool> began = false;
  Status status;
  fixture.pool->Submit(
      [&](Reader& reader) {
        began = true;
        status = reader.Query(kForEver).status();
      },
      [] { fail_msg("answered after the pool's end"); });
  while (!began) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  fixture.pool.reset();
  assert_code(status, ErrorCode::INTERRUPTED);
}

std::array<int, 2> SocketPair() {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) fail();
  return pair;
}

void WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(descriptor, bytes.data(), bytes.size());
    if (put <= 0) fail();
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

void frames_arrive_however_they_are_cut(void**) {
  Loop loop;
  std::string bytes;
  for (int i = 0; i < 50; ++i) AppendFrame(Json{{"number", i}}, &bytes);
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{7}, bytes.size()}) {
    const auto pair = SocketPair();
    std::vector<int> numbers;
    bool ended = false;
    Channel channel(&loop, pair[0], kMaxFrameBytes,
                    {[&](const Json& message) { numbers.push_back(message["number"].get<int>()); },
                     [&](const Status& reason) { ended = reason.ok(); }, nullptr});
    std::thread writer([&] {
      for (size_t at = 0; at < bytes.size(); at += piece) {
        WriteAll(pair[1], std::string_view(bytes).substr(at, piece));
      }
      close(pair[1]);
    });
    RunUntil(&loop, [&] { return ended; });
    writer.join();
    assert_int_equal(numbers.size(), 50);
    assert_int_equal(numbers.back(), 49);
  }
}

void a_broken_stream_ends_with_its_error(void**) {
  Loop loop;
  const auto pair = SocketPair();
  Status reason;
  Channel channel(&loop, pair[0], 100,
                  {[](const Json&) {}, [&](const Status& why) { reason = why; }, nullptr});
  WriteAll(pair[1], std::string("\xff\xff\xff\x7f", 4));
  RunUntil(&loop, [&] { return !reason.ok(); });
  assert_code(reason, ErrorCode::FRAME_TOO_LARGE);
  // It can still be told why.
  bool closed = false;
  channel.Send(Json{{"why", "too large"}});
  channel.Finish(1000, [&] { closed = true; });
  RunUntil(&loop, [&] { return closed; });
  std::array<char, 64> buffer{};
  assert_true(read(pair[1], buffer.data(), buffer.size()) > 4);
  close(pair[1]);
}

void much_is_sent_as_the_reader_takes_it(void**) {
  Loop loop;
  const auto pair = SocketPair();
  bool drained = false;
  Channel channel(&loop, pair[0], kMaxFrameBytes,
                  {[](const Json&) {}, [](const Status&) {}, [&] { drained = true; }});
  const std::string text(100000, 'x');
  for (int i = 0; i < 100; ++i) channel.Send(Json{{"text", text}});
  assert_true(channel.unsent_bytes() > 5'000'000);
  std::atomic<size_t> got = 0;
  std::thread reader([&] {
    std::array<char, 65536> buffer{};
    for (ssize_t n = 0; got < 10'000'000 && (n = read(pair[1], buffer.data(), buffer.size())) > 0;) {
      got += static_cast<size_t>(n);
    }
  });
  RunUntil(&loop, [&] { return drained; });
  reader.join();
  assert_int_equal(channel.unsent_bytes(), 0);
  close(pair[1]);
}

void a_handler_may_destroy_its_channel(void**) {
  Loop loop;
  const auto pair = SocketPair();
  std::unique_ptr<Channel> channel;
  int messages = 0;
  channel = std::make_unique<Channel>(&loop, pair[0], kMaxFrameBytes,
                                      Channel::Handlers{[&](const Json&) {
                                                          ++messages;
                                                          channel.reset();
                                                        },
                                                        [](const Status&) { fail(); }, nullptr});
  std::string bytes;
  for (int i = 0; i < 3; ++i) AppendFrame(Json::object(), &bytes);
  WriteAll(pair[1], bytes);
  RunUntil(&loop, [&] { return channel == nullptr; });
  assert_int_equal(messages, 1);
  close(pair[1]);
}

void paused_reading_leaves_the_rest(void**) {
  Loop loop;
  const auto pair = SocketPair();
  std::unique_ptr<Channel> channel;
  int messages = 0;
  channel = std::make_unique<Channel>(&loop, pair[0], kMaxFrameBytes,
                                      Channel::Handlers{[&](const Json&) {
                                                          if (++messages == 2) channel->PauseReading();
                                                        },
                                                        [](const Status&) {}, nullptr});
  std::string bytes;
  for (int i = 0; i < 5; ++i) AppendFrame(Json::object(), &bytes);
  WriteAll(pair[1], bytes);
  RunUntil(&loop, [&] { return messages == 2; });
  int turns = 0;
  RunUntil(&loop, [&] { return ++turns > 20; });
  assert_int_equal(messages, 2);
  channel->ResumeReading();
  RunUntil(&loop, [&] { return messages == 5; });
  close(pair[1]);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(posted_tasks_run_in_order_on_the_loop),
      cmocka_unit_test(a_timer_may_destroy_itself),
      cmocka_unit_test(slow_turns_are_metered),
      cmocka_unit_test(work_is_answered_on_the_loop),
      cmocka_unit_test(an_endless_query_is_interrupted),
      cmocka_unit_test(endless_queries_hold_nobody_up),
      cmocka_unit_test(destruction_interrupts_what_runs),
      cmocka_unit_test(frames_arrive_however_they_are_cut),
      cmocka_unit_test(a_broken_stream_ends_with_its_error),
      cmocka_unit_test(much_is_sent_as_the_reader_takes_it),
      cmocka_unit_test(a_handler_may_destroy_its_channel),
      cmocka_unit_test(paused_reading_leaves_the_rest),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
