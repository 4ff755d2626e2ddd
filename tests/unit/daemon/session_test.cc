// The protocol as a client sees it, over a real socket: order, limits, interrupts, waits, slow readers.
#include "daemon/session.h"

#include <atomic>
#include <thread>

#include "daemon/jobs/jobs.h"
#include "grammar/parse.h"
#include "tests/unit/daemon/test_server.h"

// GCC 12 takes a moved variant's unused alternatives for uninitialised.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace traind::daemon {
namespace {

std::atomic<int> executed = 0;

constexpr std::string_view kForEver =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

Reply Numbers(int64_t count, size_t width) {
  Reply reply;
  reply.columns = {{"n", "integer"}, {"text", "text"}};
  for (int64_t i = 0; i < count; ++i) reply.rows.push_back({i, std::string(width, 'x')});
  return reply;
}

Result<Outcome> Replied(Outcome outcome) {
  return Result<Outcome>(std::move(outcome));
}

int64_t NumberOf(const grammar::Set& set) {
  return set.value.quantity.integer;
}

}  // namespace

// The test's statements: SET <what> = <number>.
Result<Outcome> Execute(const grammar::Statement& statement, const Context& context) {
  ++executed;
  if (const auto* let = std::get_if<grammar::Let>(&statement)) {
    Reply reply;
    reply.session = context.session;
    reply.session->variables[let->name.name] = let->value;
    return Replied(std::move(reply));
  }
  if (std::holds_alternative<grammar::Select>(
          statement)) {  // the session's variables and the parameters, by name
    Reply reply;
    reply.columns = {{"name", "text"}};
    auto variables = context.session.variables;
    variables.insert(context.parameters.begin(), context.parameters.end());
    for (const auto& [name, value] : variables) reply.rows.push_back({name});
    return Replied(std::move(reply));
  }
  const auto* set = std::get_if<grammar::Set>(&statement);
  if (set == nullptr) return Status(ErrorCode::NO_SUCH_MODEL, "the test knows SET only");
  const std::string& what = set->name.text;
  const int64_t number = NumberOf(*set);
  if (what == "rows") return Replied(Numbers(number, 10));
  if (what == "wide") return Replied(Numbers(1, static_cast<size_t>(number)));
  if (what == "sleep") {
    std::this_thread::sleep_for(std::chrono::milliseconds(number));
    return Replied(Numbers(1, 1));
  }
  if (what == "endless") {
    TRAIND_ASSIGN(const auto rows, context.reader.Query(kForEver));
    return Replied(Numbers(static_cast<int64_t>(rows.size()), 1));
  }
  if (what == "waiting") return Replied(WaitOutcome{Numbers(1, 1), {number}, std::nullopt});
  if (what == "timeout") return Replied(WaitOutcome{Numbers(1, 1), {1}, static_cast<double>(number) / 1000});
  if (what == "follow") {
    FollowOutcome follow;
    follow.reply = Numbers(1, 1);
    follow.job = number;
    follow.next = [](Reader&, int64_t* after) -> Result<std::vector<std::vector<Cell>>> {
      if (*after >= 1000) return std::vector<std::vector<Cell>>();
      *after += 100;
      return Numbers(100, 10000).rows;
    };
    return Replied(std::move(follow));
  }
  if (what == "worker") return Replied(WorkerOutcome{Json{{"type", "generate"}}});
  return Replied(Reply());
}

