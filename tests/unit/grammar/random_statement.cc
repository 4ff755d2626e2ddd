// One generator per statement, from generators of their parts.
#include "tests/unit/grammar/random_statement.h"

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/parse.h"

namespace traind::grammar::testing {
namespace {

constexpr std::string_view kNames[] = {
    "m",    "tiny",          "run-2.a", "_x9",     "A-1.b",      "from", "FOR",   "model", "Scratch", "if",
    "job",  "deadline",      "latest",  "my name", "say \"hi\"", "über", "naïve", "-x",    "x-",      "a..b",
    "9x",   "a b\\c",        "'q'",     "--",      "/*",         ";",    "模型",  "wait",  "SELECT",  "limit",
    "true", "learning_rate", "x.y.z",   "WITH",    "versions",   "?",    "$a",    "@",     ":0"};
constexpr std::string_view kStrings[] = {"",
                                         "a",
                                         "it's",
                                         "''",
                                         "two\nlines",
                                         "tab\there",
                                         "-- no comment",
                                         "/* nor this */",
                                         ";",
                                         "\"",
                                         "ünï",
                                         "2026-12-03 08:00",
                                         "/usr/share/*",
                                         "日本",
                                         "\\n"};
constexpr std::string_view kQuantities[] = {
    "0",     "1",      "7",     "1024",       "100000",    "123456789", "9223372036854775807",
    "0.5",   "3e-4",   "1e30",  "1e-9",       "1.5",       "512Ki",     "20B",
    "1M",    "24GiB",  "80GB",  "1kB",        "30m",       "1d12h",     "2us",
    "0.25h", "500USD", "40kWh", "8gpu_hours", "312TFLOPS", "600GB/s",   "10%",
    "33.3%", "0.1%",   "1.5K",  "90s"};
constexpr std::string_view kSqlTokens[] = {
    "a",     "b.c", "\"x y\"", "'s'", "'it''s'", "1", "24GiB", "1d12h", "10%",     "0x1F",   "$p",
    "?",     "?4",  "+",       "-",   "*",       "/", "%",     "||",    "->",      "->>",    "<=",
    "<>",    "!=",  "==",      "=",   "<",       ">", "and",   "OR",    "not",     "IN",     "between",
    "x'0A'", "[",   "]",       "&",   "|",       "~", "<<",    "count", "/* c */", "-- c\n", "1.5"};

class Generator {
 public:
  explicit Generator(Random& random) : random_(random) {}

  Statement Make() {
    switch (Below(29)) {
      case 0:
        return MakeCreateModel();
      case 1:
        return MakeCreateDataset();
      case 2:
        return DropModel{Chance(), MakeName(), Chance(), {}};
      case 3:
        return DropDataset{Chance(), MakeName(), {}};
      case 4:
        return DescribeModel{MakeName(), {}};
      case 5:
        return DescribeDataset{MakeName(), {}};
      case 6:
        return MakeShow();
      case 7:
        return MakeShowCreate();
      case 8:
        return Explain{MakeOptions(), MakeTrain(), {}};
      case 9:
        return ExplainJob{MakeJob(), {}};
      case 10:
        return Evaluate{MakeModelRef(), MakeSource(), MakeOptions(), {}};
      case 11:
        return Generate{MakeModelRef(), MakeText(), MakeOptions(), {}};
      case 12:
        return JobVerb{static_cast<JobVerb::Verb>(Below(5)), Some(&Generator::MakeJob), {}};
      case 13:
        return AlterJob{MakeJob(), MakeBudget(), {}};
      case 14:
        return WaitForJob{Some(&Generator::MakeJob), Maybe(&Generator::MakeNumber), {}};
      case 15:
        return Help{
            std::string(Pick({"", "TRAIN", "CREATE MODEL", "FROM", "RUN-2.A", "NO_SUCH_JOB WAIT", "100"})),
            {}};
      case 16:
        return Set{MakeKey(), MakeValue(), {}};
      case 17:
        return Reset{Maybe(&Generator::MakeKey), {}};
      case 18:
        return Let{{"v" + std::to_string(Below(9)), false, {}}, MakeValue(), {}};
      case 19:
        return Assert{MakeSql(), Maybe(&Generator::MakeText), {}};
      case 20:
        return Include{MakeText(), {}};
      case 21:
        return Select{MakeQuery(), {}};
      case 22:
        return ImportModel{MakeName(), MakeText(), {}};
      case 23:
        return ExportModel{MakeModelRef(), MakeText(), MakeName(), {}};
      case 24:
        return DropTokenizer{Chance(), MakeName(), {}};
      case 25:
        return DescribeTokenizer{MakeName(), {}};
      case 26:
        return MakeCreateTokenizer();
      case 27:
        return MakeTrainTokenizer();
      default:
        return MakeTrain();
    }
  }

