// tests/data/statements/ok.tql and bad.tql: what parses, and which error stands at which column.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "grammar/parse.h"
#include "tests/support/test.h"

namespace traind::grammar {
namespace {

std::vector<std::string> ReadLines(const std::string& name) {
  std::ifstream file("tests/data/statements/" + name);
  assert_true(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// ok.tql by the groups that its "-- @group" lines begin.
std::map<std::string, std::string> ReadGroups() {
  std::map<std::string, std::string> groups;
  std::string group;
  for (const std::string& line : ReadLines("ok.tql")) {
    if (line.starts_with("-- @")) group = line.substr(4);
    groups[group] += line + "\n";
  }
  return groups;
}

void AssertRoundTrip(const Statement& statement) {
  const std::string text = Print(statement);
  const Result<ParsedStatement> again = ParseOne(text);
  assert_ok(again);
  assert_true(*again->statement == statement);
  assert_text(Print(*again->statement), text);
}

void FirstGroupParsesAndRoundTrips(void**) {
  const ParsedScript script = Parse(ReadGroups()["first"]);
  for (const Status& error : script.errors) std::fprintf(stderr, "%s\n", error.ToString().c_str());
  assert_int_equal(script.errors.size(), 0);
  assert_int_equal(script.statements.size(), 62);
  assert_true(script.open == OpenEnd::kNothing);
  for (const ParsedStatement& parsed : script.statements) {
    assert_true(parsed.statement.has_value());
    AssertRoundTrip(*parsed.statement);
  }
}

// The grammar holds only what executes: statements of later groups are errors, but for those whose new part
// is a name that the binder or SQLite refuses.
void LaterGroupsAreSyntaxErrors(void**) {
  std::map<std::string, std::string> groups = ReadGroups();
  const std::vector<std::string> well_formed = {
      "TRAIN TOKENIZER t16k FROM lic USING (vocab_size=16000)",
      "CREATE TOKENIZER gpt2 FROM 'tokenizer.json'",
      "CREATE MODEL bpe ARCHITECTURE llama WITH (tokenizer=t16k, hidden_size=64)",
      "IMPORT MODEL q FROM 'hf-dir'",
      "EXPORT MODEL q@1 TO 'out' FORMAT safetensors",
      "TRAIN MODEL tiny FROM lic WEIGHT 0.7, web WEIGHT 0.3 FOR 20B TOKENS",
      "TRAIN MODEL tiny FROM lic FOR 20B TOKENS ON GPU n1:0, n1:1",
      "SELECT node, type, fits, peak_bytes, step_ms FROM plans('TRAIN MODEL tiny FROM lic FOR 100 STEPS')"};
  size_t seen = 0;
  for (const char* group : {"engine", "prediction", "scheduling"}) {
    assert_false(groups[group].empty());
    for (const ParsedStatement& parsed : Parse(groups[group]).statements) {
      if (!parsed.statement) continue;
      const std::string text = Print(*parsed.statement);
      if (std::ranges::find(well_formed, text) == well_formed.end()) fail_msg("parses: %s", text.c_str());
      ++seen;
    }
  }
  assert_int_equal(seen, well_formed.size());
}

// Where a bound statement would point, for the errors that only the catalog can find.
SourcePosition BinderPosition(const std::string& error, const Statement& statement) {
  if (const auto* create = std::get_if<CreateModel>(&statement)) {
    if (error == "UNKNOWN_ARCHITECTURE") return create->architecture->position;
    return create->options[0].key.position;
  }
  const auto& train = std::get<Train>(statement);
  if (error == "NO_SUCH_MODEL") return train.model.name.position;
  if (error == "EPOCHS_WITH_WEIGHT") return train.sources[0].weight_position;
  if (error == "NAME_REQUIRED") return train.if_position;
  if (error == "UNKNOWN_BUDGET_TERM") return train.budget->terms[0].term->position;
  if (error == "WRONG_UNIT") return train.budget->terms[0].limit.position;
  return {};
}

void BadLinesPointAtTheirColumn(void**) {
  int lines = 0;
  for (const std::string& line : ReadLines("bad.tql")) {
    const size_t mark = line.rfind("-- @ ");
    if (line.starts_with("--") || mark == std::string::npos) continue;
    std::istringstream expected(line.substr(mark + 5));
    std::string name, group;
    int column = 0;
    expected >> name >> column >> group;
    if (!group.empty() && group != "@engine") name = "SYNTAX";  // a later group's words
    const ParsedScript script = Parse(line);
    const ErrorInfo* error = FindError(name);
    assert_non_null(error);
    const bool from_parser = error->error_class == "SYNTAX";
    assert_int_equal(script.errors.size(), from_parser ? 1 : 0);
    if (from_parser) assert_code(script.errors[0], error->code);
    const SourcePosition position =
        from_parser ? script.errors[0].position() : BinderPosition(name, *script.statements[0].statement);
    assert_int_equal(position.line, 1);
    assert_int_equal(position.column, column);
    assert_int_equal(position.offset, column - 1);
    ++lines;
  }
  assert_int_equal(lines, 16);
}

}  // namespace
}  // namespace traind::grammar

int main() {
  using namespace traind::grammar;
  const CMUnitTest tests[] = {
      cmocka_unit_test(FirstGroupParsesAndRoundTrips),
      cmocka_unit_test(LaterGroupsAreSyntaxErrors),
      cmocka_unit_test(BadLinesPointAtTheirColumn),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
