// The canonical printer: parse(print(s)) == s.
#include <algorithm>
#include <string>
#include <variant>

#include "engine/base/quantity.h"
#include "grammar/parse.h"
#include "grammar/text.h"
#include "grammar/token.h"

namespace traind::grammar {
namespace {

// A name that the lexer reads back as one bare word, meant as a name wherever a name may stand.
bool IsBareName(std::string_view name) {
  if (name.empty() || !IsNameStart(name[0])) return false;
  for (size_t i = 1; i < name.size(); ++i) {
    if (IsNameCharacter(name[i])) continue;
    const bool joins = (name[i] == '.' || name[i] == '-') && IsNameCharacter(name[i - 1]) &&
                       i + 1 < name.size() && IsNameCharacter(name[i + 1]);
    if (!joins) return false;
  }
  const Keyword* keyword = FindKeyword(name);
  return keyword == nullptr || keyword->use == KeywordUse::kFree;
}

std::string Quote(std::string_view text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    quoted += c;
    if (c == quote) quoted += c;
  }
  return quoted + quote;
}

std::string Word(std::string_view name) {
  return IsBareName(name) ? std::string(name) : Quote(name, '"');
}

constexpr std::string_view kVerbs[] = {"PAUSE", "RESUME", "CANCEL", "CHECKPOINT", "RETRY"};
constexpr std::string_view kActions[] = {"", " ELSE CHECKPOINT AND STOP", " ELSE PAUSE", " ELSE WARN",
                                         " ELSE FAIL"};
constexpr std::string_view kTargetUnits[] = {" STEPS", " TOKENS", " EPOCHS"};

// Appends a statement's parts to a text. Positional parameters are numbered as they are met: one whose number
// is not the next is written with it.
class Printer {
 public:
  std::string Take() { return std::move(out_); }

