// Values, clauses and statements from tokens.
#include "grammar/builder.h"

#include <string>

#include "grammar/text.h"

namespace traind::grammar {
namespace {

struct ClauseRow {
  ClauseInfo info;
  std::vector<Clause> excluded;
};

const std::vector<ClauseRow>& ClauseRows() {
  static const std::vector<ClauseRow> rows = {
#define C(clause, name, first, second, ...) {{name, first, second}, {__VA_ARGS__}},
#include "grammar/clauses.def"
#undef C
  };
  return rows;
}

std::string LineAndColumn(const SourcePosition& position) {
  return std::to_string(position.line) + ":" + std::to_string(position.column);
}

// The inside of a quoted token, doubled quotes made single.
std::string Unquote(std::string_view text) {
  const char quote = text[0];
  std::string inner;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    inner += text[i];
    if (text[i] == quote) ++i;
  }
  return inner;
}

std::string NameText(const Token& token) {
  return token.text[0] == '"' ? Unquote(token.text) : std::string(token.text);
}

}  // namespace

const ClauseInfo& InfoOf(Clause clause) {
  return ClauseRows()[static_cast<size_t>(clause)].info;
}

void Builder::StackOverflow() {
  Fail(Status(ErrorCode::NESTING_TOO_DEEP, "the statement is nested too deeply"));
}

void Builder::ListTooLong(const SourcePosition& position) {
  Fail(Status(ErrorCode::STATEMENT_TOO_LONG,
              "a list has more than " + std::to_string(kMaxListItems) + " items")
           .At(position));
}

Parameter Builder::MakeParameter(const Token& token) {
  Parameter parameter;
  parameter.positional = token.code == TK_POSITIONAL;
  parameter.name = parameter.positional ? std::to_string(token.ordinal) : std::string(token.text.substr(1));
  parameter.position = token.position;
  return parameter;
}

Name* Builder::MakeName(const Token& token) {
  Name name;
  name.position = token.position;
  if (token.code == TK_PARAMETER || token.code == TK_POSITIONAL) {
    name.parameter = MakeParameter(token);
  } else {
    name.text = NameText(token);
  }
  return Make(std::move(name));
}

Value* Builder::MakeValue(const Token& token) {
  Value value;
  value.position = token.position;
  switch (token.code) {
    case TK_STRING:
      value.kind = Value::Kind::kString;
      value.text = Unquote(token.text);
      break;
    case TK_QUANTITY:
      value.kind = Value::Kind::kQuantity;
      value.quantity = token.quantity;
      break;
    case TK_PARAMETER:
    case TK_POSITIONAL:
      value.kind = Value::Kind::kParameter;
      value.parameter = MakeParameter(token);
      break;
    default:
      value.kind = Value::Kind::kWord;
      value.text = NameText(token);
      break;
  }
  return Make(std::move(value));
}

Value* Builder::MakeNegative(const Token& minus, const Token& quantity) {
  Value* value = MakeValue(quantity);
  value->quantity.value = -value->quantity.value;
  value->quantity.integer = -value->quantity.integer;
  value->position = minus.position;
  return value;
}

BudgetClause* Builder::MakeShortBudget(const Value& limit) {
  BudgetClause budget;
  budget.parenthesized = false;
  budget.terms.push_back({std::nullopt, limit});
  return Make(std::move(budget));
}

BudgetClause* Builder::MakeBudget(std::vector<BudgetTerm> terms) {
  BudgetClause budget;
  budget.terms = std::move(terms);
  return Make(std::move(budget));
}

BudgetTerm* Builder::MakeDeadline(const Token& deadline, const Value& limit) {
  Name term;
  term.text = std::string(kDeadlineTerm);
  term.position = deadline.position;
  return Make(BudgetTerm{std::move(term), limit});
}

void Builder::Begin(Clause clause, const Token& first) {
  const ClauseRow& row = ClauseRows()[static_cast<size_t>(clause)];
  if (const auto& earlier = begun_[static_cast<size_t>(clause)]) {
    const std::string place = LineAndColumn(earlier->position);
    const std::string message =
        earlier->clause == clause
            ? std::string(row.info.name) + " is given twice; the first stands at " + place
            : std::string(row.info.name) + " does not go with " + std::string(InfoOf(earlier->clause).name) +
                  ", which stands at " + place;
    Fail(Status(ErrorCode::DUPLICATE_CLAUSE, message, "Each clause may stand once: leave one out.")
             .At(first.position));
    return;
  }
  begun_[static_cast<size_t>(clause)] = {clause, first.position};
  for (const Clause excluded : row.excluded) {
    auto& beginning = begun_[static_cast<size_t>(excluded)];
    if (!beginning) beginning = {clause, first.position};
  }
}

void Builder::StartCreateModel(const Token& first, bool if_not_exists, bool or_replace, const Name& name) {
  auto& statement = Start<CreateModel>(first);
  statement.if_not_exists = if_not_exists;
  statement.or_replace = or_replace;
  statement.name = name;
}

void Builder::StartCreateDataset(const Token& first, bool if_not_exists, bool or_replace, const Name& name) {
  auto& statement = Start<CreateDataset>(first);
  statement.if_not_exists = if_not_exists;
  statement.or_replace = or_replace;
  statement.name = name;
}

Show& Builder::StartShow(const Token& first, Show::What what) {
  auto& statement = Start<Show>(first);
  statement.what = what;
  return statement;
}

ShowCreate& Builder::StartShowCreate(const Token& first, ShowCreate::What what) {
  auto& statement = Start<ShowCreate>(first);
  statement.what = what;
  return statement;
}

void Builder::StartTrain(const Token& first, const Token* if_not_exists, const ModelRef& model) {
  auto& statement = Start<Train>(first);
  statement.model = model;
  if (if_not_exists != nullptr) {
    statement.if_not_exists = true;
    statement.if_position = if_not_exists->position;
  }
}

void Builder::StartJobVerb(const Token& first, JobVerb::Verb verb, const std::vector<JobRef>& jobs) {
  auto& statement = Start<JobVerb>(first);
  statement.verb = verb;
  statement.jobs = jobs;
}

void Builder::StartAlterJob(const Token& first, const JobRef& job, const Token& set, BudgetClause budget) {
  auto& statement = Start<AlterJob>(first);
  statement.job = job;
  SetBudget(&statement.budget, set, std::move(budget));
}

void Builder::WrapInExplain(const Token& first, const Options* options) {
  Train train = std::move(Get<Train>());
  auto& statement = Start<Explain>(first);
  statement.train = std::move(train);
  if (options != nullptr) statement.options = *options;
}

void Builder::SetUsing(const Token& first, const Options& options) {
  auto& train = Get<Train>();
  train.using_options = options;
  train.using_position = first.position;
}

void Builder::SetTokenizerUsing(const Token& first, const Options& options) {
  auto& train = Get<TrainTokenizer>();
  train.using_options = options;
  train.using_position = first.position;
}

void Builder::SetBudget(BudgetClause* clause, const Token& first, BudgetClause budget) {
  *clause = std::move(budget);
  clause->position = first.position;
}

void Builder::AppendHelpWord(const Token& word) {
  if (++help_words_ > kMaxListItems) return ListTooLong(word.position);
  std::string& words = Get<Help>().word;
  if (!words.empty()) words += ' ';
  words += UpperCase(NameText(word));
}

}  // namespace traind::grammar
