// The generated parser, and questions to its tables that lemon does not ask itself.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "grammar/token.h"

namespace traind::grammar {

class Builder;

// One statement's LALR(1) parser. It is asked before it is fed: a token that is not accepted is never fed, so
// the stack stands as it was at the error, and no recovery takes place.
class Lalr {
 public:
  // `build` gets the semantic actions and must outlive this.
  explicit Lalr(Builder* build);
  ~Lalr();
  Lalr(const Lalr&) = delete;
  Lalr& operator=(const Lalr&) = delete;

  // Whether a token of this code can come next: by itself, or if it is a keyword as a name.
  bool Accepts(int code) const;
  // Whether these two can come next, by themselves; second may be 0.
  bool AcceptsPair(int first, int second) const;
  // All codes that can come next by themselves, in ascending order.
  std::vector<int> Accepted() const;

  // Feeds an accepted token (borrowed while this lives) and runs every reduction that needs no further token.
  void Feed(const Token* token);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

// For the test of keywords.def: whether `keyword` has an action of its own somewhere where a name may stand.
bool KeywordHidesName(int keyword);

}  // namespace traind::grammar