 private:
  size_t Below(size_t n) { return static_cast<size_t>(random_() % n); }
  bool Chance() { return Below(2) == 0; }
  std::string_view Pick(std::vector<std::string_view> items) { return items[Below(items.size())]; }
  template <size_t kSize>
  std::string Pick(const std::string_view (&items)[kSize]) {
    return std::string(items[Below(kSize)]);
  }
  template <typename T>
  std::optional<T> Maybe(T (Generator::*make)()) {
    return Chance() ? std::optional<T>((this->*make)()) : std::nullopt;
  }
  template <typename T>
  std::vector<T> Some(T (Generator::*make)()) {
    std::vector<T> items;
    for (size_t n = 1 + Below(3); n > 0; --n) items.push_back((this->*make)());
    return items;
  }

  Parameter MakeParameter() {
    if (Chance()) return {"p" + std::to_string(Below(4)), false, {}};
    return {std::to_string(1 + Below(6)), true, {}};
  }
  Name MakeKey() {
    Name name;
    name.text = Pick(kNames);
    if (Below(20) == 0) name.text = std::string(64, 'n');
    return name;
  }
  Name MakeName() {
    if (Below(5) > 0) return MakeKey();
    Name name;
    name.parameter = MakeParameter();
    return name;
  }
  Value MakeText() {
    Value value;
    value.kind = Below(5) == 0 ? Value::Kind::kParameter : Value::Kind::kString;
    if (value.kind == Value::Kind::kString) value.text = Pick(kStrings);
    if (value.kind == Value::Kind::kParameter) value.parameter = MakeParameter();
    return value;
  }
  Value MakeWord() {
    Value value;
    value.kind = Value::Kind::kWord;
    value.text = Pick(kNames);
    return value;
  }
  Value MakeNumber() {
    Value value;
    value.kind = Below(5) == 0 ? Value::Kind::kParameter : Value::Kind::kQuantity;
    if (value.kind == Value::Kind::kParameter) {
      value.parameter = MakeParameter();
    } else if (Chance()) {
      value.quantity = *ParseQuantity(Pick(kQuantities));
    } else {
      value.quantity = *ParseQuantity(std::to_string(Below(1000)) + "." + std::to_string(Below(1000000)) +
                                      Pick({"", "h", "GB", "%", "USD", "gpu_hours"}).data());
    }
    return value;
  }
  Value MakeSigned() {
    Value value = MakeNumber();
    if (value.kind == Value::Kind::kQuantity && Chance()) {
      value.quantity.value = -value.quantity.value;
      value.quantity.integer = -value.quantity.integer;
    }
    return value;
  }
  Value MakeValue() {
    const size_t kind = Below(3);
    return kind == 0 ? MakeText() : kind == 1 ? MakeWord() : MakeSigned();
  }
  Option MakeOption() { return {MakeKey(), Maybe(&Generator::MakeValue)}; }
  Options MakeSomeOptions() { return Some(&Generator::MakeOption); }
  Options MakeOptions() { return Chance() ? MakeSomeOptions() : Options(); }
  ModelRef MakeModelRef() { return {MakeName(), Maybe(&Generator::MakeNumber)}; }
  JobRef MakeJob() {
    const size_t kind = Below(3);
    return {kind == 0 ? MakeText() : kind == 1 ? MakeWord() : MakeNumber()};
  }
  Source MakeSource() { return {Chance() ? MakeText() : MakeWord(), {}, {}}; }
  Source MakeWeighted() {
    Source source = MakeSource();
    source.weight = Maybe(&Generator::MakeNumber);
    return source;
  }

  // SQL is what the parser makes of random tokens; those whose parentheses or lexis are wrong are drawn
  // again.
  std::string SqlText(size_t depth) {
    std::string text;
    for (size_t n = 1 + Below(8); n > 0; --n) {
      text += depth < 4 && Below(8) == 0 ? "(" + SqlText(depth + 1) + (Chance() ? ", 1)" : ")")
                                         : Pick(kSqlTokens);
      text += Chance() ? " " : "\n ";
    }
    return text;
  }
  Sql MakeSql() {
    const auto parsed = ParseOne("ASSERT " + SqlText(0));
    return parsed.ok() ? std::get<Assert>(*parsed->statement).condition : MakeSql();
  }
  Sql MakeQuery() {
    const auto parsed = ParseOne(std::string(Pick({"SELECT ", "select ", "WITH x AS "})) + SqlText(0));
    return parsed.ok() ? std::get<Select>(*parsed->statement).query : MakeQuery();
  }

