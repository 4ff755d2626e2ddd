// The semantic actions: what the grammar's rules make of tokens.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/limits.h"
#include "engine/base/status.h"
#include "grammar/ast.h"
#include "grammar/token.h"

namespace traind::grammar {

enum class Clause {
#define C(clause, ...) clause,
#include "grammar/clauses.def"
#undef C
  kCount
};

struct ClauseInfo {
  std::string_view name;
  int first = 0;   // the tokens it begins with
  int second = 0;  // 0: the first alone tells
};
const ClauseInfo& InfoOf(Clause clause);

// Builds one statement. Owns all values the parser passes around until it is destroyed.
class Builder {
 public:
  // The statement, once the parser has accepted TK_END.
  std::optional<Statement> Take() { return std::exchange(statement_, std::nullopt); }

  // The first thing an action objected to; OK if none did.
  const Status& error() const { return error_; }
  void Fail(Status error) {
    if (error_.ok()) error_ = std::move(error);
  }
  void StackOverflow();

  template <typename T>
  T* Make(T value) {
    auto owned = std::make_shared<T>(std::move(value));
    T* borrowed = owned.get();
    arena_.push_back(std::move(owned));
    return borrowed;
  }
  Name* MakeName(const Token& token);
  Value* MakeValue(const Token& token);
  Value* MakeNegative(const Token& minus, const Token& quantity);
  static Parameter MakeParameter(const Token& token);
  BudgetClause* MakeShortBudget(const Value& limit);
  BudgetClause* MakeBudget(std::vector<BudgetTerm> terms);
  BudgetTerm* MakeDeadline(const Token& deadline, const Value& limit);

  // Appends to a list of the statement; STATEMENT_TOO_LONG beyond kMaxListItems.
  template <typename T>
  void Append(std::vector<T>* list, const T& item, const SourcePosition& position) {
    if (static_cast<int64_t>(list->size()) >= kMaxListItems) return ListTooLong(position);
    list->push_back(item);
  }

  // A clause begins at `first`; DUPLICATE_CLAUSE if it, or one that excludes it, has begun before.
  void Begin(Clause clause, const Token& first);
  bool Begun(Clause clause) const { return begun_[static_cast<size_t>(clause)].has_value(); }

  // The statement being built: set its type, then fill it.
  template <typename S>
  S& Start(const Token& first) {
    S& statement = statement_.emplace().template emplace<S>();
    statement.position = first.position;
    return statement;
  }
  template <typename S>
  S& Get() {
    return *std::get_if<S>(&*statement_);
  }
  void StartCreateModel(const Token& first, bool if_not_exists, bool or_replace, const Name& name);
  void StartCreateDataset(const Token& first, bool if_not_exists, bool or_replace, const Name& name);
  template <typename S>
  void StartTokenizer(const Token& first, bool if_not_exists, bool or_replace, const Name& name) {
    S& statement = Start<S>(first);
    statement.if_not_exists = if_not_exists;
    statement.or_replace = or_replace;
    statement.name = name;
  }
  void SetTokenizerUsing(const Token& first, const Options& options);
  Show& StartShow(const Token& first, Show::What what);
  ShowCreate& StartShowCreate(const Token& first, ShowCreate::What what);
  void StartTrain(const Token& first, const Token* if_not_exists, const ModelRef& model);
  void StartJobVerb(const Token& first, JobVerb::Verb verb, const std::vector<JobRef>& jobs);
  void StartAlterJob(const Token& first, const JobRef& job, const Token& set, BudgetClause budget);
  void WrapInExplain(const Token& first, const Options* options);  // options may be nullptr
  void SetUsing(const Token& first, const Options& options);
  static void SetBudget(BudgetClause* clause, const Token& first, BudgetClause budget);
  void AppendHelpWord(const Token& word);

 private:
  struct Beginning {
    Clause clause;  // itself, or the one that excludes it
    SourcePosition position;
  };

  void ListTooLong(const SourcePosition& position);

  std::optional<Statement> statement_;
  std::array<std::optional<Beginning>, static_cast<size_t>(Clause::kCount)> begun_;
  int64_t help_words_ = 0;
  std::deque<std::shared_ptr<void>> arena_;
  Status error_;
};

}  // namespace traind::grammar