namespace {

using testing::TestClient;
using testing::TestServer;

int64_t InsertExampleJob(TestServer* server) {
  JobRecord job;
  job.name = "nightly";
  job.model = job.target_model = "m";
  job.training.target.steps = 100;
  job.statement = job.canonical = "TRAIN";
  job.labels = "{}";
  job.plan = Json::object();
  int64_t id = 0;
  assert_ok(server->state().catalog().Write([&](Transaction& transaction) -> Status {
    TRAIND_ASSIGN(id, InsertJob(transaction, job, {}, server->state().path(), 1000));
    return Ok();
  }));
  return id;
}

void Change(TestServer* server, int64_t job, JobChange change, const std::string& reason = "") {
  assert_ok(server->state().catalog().Write(
      [&](Transaction& transaction) { return Apply(transaction, job, change, reason, 1000).status(); }));
  server->daemon().job_changed(job);
}

void hello_comes_first(void**) {
  TestServer server;
  {
    TestClient client(server, false);
    client.Execute(1, "SET rows = 1");
    const auto error = client.Receive();
    assert_true((*error)["id"].is_null());
    assert_text((*error)["error"]["name"].get<std::string>(), "MALFORMED_FRAME");
    assert_false(client.Receive().has_value());
  }
  {
    TestClient client(server, false);
    client.Send({{"id", 1}, {"op", "hello"}, {"protocol", 99}});
    const auto error = client.Receive();
    assert_text((*error)["error"]["name"].get<std::string>(), "PROTOCOL_MISMATCH");
    const std::string text = (*error)["error"]["message"].get<std::string>();
    assert_true(text.find("99") != std::string::npos && text.find("protocol 1") != std::string::npos);
  }
  {
    TestClient client(server, false);
    client.Send({{"id", 1}, {"op", "hello"}, {"protocol", 1}, {"directory", "relative"}});
    assert_text((*client.Receive())["error"]["name"].get<std::string>(), "MALFORMED_FRAME");
  }
  TestClient client(server);
  client.Send({{"id", 1}, {"op", "hello"}, {"protocol", 1}});
  assert_text(client.Await(1)["error"]["name"].get<std::string>(), "MALFORMED_FRAME");
  client.Execute(2, "SET rows = 1");
  assert_true(client.Await(2).contains("done"));
}

void results_come_in_batches(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "SET rows = 100000");
  const auto columns = client.Receive();
  assert_text((*columns)["kind"].get<std::string>(), "SET");
  assert_text((*columns)["columns"][1]["name"].get<std::string>(), "text");
  const Json done = client.Await(1);
  assert_int_equal(done["done"]["rows"].get<int64_t>(), 100000);
  assert_int_equal(client.rows(), 100000);
  client.Execute(2, "SET nothing = 1");
  assert_text(client.Receive()->dump(), R"({"done":{"kind":"SET","notices":[],"rows":0},"id":2})");
}

void a_row_beyond_a_message_is_refused(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "SET wide = 4190000");
  assert_true(client.Await(1).contains("done"));
  client.Execute(2, "SET wide = 4195000");
  assert_text(client.Await(2)["error"]["name"].get<std::string>(), "TOO_MANY");
  client.Execute(3, "SET rows = 1");
  assert_true(client.Await(3).contains("done"));
}

void statements_of_a_session_run_in_order(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "SET sleep = 100");
  client.Execute(2, "SET rows = 1");
  client.Execute(3, "NONSENSE");
  std::vector<int64_t> order;
  while (order.size() < 3) {
    const auto message = client.Receive();
    if (message->contains("done") || message->contains("error"))
      order.push_back((*message)["id"].get<int64_t>());
  }
  assert_int_equal(order[0], 1);
  assert_int_equal(order[1], 2);
  assert_int_equal(order[2], 3);
}

void errors_have_positions_in_the_script(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "TRAIN MODEL m FORM d", Json{{"offset", 100}, {"line", 7}, {"column", 3}});
  const Json error = client.Await(1)["error"];
  assert_int_equal(error["line"].get<int>(), 7);
  assert_int_equal(error["column"].get<int>(), 17);
  assert_int_equal(error["offset"].get<int>(), 114);
}

void parsing_splits_a_script(void**) {
  TestServer server;
  TestClient client(server);
  client.Send({{"id", 1}, {"op", "parse"}, {"text", "SHOW JOBS; SELECT $a, ? ; SET x ="}});
  const Json parsed = client.Await(1)["ok"];
  assert_int_equal(parsed["statements"].size(), 3);
  assert_text(parsed["statements"][0]["kind"].get<std::string>(), "SHOW JOBS");
  assert_text(parsed["statements"][1]["parameters"].dump(), R"(["a","1"])");
  assert_int_equal(parsed["errors"].size(), 1);
  client.Send({{"id", 2}, {"op", "parse"}, {"text", std::string(400000, ';')}});
  client.Await(2);
  client.Send({{"id", 3}, {"op", "parse"}, {"text", std::string(kMaxScriptBytes + 1, ' ')}});
  assert_text(client.Await(3)["error"]["name"].get<std::string>(), "STATEMENT_TOO_LONG");
  std::string many;
  while (many.size() + 2 < kMaxScriptBytes) many += "a;";
  client.Send({{"id", 4}, {"op", "parse"}, {"text", many}});
  client.Await(4);  // an answer of whatever kind, and the daemon lives
  client.Execute(5, "SET rows = 1");
  assert_true(client.Await(5).contains("done"));
}