  CreateModel MakeCreateModel() {
    CreateModel s;
    s.or_replace = Chance();
    s.if_not_exists = !s.or_replace && Chance();
    s.with_versions = s.or_replace && Chance();
    s.name = MakeName();
    if (Chance()) {
      s.like = MakeName();
    } else if (Chance()) {
      s.preset.emplace().text = Pick(kStrings);
    } else {
      s.architecture = MakeName();
    }
    s.options = MakeOptions();
    return s;
  }
  CreateDataset MakeCreateDataset() {
    CreateDataset s;
    s.or_replace = Chance();
    s.if_not_exists = !s.or_replace && Chance();
    s.name = MakeName();
    s.sources = Some(&Generator::MakeText);
    s.format = MakeName();
    s.options = MakeOptions();
    return s;
  }
  CreateTokenizer MakeCreateTokenizer() {
    CreateTokenizer s;
    s.or_replace = Chance();
    s.if_not_exists = !s.or_replace && Chance();
    s.name = MakeName();
    s.file = MakeText();
    s.options = MakeOptions();
    return s;
  }
  TrainTokenizer MakeTrainTokenizer() {
    TrainTokenizer s;
    s.or_replace = Chance();
    s.if_not_exists = !s.or_replace && Chance();
    s.name = MakeName();
    s.sources = Some(&Generator::MakeWeighted);
    s.using_options = MakeOptions();
    return s;
  }
  Show MakeShow() {
    using What = Show::What;
    Show s;
    s.what = static_cast<What>(Below(13));
    if (s.what == What::kVersion) return s;
    if (s.what == What::kJob) {
      s.job = MakeJob();
      return s;
    }
    const bool stream = s.what == What::kMetrics || s.what == What::kLogs || s.what == What::kEvents;
    if (s.what == What::kVersions) s.of = Maybe(&Generator::MakeName);
    if (stream || s.what == What::kCheckpoints) s.job = Maybe(&Generator::MakeJob);
    s.follow = stream && Chance();
    s.where = Maybe(&Generator::MakeSql);
    s.order_by = Maybe(&Generator::MakeSql);
    s.limit = Maybe(&Generator::MakeNumber);
    return s;
  }
  ShowCreate MakeShowCreate() {
    ShowCreate s;
    s.what = static_cast<ShowCreate::What>(Below(3));
    if (s.what == ShowCreate::What::kJob) {
      s.job = MakeJob();
    } else {
      s.name = MakeName();
    }
    return s;
  }
  BudgetTerm MakeTerm() {
    Name term = MakeKey();
    if (Below(4) == 0) term.text = kDeadlineTerm;
    return {term, MakeValue()};
  }
  BudgetClause MakeBudget() {
    BudgetClause budget;
    budget.parenthesized = Chance();
    budget.terms = budget.parenthesized ? Some(&Generator::MakeTerm)
                                        : std::vector<BudgetTerm>{{std::nullopt, MakeNumber()}};
    budget.action = static_cast<BudgetClause::Action>(Below(5));
    return budget;
  }
  ValidateClause MakeValidate() {
    return {Some(&Generator::MakeWeighted), Maybe(&Generator::MakeNumber), {}};
  }
  TargetClause MakeTarget() { return {MakeNumber(), static_cast<TargetClause::Unit>(Below(3)), {}}; }
  UntilClause MakeUntil() { return {MakeKey(), MakeSigned(), {}}; }
  DeviceRef MakeDevice() { return {MakeName(), MakeNumber(), {}}; }
  HardwareClause MakeHardware() {
    return Chance() ? HardwareClause{true, {}, {}} : HardwareClause{false, Some(&Generator::MakeDevice), {}};
  }
  CheckpointClause MakeCheckpoint() { return {MakeNumber(), Chance(), Maybe(&Generator::MakeNumber), {}}; }
  ResumeClause MakeResume() { return {Maybe(&Generator::MakeText), {}}; }
  Wait MakeWait() { return {Maybe(&Generator::MakeNumber)}; }
  Train MakeTrain() {
    Train s;
    s.if_not_exists = Chance();
    s.model = MakeModelRef();
    s.into = Maybe(&Generator::MakeName);
    s.job_name = Maybe(&Generator::MakeName);
    s.from_scratch = Chance();
    s.sources = Some(&Generator::MakeWeighted);
    s.validate = Maybe(&Generator::MakeValidate);
    s.using_options = MakeOptions();
    s.target = Maybe(&Generator::MakeTarget);
    s.until = Maybe(&Generator::MakeUntil);
    s.on = Maybe(&Generator::MakeHardware);
    s.budget = Maybe(&Generator::MakeBudget);
    s.checkpoint = Maybe(&Generator::MakeCheckpoint);
    s.resume = Maybe(&Generator::MakeResume);
    s.retry = Maybe(&Generator::MakeNumber);
    s.labels = MakeOptions();
    s.wait = Maybe(&Generator::MakeWait);
    s.detach = !s.wait && Chance();
    return s;
  }

  Random& random_;
};

}  // namespace

Statement RandomStatement(Random& random) {
  return Generator(random).Make();
}

}  // namespace traind::grammar::testing