  void operator()(const CreateModel& s) {
    Put("CREATE ").Put(s.or_replace ? "OR REPLACE " : "").Put("MODEL ");
    Put(s.if_not_exists ? "IF NOT EXISTS " : "").Put(s.name);
    if (s.architecture) Put(" ARCHITECTURE ").Put(*s.architecture);
    if (s.like) Put(" LIKE ").Put(*s.like);
    if (s.preset) Put(" LIKE ").Put(*s.preset);
    PutOptions(" WITH ", s.options);
    if (s.with_versions) Put(" WITH VERSIONS");
  }
  void operator()(const CreateDataset& s) {
    Put("CREATE ").Put(s.or_replace ? "OR REPLACE " : "").Put("DATASET ");
    Put(s.if_not_exists ? "IF NOT EXISTS " : "").Put(s.name).Put(" FROM ").PutList(s.sources);
    Put(" FORMAT ").Put(s.format).PutOptions(" WITH ", s.options);
  }
  void operator()(const CreateTokenizer& s) {
    Put("CREATE ").Put(s.or_replace ? "OR REPLACE " : "").Put("TOKENIZER ");
    Put(s.if_not_exists ? "IF NOT EXISTS " : "").Put(s.name).Put(" FROM ").Put(s.file);
    PutOptions(" WITH ", s.options);
  }
  void operator()(const TrainTokenizer& s) {
    Put("TRAIN ").Put(s.or_replace ? "OR REPLACE " : "").Put(s.if_not_exists ? "IF NOT EXISTS " : "");
    Put("TOKENIZER ").Put(s.name).Put(" FROM ").PutList(s.sources).PutOptions(" USING ", s.using_options);
  }
  void operator()(const DropModel& s) {
    Put("DROP MODEL ").Put(s.if_exists ? "IF EXISTS " : "").Put(s.name);
    Put(s.with_versions ? " WITH VERSIONS" : "");
  }
  void operator()(const DropDataset& s) {
    Put("DROP DATASET ").Put(s.if_exists ? "IF EXISTS " : "").Put(s.name);
  }
  void operator()(const DropTokenizer& s) {
    Put("DROP TOKENIZER ").Put(s.if_exists ? "IF EXISTS " : "").Put(s.name);
  }
  void operator()(const DescribeTokenizer& s) { Put("DESCRIBE TOKENIZER ").Put(s.name); }
  void operator()(const DescribeModel& s) { Put("DESCRIBE MODEL ").Put(s.name); }
  void operator()(const DescribeDataset& s) { Put("DESCRIBE DATASET ").Put(s.name); }
  void operator()(const Show& s) {
    Put(KindOf(s));
    if (s.of) Put(" OF ").Put(*s.of);
    if (s.job) Put(s.what == Show::What::kJob ? " " : " FOR JOB ").Put(*s.job);
    if (s.where) Put(" WHERE ").Put(*s.where);
    if (s.order_by) Put(" ORDER BY ").Put(*s.order_by);
    if (s.limit) Put(" LIMIT ").Put(*s.limit);
    if (s.follow) Put(" FOLLOW");
  }
  void operator()(const ShowCreate& s) {
    Put(KindOf(s)).Put(" ");
    if (s.name) Put(*s.name);
    if (s.job) Put(*s.job);
  }
  void operator()(const Train& s) {
    Put("TRAIN ").Put(s.if_not_exists ? "IF NOT EXISTS " : "").Put("MODEL ").Put(s.model);
    if (s.into) Put(" INTO ").Put(*s.into);
    if (s.job_name) Put(" AS ").Put(*s.job_name);
    if (s.from_scratch) Put(" FROM SCRATCH");
    Put(" FROM ").PutList(s.sources);
    if (s.validate) Put(*s.validate);
    PutOptions(" USING ", s.using_options);
    PutTarget(s);
    if (s.on) Put(*s.on);
    if (s.budget) Put(" WITH BUDGET ").Put(*s.budget);
    if (s.checkpoint) Put(*s.checkpoint);
    if (s.resume) Put(*s.resume);
    if (s.retry) Put(" RETRY ").Put(*s.retry).Put(" TIMES");
    PutOptions(" LABELS ", s.labels);
    if (s.wait) Put(" WAIT").PutTimeout(s.wait->timeout);
    if (s.detach) Put(" DETACH");
  }
  void operator()(const Explain& s) {
    Put("EXPLAIN").PutOptions(" ", s.options).Put(" ");
    (*this)(s.train);
  }
  void operator()(const ExplainJob& s) { Put("EXPLAIN JOB ").Put(s.job); }
  void operator()(const Evaluate& s) {
    Put("EVALUATE MODEL ").Put(s.model).Put(" FROM ").Put(s.source).PutOptions(" USING ", s.using_options);
  }
  void operator()(const Generate& s) {
    Put("GENERATE FROM MODEL ").Put(s.model).Put(" PROMPT ").Put(s.prompt);
    PutOptions(" USING ", s.using_options);
  }
  void operator()(const ImportModel& s) { Put("IMPORT MODEL ").Put(s.name).Put(" FROM ").Put(s.directory); }
  void operator()(const ExportModel& s) {
    Put("EXPORT MODEL ").Put(s.model).Put(" TO ").Put(s.directory).Put(" FORMAT ").Put(s.format);
  }
  void operator()(const JobVerb& s) { Put(kVerbs[static_cast<size_t>(s.verb)]).Put(" JOB ").PutList(s.jobs); }
  void operator()(const AlterJob& s) { Put("ALTER JOB ").Put(s.job).Put(" SET BUDGET ").Put(s.budget); }
  void operator()(const WaitForJob& s) { Put("WAIT FOR JOB ").PutList(s.jobs).PutTimeout(s.timeout); }
  void operator()(const Help& s) { Put("HELP").Put(s.word.empty() ? "" : " ").Put(s.word); }
  void operator()(const Set& s) { Put("SET ").Put(s.name).Put(" = ").Put(s.value); }
  void operator()(const Reset& s) {
    Put("RESET");
    if (s.name) Put(" ").Put(*s.name);
  }
  void operator()(const Let& s) { Put("LET $").Put(s.name.name).Put(" = ").Put(s.value); }
  void operator()(const Assert& s) {
    Put("ASSERT ").Put(s.condition);
    if (s.message) Put(", ").Put(*s.message);
  }
  void operator()(const Include& s) { Put("INCLUDE ").Put(s.file); }
  void operator()(const Select& s) { Put(s.query); }

  Printer& Put(std::string_view text) {
    out_ += text;
    return *this;
  }
  Printer& Put(const char* text) { return Put(std::string_view(text)); }
  Printer& Put(const Value& value) {
    switch (value.kind) {
      case Value::Kind::kString:
        return Put(Quote(value.text, '\''));
      case Value::Kind::kQuantity:
        return Put(PrintQuantity(value.quantity));
      case Value::Kind::kWord:
        return Put(Word(value.text));
      case Value::Kind::kParameter:
        return Put(value.parameter);
    }
    return *this;
  }