void variables_stay_and_parameters_do_not(void**) {
  TestServer server;
  TestClient client(server);
  const auto names = [&client](int64_t id, Json parameters) {
    client.Execute(id, "SELECT 1", Json{{"parameters", std::move(parameters)}});
    std::string all;
    while (true) {
      const auto message = client.Receive();
      if (message->contains("rows")) {
        for (const Json& row : (*message)["rows"]) all += row[0].get<std::string>() + " ";
      }
      if (message->contains("done")) return all;
    }
  };
  client.Execute(1, "LET $x = 5", Json{{"parameters", {{"p", 1}}}});
  assert_true(client.Await(1).contains("done"));
  assert_text(names(2, Json::object()), "x ");
  assert_text(names(3, {{"q", "text"}, {"r", nullptr}, {"s", true}, {"t", 1.5}, {"u", {{"quantity", "4h"}}}}),
              "q r s t u x ");
  client.Execute(4, "LET $p = 6", Json{{"parameters", {{"p", 1}}}});
  client.Await(4);
  assert_text(names(5, Json::object()), "p x ");
  client.Execute(6, "SELECT 1", Json{{"parameters", {{"a", {1, 2}}}}});
  assert_text(client.Await(6)["error"]["name"].get<std::string>(), "MALFORMED_FRAME");
}

void requests_in_flight_are_limited(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "SET sleep = 300");
  for (int64_t id = 2; id <= kMaxRequestsInFlight + 1; ++id) client.Execute(id, "SET rows = 1");
  assert_text(client.Await(kMaxRequestsInFlight + 1)["error"]["name"].get<std::string>(), "TOO_MANY");
  assert_true(client.Await(kMaxRequestsInFlight).contains("done"));
}

void an_id_is_used_once_at_a_time(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "SET sleep = 200");
  client.Execute(1, "SET rows = 1");
  const auto message = client.Receive();
  assert_true((*message)["id"].is_null());
  assert_text((*message)["error"]["name"].get<std::string>(), "MALFORMED_FRAME");
}

