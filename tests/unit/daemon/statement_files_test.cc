// tests/data/statements/ok.tql and bad.tql, executed: what each answers, and at which column an error stands.
#include <fstream>
#include <sstream>

#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

using Fixture = testing::StatementFixture;

std::vector<std::string> ReadLines(const std::string& name) {
  std::ifstream file("tests/data/statements/" + name);
  assert_true(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string NameAndColumn(const Status& status) {
  return std::string(status.info().name) + " " + std::to_string(status.position().column);
}

// As the shell runs a script: parsed whole, then one statement after the other up to the first error.
std::string RunScript(Fixture& fixture, const std::string& script) {
  const grammar::ParsedScript parsed = grammar::Parse(script);
  if (!parsed.errors.empty()) return NameAndColumn(parsed.errors.front());
  for (const auto& statement : parsed.statements) {
    const std::string text(script.substr(0, static_cast<size_t>(statement.end)));
    const std::string alone = std::string(static_cast<size_t>(statement.begin), ' ') +
                              text.substr(static_cast<size_t>(statement.begin));
    const auto outcome = fixture.Run(alone);
    if (!outcome.ok()) return NameAndColumn(outcome.status());
  }
  return "OK";
}

struct BadLine {
  std::string text;
  std::string error;
};

std::vector<BadLine> BadLines() {
  std::vector<BadLine> bad;
  for (const std::string& line : ReadLines("bad.tql")) {
    const size_t mark = line.rfind("-- @ ");
    if (mark == std::string::npos || mark == 0) continue;
    std::istringstream words(line.substr(mark + 5));
    std::string name, column, group;
    words >> name >> column >> group;
    if (group.empty() || group == "@engine") bad.push_back({line.substr(0, mark), name + " " + column});
  }
  return bad;
}

void BadLinesFailWhereTheySay(void**) {
  const std::vector<BadLine> lines = BadLines();
  assert_true(lines.size() >= 15);
  for (const bool made : {true, false}) {  // what is wrong with the text itself is said whatever exists
    for (const BadLine& line : lines) {
      Fixture fixture;
      if (made) fixture.Make();
      assert_text(line.text + RunScript(fixture, line.text), line.text + line.error);
    }
  }
}

// The first group, statement by statement, each as its place in a session needs it: what may fail, and how.
std::string FirstGroup() {
  std::string script;
  for (const std::string& line : ReadLines("ok.tql")) {
    if (line.starts_with("-- @engine")) break;
    script += line + "\n";
  }
  return script;
}

void OkLinesDoWhatTheySay(void**) {
  Fixture fixture;
  fixture.WriteFile("notes.txt", Fixture::Repeat("note ", 1000));
  fixture.WriteFile("x.txt", Fixture::Repeat("x ", 1000));
  fixture.WriteFile("common.tql", "SHOW JOBS;\n");
  std::filesystem::create_directory(fixture.directory() + "/data");
  fixture.WriteFile("data/web-1.jsonl", "{}\n");
  fixture.Do("LET $name = 'named'; LET $steps = 10");
  const std::map<std::string, ErrorCode> refused = {
      {"TRAIN MODEL tiny CHECKPOINT EVERY 100 STEPS", ErrorCode::NO_SUCH_CHECKPOINT},
      {"CHECKPOINT JOB 1", ErrorCode::WRONG_STATE},
      {"RETRY JOB 1", ErrorCode::WRONG_STATE},
      {"TRAIN MODEL model FROM dataset", ErrorCode::NO_SUCH_MODEL},
  };
  const std::string script = FirstGroup();
  const grammar::ParsedScript parsed = grammar::Parse(script);
  assert_int_equal(parsed.errors.size(), 0);
  for (const auto& statement : parsed.statements) {
    const std::string text = script.substr(static_cast<size_t>(statement.begin),
                                           static_cast<size_t>(statement.end - statement.begin));
    if (statement.kind == "TRAIN") {  // each stands for itself
      assert_ok(fixture.Write([](Transaction& t) {
        return t.Run("UPDATE _jobs SET state = 'CANCELLED' WHERE state = 'QUEUED'");
      }));
    }
    if (statement.kind == "PAUSE JOB") {
      assert_ok(fixture.Write(
          [](Transaction& t) { return t.Run("UPDATE _jobs SET state = 'QUEUED' WHERE id IN (1, 2)"); }));
    }
    const auto outcome = fixture.Run(text);
    const auto expected =
        std::ranges::find_if(refused, [&](const auto& each) { return text.starts_with(each.first); });
    const ErrorCode wanted = expected == refused.end() ? ErrorCode::kOk : expected->second;
    if (outcome.status().code() != wanted) {
      std::fprintf(stderr, "%s\n", text.c_str());
      assert_code(outcome, wanted);
    }
    if (text.starts_with("TRAIN MODEL tiny FROM lic FOR 100")) {  // later lines name its version
      assert_ok(fixture.Write([](Transaction& t) -> Status {
        TRAIND_ASSIGN(const JobRecord job, LoadJob(t, 1));
        return AddVersion(t, job, 1, 1, {}, "/models/1/1", 1).status();
      }));
    }
  }
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(BadLinesFailWhereTheySay),
      cmocka_unit_test(OkLinesDoWhatTheySay),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
