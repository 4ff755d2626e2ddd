// What SQLite gets: the tokens as written, but quantities as plain numbers and parameters by name or number.
#include "grammar/sql.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "engine/base/limits.h"
#include "grammar/builder.h"
#include "grammar/parse.h"

namespace traind::grammar {
namespace {

bool IsQuery(const Token& lead) {
  return lead.code == TK_SELECT || lead.code == TK_WITH;
}

// Whether `token`, outside parentheses, ends the piece that `lead` began.
bool Ends(const Token& lead, const Token& token) {
  if (token.code == TK_END) return true;
  if (IsQuery(lead)) return false;
  if (lead.code == TK_ASSERT) return token.code == TK_COMMA;
  switch (token.code) {
    case TK_WHERE:
    case TK_ORDER:
    case TK_LIMIT:
    case TK_FOLLOW:
    case TK_FOR:
    case TK_OF:
      return true;
    default:
      return false;
  }
}

std::string PlainNumber(const Token& token) {
  const bool has_unit = token.text.find_first_not_of("0123456789.eE+-") != std::string_view::npos;
  if (!has_unit) return std::string(token.text);
  if (token.quantity.integral) return std::to_string(token.quantity.integer);
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, token.quantity.value).ptr;
  return {digits, end};
}

class Collector {
 public:
  Collector(Lexer* lexer, const Token& lead, Sql* piece) : lexer_(lexer), lead_(lead), piece_(piece) {}

  Status Run() {
    if (IsQuery(lead_)) Append(lead_);
    const size_t lead_size = piece_->text.size();
    while (true) {
      const Lexer::State before = lexer_->state();
      const Token token = lexer_->Next(Lexer::Mode::kSql);
      if (token.code == kInvalidToken) return lexer_->error();
      if (token.code == TK_END && !open_.empty()) return NotClosed(token);
      if (open_.empty() && Ends(lead_, token)) {
        lexer_->Restore(before);
        if (piece_->text.size() == lead_size) *piece_ = Sql();
        return Ok();
      }
      TRAIND_TRY(Check(token));
      Append(token);
    }
  }

 private:
  Status Check(const Token& token) {
    switch (token.code) {
      case TK_LP:
        if (static_cast<int64_t>(open_.size()) == kMaxExpressionDepth) {
          return Status(ErrorCode::NESTING_TOO_DEEP, "parentheses are nested deeper than " +
                                                         std::to_string(kMaxExpressionDepth) + " levels")
              .At(token.position);
        }
        open_.push_back(token.position);
        return Ok();
      case TK_RP:
        if (open_.empty()) {
          return Status(ErrorCode::SYNTAX, "this ) closes no parenthesis").At(token.position);
        }
        open_.pop_back();
        return Ok();
      case TK_AT:
      case TK_COLON:
        return Status(ErrorCode::SYNTAX, "unexpected " + Excerpt(token.text) + " in SQL",
                      "Parameters are written $name or ?.")
            .At(token.position);
      default:
        return Ok();
    }
  }

  Status NotClosed(const Token& end) const {
    const SourcePosition& open = open_.back();
    return Status(ErrorCode::SYNTAX, "the parenthesis opened at " + std::to_string(open.line) + ":" +
                                         std::to_string(open.column) + " is not closed")
        .At(end.position)
        .Expecting({")"});
  }

  void Append(const Token& token) {
    const bool first = piece_->text.empty();
    if (first) piece_->position = token.position;
    if (!first && token.space_before) piece_->text += ' ';
    // A parameter's name must not run on: SQLite reads $a(b) as one.
    if (!first && (token.space_before || (after_parameter_ && token.code == TK_LP))) piece_->sql += ' ';
    AddSegment(token);
    after_parameter_ = token.code == TK_PARAMETER || token.code == TK_POSITIONAL;
    if (after_parameter_) {
      AppendParameter(Builder::MakeParameter(token));
    } else {
      piece_->text += token.text;
      piece_->sql += token.code == TK_QUANTITY ? PlainNumber(token) : token.text;
    }
  }

  // A segment only where script and `sql` part ways, so that a large query does not become a larger map.
  void AddSegment(const Token& token) {
    const auto offset = static_cast<int64_t>(piece_->sql.size());
    if (piece_->segments.empty() || PositionIn(*piece_, offset) != token.position) {
      piece_->segments.push_back({offset, token.position});
    }
  }

  void AppendParameter(const Parameter& parameter) {
    const std::string written = (parameter.positional ? "?" : "$") + parameter.name;
    piece_->text += written;
    piece_->sql += written;
    piece_->parameters.push_back(parameter);
  }

  Lexer* lexer_;
  const Token& lead_;
  Sql* piece_;
  std::vector<SourcePosition> open_;
  bool after_parameter_ = false;
};

}  // namespace

SourcePosition PositionIn(const Sql& piece, int64_t sql_offset) {
  auto segment = std::ranges::upper_bound(piece.segments, sql_offset, {}, &Sql::Segment::sql_offset);
  if (segment == piece.segments.begin()) return piece.position;
  --segment;
  SourcePosition position = segment->position;
  const int64_t behind = sql_offset - segment->sql_offset;
  position.offset += behind;
  position.column += static_cast<int32_t>(behind);
  return position;
}

Status ReadSql(Lexer* lexer, const Token& lead, Sql* piece) {
  return Collector(lexer, lead, piece).Run();
}

}  // namespace traind::grammar