void interrupts_reach_every_phase(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  TestClient client(server);
  int before = executed;
  client.Execute(1, "SET endless = 1");
  client.Execute(2, "SET rows = 1");  // queued behind it
  while (executed == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  before = executed;
  client.Send({{"id", 10}, {"op", "interrupt"}, {"target", 2}});
  assert_text(client.Await(2)["error"]["name"].get<std::string>(), "INTERRUPTED");
  client.Send({{"id", 11}, {"op", "interrupt"}, {"target", 1}});
  assert_text(client.Await(1)["error"]["name"].get<std::string>(), "INTERRUPTED");
  assert_int_equal(executed, before);  // the queued one never ran

  client.Execute(3, "SET waiting = " + std::to_string(job));
  client.Execute(4, "SET rows = 1");
  assert_true(client.Await(4).contains("done"));  // a wait holds nothing up
  client.Send({{"id", 12}, {"op", "interrupt"}, {"target", 3}});
  assert_text(client.Await(3)["error"]["name"].get<std::string>(), "INTERRUPTED");

  client.Execute(5, "SET follow = " + std::to_string(job));
  client.Execute(6, "SET rows = 1");
  assert_true(client.Await(6).contains("done"));
  client.Send({{"id", 13}, {"op", "interrupt"}, {"target", 5}});
  assert_text(client.Await(5)["error"]["name"].get<std::string>(), "INTERRUPTED");

  client.Send({{"id", 14}, {"op", "interrupt"}, {"target", 999}});
  assert_true(client.Await(14).contains("ok"));
}

void a_clients_death_ends_what_it_waits_for(void**) {
  TestServer server;
  {
    TestClient client(server);
    client.Execute(1, "SET endless = 1");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  // Its thread is free again: more endless ones than the pool has threads come and go.
  for (int i = 0; i < 20; ++i) {
    TestClient client(server);
    client.Execute(1, "SET endless = 1");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  TestClient client(server);
  client.Execute(1, "SET rows = 1");
  assert_true(client.Await(1).contains("done"));
}

void waits_end_with_their_job(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  const std::string text = "SET waiting = " + std::to_string(job);
  TestClient client(server);
  client.Execute(1, text, Json{{"progress", true}});
  std::vector<std::string> states;
  std::atomic<bool> seen_running = false;
  const auto collect = [&](int64_t id) {
    while (true) {
      const auto message = client.Receive();
      if (message->contains("progress")) states.push_back((*message)["progress"]["state"].get<std::string>());
      if (!states.empty() && states.back() == "RUNNING") seen_running = true;
      if ((*message)["id"] == id && (message->contains("done") || message->contains("error")))
        return *message;
    }
  };
  std::thread worker([&] {
    Change(&server, job, JobChange::kStart);
    Change(&server, job, JobChange::kPrepared);
    while (!seen_running) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Change(&server, job, JobChange::kSucceed);
  });
  assert_true(collect(1).contains("done"));
  worker.join();
  assert_text(states.back(), "SUCCEEDED");
  assert_true(std::ranges::find(states, "RUNNING") != states.end());
  client.Execute(2, text);
  assert_true(collect(2).contains("done"));  // it has ended already
}

void waits_say_how_their_job_ended(void**) {
  struct Row {
    JobChange change;
    std::string name;
  };
  for (const Row& row : {Row{JobChange::kFail, "JOB_FAILED"}, Row{JobChange::kCancel, "JOB_CANCELLED"},
                         Row{JobChange::kExceedBudget, "BUDGET_EXCEEDED"}}) {
    TestServer server;
    const int64_t job = InsertExampleJob(&server);
    Change(&server, job, row.change, "because");
    TestClient client(server);
    client.Execute(1, "SET waiting = " + std::to_string(job));
    const Json error = client.Await(1)["error"];
    assert_text(error["name"].get<std::string>(), row.name);
    assert_true(error["message"].get<std::string>().find("because") != std::string::npos);
    assert_true(error["message"].get<std::string>().find("nightly") != std::string::npos);
  }
}

// The job's own row has the step that was saved last; what was trained since counts too.
void a_waits_end_tells_the_newest_step(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  MetricRow row;
  row.step = 7;
  server.daemon().catalog->SubmitMetrics(job, {row}, true);
  Change(&server, job, JobChange::kCancel);
  TestClient client(server);
  client.Execute(1, "SET waiting = " + std::to_string(job));
  const std::string message = client.Await(1)["error"]["message"].get<std::string>();
  assert_true(message.find("is CANCELLED at step 7") != std::string::npos);
}

void stopped_jobs_end_a_wait_only_if_asked(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  Change(&server, job, JobChange::kPause);
  TestClient client(server);
  const std::string text = "SET waiting = " + std::to_string(job);
  client.Execute(1, text, Json{{"stop_on_paused", true}});
  assert_text(client.Await(1)["error"]["name"].get<std::string>(), "JOB_STOPPED");
  client.Execute(2, text);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Change(&server, job, JobChange::kCancel);
  assert_text(client.Await(2)["error"]["name"].get<std::string>(), "JOB_CANCELLED");
}

void waits_time_out(void**) {
  TestServer server;
  InsertExampleJob(&server);
  TestClient client(server);
  const double began = SystemClock().MonotonicSeconds();
  client.Execute(1, "SET timeout = 300");
  assert_text(client.Await(1)["error"]["name"].get<std::string>(), "WAIT_TIMED_OUT");
  const double took = SystemClock().MonotonicSeconds() - began;
  assert_true(took > 0.29);
  client.Execute(2, "SET waiting = 999");
  assert_text(client.Await(2)["error"]["name"].get<std::string>(), "NO_SUCH_JOB");
}

void a_follow_ends_with_its_job(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  TestClient client(server);
  client.Execute(1, "SET follow = " + std::to_string(job));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // nobody reads: ten megabytes wait
  Change(&server, job, JobChange::kCancel);
  const Json done = client.Await(1);
  assert_int_equal(done["done"]["rows"].get<int64_t>(), 1001);
  assert_int_equal(client.rows(), 1001);
}

void a_worker_that_cannot_start_is_an_error(void**) {
  TestServer server;
  TestClient client(server);
  client.Execute(1, "SET worker = 1");
  const Json error = client.Await(1);
  assert_true(error.contains("error"));
  assert_true(error["error"]["message"].get<std::string>().find("/nonexistent") != std::string::npos);
}

void subscribers_get_events(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  TestClient client(server);
  client.Send({{"id", 5}, {"op", "subscribe"}, {"job", job}, {"kinds", {"state", "metric"}}});
  assert_true(client.Await(5).contains("ok"));
  Change(&server, job, JobChange::kStart);
  const auto event = client.Receive();
  assert_int_equal((*event)["event"]["subscription"].get<int64_t>(), 5);
  assert_text((*event)["event"]["state"].get<std::string>(), "PREPARING");
  server.OnLoop([&] {
    server.hub().Publish(EventKind::kMetric, job + 1, Json{{"step", 1}});  // another job's
    server.hub().Publish(EventKind::kLog, job, Json{{"text", "not subscribed"}});
    server.hub().Publish(EventKind::kMetric, job, Json{{"step", 2}});
  });
  assert_int_equal((*client.Receive())["event"]["step"].get<int64_t>(), 2);
  client.Send({{"id", 6}, {"op", "unsubscribe"}, {"target", 5}});
  client.Await(6);
  Change(&server, job, JobChange::kPrepared);
  client.Execute(7, "SET rows = 1");
  while (true) {
    const auto message = client.Receive();
    assert_false(message->contains("event"));
    if (message->contains("done")) break;
  }
  client.Send({{"id", 8}, {"op", "subscribe"}, {"kinds", {"nonsense"}}});
  assert_text(client.Await(8)["error"]["name"].get<std::string>(), "MALFORMED_FRAME");
}

int64_t ResidentBytes() {
  long total = 0;
  long resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == nullptr || fscanf(file, "%ld %ld", &total, &resident) != 2) fail();
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

void slow_readers_are_bounded(void**) {
  TestServer server;
  std::vector<std::unique_ptr<TestClient>> stalled;
  for (int i = 0; i < 8; ++i) {
    stalled.push_back(std::make_unique<TestClient>(server));
    stalled.back()->Send({{"id", 1}, {"op", "subscribe"}});
    stalled.back()->Await(1);
  }
  TestClient client(server);
  const int64_t before = ResidentBytes();
  const std::string text(1000, 'm');
  for (int round = 0; round < 40; ++round) {
    server.OnLoop([&] {
      for (int i = 0; i < 1000; ++i) server.hub().Publish(EventKind::kMetric, 1, Json{{"text", text}});
    });
    client.Execute(round + 1, "SET rows = 1");
    assert_true(client.Await(round + 1).contains("done"));
  }
  const int64_t grown = ResidentBytes() - before;
  if (grown > 8 * (kMaxSubscriberBytes + (4 << 20))) fail_msg("grew by %ld bytes", static_cast<long>(grown));
  // What may not be dropped cuts them off, with a reason.
  server.OnLoop([&] {
    for (int i = 0; i < 10000; ++i) server.hub().Publish(EventKind::kLog, 1, Json{{"text", text}});
  });
  std::string last;
  while (const auto message = stalled[0]->Receive()) last = message->dump();
  assert_true(last.find("SLOW_READER") != std::string::npos);
  client.Execute(100, "SET rows = 1");
  assert_true(client.Await(100).contains("done"));
}

void a_client_that_reads_nothing_is_not_read(void**) {
  TestServer server;
  TestClient client(server);
  const timeval patience{0, 300000};
  setsockopt(client.connection(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  std::string frame;
  AppendFrame(Json{{"id", 1}, {"op", "nonsense"}}, &frame);
  std::string many;
  for (int i = 0; i < 2000; ++i) many += frame;
  const int64_t before = ResidentBytes();
  for (int i = 0; i < 200; ++i) {
    if (send(client.connection(), many.data(), many.size(), MSG_NOSIGNAL) < 0) break;
  }
  assert_true(ResidentBytes() - before < (32 << 20));
  TestClient other(server);
  other.Execute(1, "SET rows = 1");
  assert_true(other.Await(1).contains("done"));
}

void jobs_without_devices_say_so(void**) {
  TestServer server;  // its inventory is empty
  const int64_t job = InsertExampleJob(&server);
  TestClient client(server);
  client.Execute(1, "SET waiting = " + std::to_string(job), Json{{"progress", true}});  // opens the queue
  std::string text;
  while (text.find("devices are not known") == std::string::npos) {
    const auto message = client.Receive();
    if (message->contains("progress") && (*message)["progress"]["text"].is_string()) {
      text = (*message)["progress"]["text"].get<std::string>();
    }
  }
}

void a_leaving_daemon_tells_those_who_wait(void**) {
  TestServer server;
  const int64_t job = InsertExampleJob(&server);
  TestClient client(server);
  client.Execute(1, "SET waiting = " + std::to_string(job));
  client.Execute(2, "SET rows = 1");
  assert_true(client.Await(2).contains("done"));
  server.Stop();
  assert_text(client.Await(1)["error"]["name"].get<std::string>(), "SHUTTING_DOWN");
  assert_false(client.Receive().has_value());
}

void shutdown_is_for_the_embedded(void**) {
  TestServer server;
  TestClient client(server);
  client.Send({{"id", 1}, {"op", "shutdown"}});
  assert_text(client.Await(1)["error"]["name"].get<std::string>(), "MISUSE");
  client.Send({{"id", 2}, {"op", "status"}});
  assert_true(client.Await(2)["ok"]["loop"]["turns"].get<int64_t>() > 0);
}

void hostile_messages_break_only_their_own_connection(void**) {
  TestServer server;
  TestClient neighbour(server);
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  const std::vector<std::string> payloads = {"[]",
                                             "1",
                                             "null",
                                             "{",
                                             deep,
                                             "{\"id\":1}",
                                             "{\"op\":\"hello\"}",
                                             "{\"id\":1.5,\"op\":\"hello\"}",
                                             "{\"id\":1e300,\"op\":\"hello\"}",
                                             "{\"id\":99999999999999999999,\"op\":\"x\"}",
                                             "{\"id\":1,\"op\":7}",
                                             "\xff\xfe",
                                             "{\"id\":1,\"op\":\"\xff\"}",
                                             std::string(1000, '\0')};
  int64_t id = 1;
  for (const std::string& payload : payloads) {
    TestClient client(server, false);
    std::string frame;
    for (size_t shift = 0; shift < 32; shift += 8)
      frame.push_back(static_cast<char>((payload.size() >> shift) & 0xff));
    client.SendBytes(frame + payload);
    const auto answer = client.Receive();
    assert_true(answer.has_value());
    assert_true(answer->contains("error"));
    neighbour.Execute(++id, "SET rows = 1");
    assert_true(neighbour.Await(id).contains("done"));
  }
  for (const std::string& prefix :
       {std::string(4, '\0'), std::string(4, '\xff'), std::string("\x01\x00\x10\x00", 4)}) {
    TestClient client(server, false);
    client.SendBytes(prefix);
    const auto answer = client.Receive();
    assert_true(answer->contains("error"));
    assert_false(client.Receive().has_value());
  }
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(hello_comes_first),
      cmocka_unit_test(results_come_in_batches),
      cmocka_unit_test(a_row_beyond_a_message_is_refused),
      cmocka_unit_test(statements_of_a_session_run_in_order),
      cmocka_unit_test(errors_have_positions_in_the_script),
      cmocka_unit_test(parsing_splits_a_script),
      cmocka_unit_test(variables_stay_and_parameters_do_not),
      cmocka_unit_test(requests_in_flight_are_limited),
      cmocka_unit_test(an_id_is_used_once_at_a_time),
      cmocka_unit_test(interrupts_reach_every_phase),
      cmocka_unit_test(a_clients_death_ends_what_it_waits_for),
      cmocka_unit_test(waits_end_with_their_job),
      cmocka_unit_test(waits_say_how_their_job_ended),
      cmocka_unit_test(a_waits_end_tells_the_newest_step),
      cmocka_unit_test(stopped_jobs_end_a_wait_only_if_asked),
      cmocka_unit_test(waits_time_out),
      cmocka_unit_test(a_follow_ends_with_its_job),
      cmocka_unit_test(a_worker_that_cannot_start_is_an_error),
      cmocka_unit_test(subscribers_get_events),
      cmocka_unit_test(slow_readers_are_bounded),
      cmocka_unit_test(a_client_that_reads_nothing_is_not_read),
      cmocka_unit_test(jobs_without_devices_say_so),
      cmocka_unit_test(a_leaving_daemon_tells_those_who_wait),
      cmocka_unit_test(shutdown_is_for_the_embedded),
      cmocka_unit_test(hostile_messages_break_only_their_own_connection),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
