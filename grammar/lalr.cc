// lemon's output, and the simulation of its stack.
//
// The generated code is compiled here, inside an anonymous namespace, because the questions below need its
// tables. With -c they are exact: no default reductions, so whether a token is accepted shows by following
// the reductions it causes on a copy of the state numbers until it is shifted or refused.
#include "grammar/lalr.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <utility>

#include "grammar/ast.h"
#include "grammar/builder.h"

namespace traind::grammar {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "grammar/traind.c"
#pragma GCC diagnostic pop

constexpr size_t kStackDepth = YYSTACKDEPTH;

// The state numbers of a parser's stack, to try tokens on.
class States {
 public:
  explicit States(const yyParser& parser) {
    for (const yyStackEntry* entry = parser.yystack; entry <= parser.yytos; ++entry) Push(entry->stateno);
  }

  // Shifts `code` if it is accepted. Only with `fallback` may a keyword pass as a name.
  bool Take(int code, bool fallback) {
    if (code <= 0 || code >= YYNTOKEN) return false;
    while (true) {
      const YYACTIONTYPE action = Find(static_cast<YYCODETYPE>(code), fallback);
      if (action >= YY_MIN_REDUCE) {
        if (!Reduce(action)) return false;
      } else if (action <= YY_MAX_SHIFTREDUCE) {
        return Push(action > YY_MAX_SHIFT
                        ? static_cast<YYACTIONTYPE>(action + YY_MIN_REDUCE - YY_MIN_SHIFTREDUCE)
                        : action);
      } else {
        return false;
      }
    }
  }

 private:
  YYACTIONTYPE Find(YYCODETYPE code, bool fallback) const {
    const YYACTIONTYPE state = states_[size_ - 1];
    if (fallback || state > YY_MAX_SHIFT) return yy_find_shift_action(code, state);
    const int place = yy_shift_ofst[state] + code;
    return yy_lookahead[place] == code ? yy_action[place] : yy_default[state];
  }
  bool Reduce(YYACTIONTYPE action) {
    const int rule = action - YY_MIN_REDUCE;
    size_ -= static_cast<size_t>(-yyRuleInfoNRhs[rule]);
    return Push(yy_find_reduce_action(states_[size_ - 1], yyRuleInfoLhs[rule]));
  }
  bool Push(YYACTIONTYPE state) {
    if (size_ == states_.size()) return false;
    states_[size_++] = state;
    return true;
  }

  std::array<YYACTIONTYPE, kStackDepth + 1> states_;
  size_t size_ = 0;
};

// For each state in which, whatever comes next, one rule is reduced: the action. 0 for the others.
std::array<YYACTIONTYPE, YYNSTATE> CertainReductions() {
  std::array<YYACTIONTYPE, YYNSTATE> reductions{};
  for (int state = 0; state <= YY_MAX_SHIFT; ++state) {
    YYACTIONTYPE only = 0;
    bool certain = true;
    for (int code = 1; code < YYNTOKEN; ++code) {
      const int place = yy_shift_ofst[state] + code;
      if (yy_lookahead[place] != code) continue;
      certain = certain && yy_action[place] >= YY_MIN_REDUCE && (only == 0 || only == yy_action[place]);
      only = yy_action[place];
    }
    if (certain) reductions[static_cast<size_t>(state)] = only;
  }
  return reductions;
}

}  // namespace

struct Lalr::Parser : yyParser {};

Lalr::Lalr(Builder* build) : parser_(std::make_unique<Parser>()) {
  GrammarParseInit(parser_.get(), build);
}

Lalr::~Lalr() {
  GrammarParseFinalize(parser_.get());
}

bool Lalr::Accepts(int code) const {
  return States(*parser_).Take(code, true);
}

bool Lalr::AcceptsPair(int first, int second) const {
  States states(*parser_);
  return states.Take(first, false) && (second == 0 || states.Take(second, false));
}

std::vector<int> Lalr::Accepted() const {
  std::vector<int> codes;
  for (int code = 1; code < YYNTOKEN; ++code) {
    if (States(*parser_).Take(code, false)) codes.push_back(code);
  }
  return codes;
}

void Lalr::Feed(const Token* token) {
  static const std::array<YYACTIONTYPE, YYNSTATE> reductions = CertainReductions();
  GrammarParse(parser_.get(), token->code, token);
  while (true) {
    YYACTIONTYPE action = parser_->yytos->stateno;
    if (action <= YY_MAX_SHIFT) action = reductions[action];
    if (action < YY_MIN_REDUCE) return;
    yy_reduce(parser_.get(), action - static_cast<unsigned>(YY_MIN_REDUCE), YYNOCODE, nullptr,
              parser_->build);
  }
}

bool KeywordHidesName(int keyword) {
  for (int state = 0; state <= YY_MAX_SHIFT; ++state) {
    const int row = yy_shift_ofst[state];
    const bool both = yy_lookahead[row + TK_NAME] == TK_NAME && yy_lookahead[row + keyword] == keyword;
    if (both && yy_action[row + TK_NAME] != yy_action[row + keyword]) return true;
  }
  return false;
}

}  // namespace traind::grammar