 private:
  Printer& Put(const Parameter& parameter) {
    if (!parameter.positional) return Put("$").Put(parameter.name);
    const bool next = parameter.name == std::to_string(last_ordinal_ + 1);
    CountOrdinal(parameter);
    return Put("?").Put(next ? "" : parameter.name);
  }
  void CountOrdinal(const Parameter& parameter) {
    int64_t ordinal = 0;
    for (const char c : parameter.name) ordinal = ordinal * 10 + (c - '0');
    last_ordinal_ = std::max(last_ordinal_, ordinal);
  }
  Printer& Put(const Name& name) { return name.parameter ? Put(*name.parameter) : Put(Word(name.text)); }
  Printer& Put(const Option& option) {
    Put(option.key);
    return option.value ? Put("=").Put(*option.value) : *this;
  }
  Printer& Put(const ModelRef& model) {
    Put(model.name);
    return model.version ? Put("@").Put(*model.version) : *this;
  }
  Printer& Put(const JobRef& job) { return Put(job.value); }
  Printer& Put(const Source& source) {
    Put(source.value);
    return source.weight ? Put(" WEIGHT ").Put(*source.weight) : *this;
  }
  Printer& Put(const DeviceRef& device) { return Put(device.node).Put(":").Put(device.index); }
  Printer& Put(const BudgetTerm& term) {
    if (!term.term) return Put(term.limit);
    if (term.term->text == kDeadlineTerm) return Put("DEADLINE ").Put(term.limit);
    return Put(*term.term).Put(" <= ").Put(term.limit);
  }
  template <typename T>
  Printer& PutList(const std::vector<T>& items) {
    for (size_t i = 0; i < items.size(); ++i) Put(i == 0 ? "" : ", ").Put(items[i]);
    return *this;
  }
  Printer& PutOptions(std::string_view before, const Options& options) {
    return options.empty() ? *this : Put(before).Put("(").PutList(options).Put(")");
  }
  Printer& PutTimeout(const std::optional<Value>& timeout) {
    return timeout ? Put(" TIMEOUT ").Put(*timeout) : *this;
  }
  void PutTarget(const Train& s) {
    if (s.target) Put(" FOR ").Put(s.target->amount).Put(kTargetUnits[static_cast<size_t>(s.target->unit)]);
    if (s.until) Put(" UNTIL ").Put(s.until->metric).Put(" < ").Put(s.until->below);
  }
  void Put(const ValidateClause& clause) {
    Put(" VALIDATE FROM ").PutList(clause.sources);
    if (clause.every_steps) Put(" EVERY ").Put(*clause.every_steps).Put(" STEPS");
  }
  void Put(const HardwareClause& clause) {
    Put(clause.all_gpus ? " ON ALL GPUS" : " ON GPU ").PutList(clause.devices);
  }
  void Put(const BudgetClause& budget) {
    Put(budget.parenthesized ? "(" : "").PutList(budget.terms).Put(budget.parenthesized ? ")" : "");
    Put(kActions[static_cast<size_t>(budget.action)]);
  }
  void Put(const CheckpointClause& clause) {
    Put(" CHECKPOINT EVERY ").Put(clause.every).Put(clause.in_steps ? " STEPS" : "");
    if (clause.keep) Put(" KEEP ").Put(*clause.keep).Put(" LATEST");
  }
  void Put(const ResumeClause& clause) {
    Put(" RESUME FROM ").Put(clause.checkpoint ? "CHECKPOINT " : "LATEST");
    if (clause.checkpoint) Put(*clause.checkpoint);
  }
  Printer& Put(const Sql& sql) {
    for (const Parameter& parameter : sql.parameters) {
      if (parameter.positional) CountOrdinal(parameter);
    }
    return Put(sql.text);
  }

  std::string out_;
  int64_t last_ordinal_ = 0;
};

}  // namespace

std::string Print(const Statement& statement) {
  Printer printer;
  std::visit(printer, statement);
  return printer.Take();
}

std::string Print(const Value& value) {
  return Printer().Put(value).Take();
}

}  // namespace traind::grammar
