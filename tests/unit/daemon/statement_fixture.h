// Statements against a catalog of their own, without a server: text in, outcome out.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/jobs/jobs.h"
#include "daemon/statement.h"
#include "engine/base/io.h"
#include "engine/plan/planner.h"
#include "grammar/parse.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::testing {

class FixedClock : public Clock {
 public:
  double WallSeconds() const override { return now; }
  double MonotonicSeconds() const override { return now; }
  double now = 1.796e9;  // 2026-11-30, as the statements' files have it
};

// A client's session with a daemon of one invented CPU device, in a directory with two text files.
class StatementFixture {
 public:
  StatementFixture() {
    assert_ok(state_.Open());
    WriteFile("data.txt", Repeat("All happy families are alike. ", 200));
    WriteFile("held.txt", Repeat("Every unhappy family is unhappy in its own way. ", 50));
    device_.uuid = "test";
    device_.type = "cpu";
    device_.threads = 2;
    device_.instruction_set = "avx2";
    device_.memory_bytes = int64_t{8} << 30;
    device_.free_bytes = int64_t{6} << 30;
    device_.context_bytes = 10 << 20;
    device_.matmul_flops_per_second = 1e11;
    device_.memory_bytes_per_second = 1e10;
    daemon_.state_directory = state_.path();
    daemon_.catalog = &state_.catalog();
    daemon_.io = &PosixIo();
    daemon_.clock = &clock;
    daemon_.devices = [this] { return std::vector<DeviceSpec>{device_}; };
    daemon_.job_changed = [this](int64_t job) { changed.push_back(job); };
    session.directory = state_.path();
    reader = state_.NewReader();
  }

  // What the invented device computes bf16 at; 0: not natively.
  void SetBf16(double flops_per_second) { device_.bf16_flops_per_second = flops_per_second; }

  // One statement; the session takes over what it changed.
  Result<daemon::Outcome> Run(std::string_view text, bool check = false) {
    TRAIND_ASSIGN(const grammar::ParsedStatement parsed, grammar::ParseOne(text));
    const daemon::Context context{session, daemon_, *reader, std::string(text), token, check, parameters};
    auto outcome = daemon::Execute(*parsed.statement, context);
    if (outcome.ok()) {
      const auto* reply = std::get_if<daemon::Reply>(&*outcome);
      if (reply != nullptr && reply->session) session = *reply->session;
    }
    return outcome;
  }
  // Several, divided by ';', which must all succeed; the last one's rows.
  daemon::Reply Do(std::string_view script) {
    daemon::Reply reply;
    const grammar::ParsedScript parsed = grammar::Parse(script);
    if (!parsed.errors.empty()) Fail(script, parsed.errors.front());
    for (const auto& statement : parsed.statements) {
      const auto text = script.substr(static_cast<size_t>(statement.begin),
                                      static_cast<size_t>(statement.end - statement.begin));
      auto outcome = Run(text);
      if (!outcome.ok()) Fail(text, outcome.status());
      reply = ReplyOf(*outcome);
    }
    return reply;
  }
  // The rows as text: "a|b;c|d".
  std::string Rows(std::string_view script) { return TextOf(Do(script)); }
  // The error as "NAME column".
  std::string Error(std::string_view text) {
    const auto outcome = Run(text);
    if (outcome.ok()) return "OK";
    const Status status = outcome.status();
    return std::string(status.info().name) + " " + std::to_string(status.position().column);
  }
  std::string Message(std::string_view text) {
    const auto outcome = Run(text);
    return outcome.ok() ? "OK" : outcome.status().message() + " | " + outcome.status().hint();
  }

  static daemon::Reply ReplyOf(const daemon::Outcome& outcome) {
    if (const auto* wait = std::get_if<daemon::WaitOutcome>(&outcome)) return wait->reply;
    if (const auto* follow = std::get_if<daemon::FollowOutcome>(&outcome)) return follow->reply;
    if (const auto* reply = std::get_if<daemon::Reply>(&outcome)) return *reply;
    return {};
  }
  static std::string TextOf(const daemon::Cell& cell) {
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
    if (const auto* real = std::get_if<double>(&cell)) return std::to_string(*real);
    return "-";
  }
  static std::string TextOf(const std::vector<std::vector<daemon::Cell>>& rows) {
    std::string text;
    for (const auto& row : rows) {
      if (!text.empty()) text += ';';
      for (size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : "|") + TextOf(row[i]);
    }
    return text;
  }
  static std::string TextOf(const daemon::Reply& reply) { return TextOf(reply.rows); }
  // The value beside `item` in the reply's last two columns.
  static std::string Item(const daemon::Reply& reply, std::string_view item) {
    for (const auto& row : reply.rows) {
      if (TextOf(row[row.size() - 2]) == item) return TextOf(row.back());
    }
    return "(none)";
  }

  void WriteFile(const std::string& name, const std::string& content) {
    std::ofstream(state_.path() + "/" + name) << content;
  }
  static std::string Repeat(std::string_view text, int times) {
    std::string repeated;
    for (int i = 0; i < times; ++i) repeated += text;
    return repeated;
  }
  // As the supervisor would.
  void Change(int64_t job, daemon::JobChange change) {
    assert_ok(state_.catalog().Write(
        [&](daemon::Transaction& t) { return daemon::Apply(t, job, change, "", clock.now).status(); }));
  }
  void Start(int64_t job) {
    Change(job, daemon::JobChange::kStart);
    Change(job, daemon::JobChange::kPrepared);
  }
  Status Write(std::function<Status(daemon::Transaction&)> work) {
    return state_.catalog().Write(std::move(work));
  }
  // A small model and a data set.
  void Make() {
    Do("CREATE MODEL tiny ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, "
       "num_attention_heads=4, "
       "num_key_value_heads=2, intermediate_size=192, vocab_size=256, max_position_embeddings=128);"
       "CREATE DATASET lic FROM 'data.txt' FORMAT text");
  }
  const std::string& directory() const { return state_.path(); }
  daemon::Catalog& catalog() { return state_.catalog(); }

  daemon::SessionState session;
  std::map<std::string, grammar::Value> parameters;
  std::string token;
  FixedClock clock;
  std::vector<int64_t> changed;
  std::unique_ptr<daemon::Reader> reader;
  DeviceSpec device_;

 private:
  static void Fail(std::string_view text, const Status& status) {
    std::fprintf(stderr, "%s\n  %s\n", std::string(text).c_str(), status.ToString().c_str());
    fail();
  }

  TemporaryState state_;
  daemon::DaemonState daemon_;
};

}  // namespace traind::testing
