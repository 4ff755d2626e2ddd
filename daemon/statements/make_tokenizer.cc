// The worker writes into a directory of its own, <state>/tokenizers/new-…; the transaction that inserts the
// row gives it its place. What a crash between the two leaves there is replaced by the next tokenizer of that
// id.
#include "daemon/statements/make_tokenizer.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "daemon/bind/tokenizer.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {
namespace {

enum class Action { kNothing, kInsert, kReplace };

Result<Action> Decide(const WantedTokenizer& wanted, const std::optional<TokenizerRecord>& existing) {
  const std::string& name = wanted.name.text;
  if (name == kBytes) {
    return Status(ErrorCode::TOKENIZER_EXISTS, "the tokenizer bytes is built in", "choose another name");
  }
  if (!existing) return Action::kInsert;
  if (wanted.or_replace) return Action::kReplace;
  if (!wanted.if_not_exists) {
    return Status(ErrorCode::TOKENIZER_EXISTS, fmt::format("a tokenizer {} exists", name),
                  "IF NOT EXISTS leaves it, OR REPLACE replaces it");
  }
  if (existing->statement.empty() || existing->statement == wanted.statement) return Action::kNothing;
  return Status(ErrorCode::SPEC_DIFFERS,
                fmt::format("{} exists otherwise, made by: {}", name, existing->statement),
                "OR REPLACE puts this one in its place");
}

// OR REPLACE is refused before the work, not after it.
Status CheckUnused(Connection& connection, const TokenizerRecord& existing) {
  TRAIND_ASSIGN(const std::vector<std::string> models, ModelsOfTokenizer(connection, existing.id));
  if (models.empty()) return {};
  return {ErrorCode::TOKENIZER_IN_USE,
          fmt::format("{} cannot be replaced: the model {} is made with it", existing.name, models.front()),
          "drop the models that use it, or give the new tokenizer another name"};
}

Reply ReplyOf(const TokenizerRecord& tokenizer) {
  Reply reply;
  reply.columns = {{"name", "text"}, {"kind", "text"}, {"vocab_size", "integer"}, {"end_of_text", "text"}};
  reply.rows = {
      {tokenizer.name, tokenizer.facts.kind, tokenizer.facts.vocab_size, tokenizer.facts.end_of_text}};
  return reply;
}

Status Place(Io& io, const std::string& from, const std::string& to) {
  TRAIND_TRY(io.RemoveTree(to));
  TRAIND_TRY(io.Rename(from, to));
  return io.SyncDirectory(to.substr(0, to.rfind('/')));
}

// What is left to do when the worker is done, on a pool thread.
class Conclusion {
 public:
  Conclusion(WantedTokenizer wanted, const DaemonState* daemon)
      : wanted_(std::move(wanted)), daemon_(daemon) {}

  Result<Reply> operator()(const Json& result) const {
    TokenizerRecord made;
    made.name = wanted_.name.text;
    made.statement = wanted_.statement;
    const auto facts = result.find("tokenizer");
    TRAIND_ASSIGN(made.facts, TokenizerFactsFromJson(facts == result.end() ? Json() : *facts));
    int64_t replaced_id = 0;
    Status stored = daemon_->catalog->Write(
        [&](Transaction& transaction) { return Store(transaction, made, &replaced_id); });
    if (!stored.ok()) {
      (void)daemon_->io->RemoveTree(wanted_.task.directory);
      return std::move(stored).At(wanted_.name.position);
    }
    Reply reply = ReplyOf(made);
    if (made.facts.vocab_size < wanted_.task.vocab_size) {
      reply.notices.push_back(
          fmt::format("the data gave {} tokens, not {}: no other pair is there at least {} times",
                      made.facts.vocab_size, wanted_.task.vocab_size, wanted_.task.min_frequency));
    }
    if (replaced_id != 0)
      (void)daemon_->io->RemoveTree(TokenizerDirectory(daemon_->state_directory, replaced_id));
    return reply;
  }

 private:
  Status Store(Transaction& transaction, const TokenizerRecord& made, int64_t* replaced_id) const {
    TRAIND_ASSIGN(const auto existing, LookUpTokenizer(transaction, made.name));
    if (existing && wanted_.or_replace) {
      TRAIND_TRY(DeleteTokenizer(transaction, *existing));
      *replaced_id = existing->id;
    }
    TRAIND_ASSIGN(const int64_t id, InsertTokenizer(transaction, made, daemon_->clock->WallSeconds()));
    return Place(*daemon_->io, wanted_.task.directory, TokenizerDirectory(daemon_->state_directory, id));
  }

  WantedTokenizer wanted_;
  const DaemonState* daemon_;
};

std::string NewDirectory(const Context& context) {
  static std::atomic<int64_t> last = 0;
  return NewTokenizerDirectory(context.daemon.state_directory, std::to_string(++last));
}

}  // namespace

Result<Outcome> MakeTokenizer(WantedTokenizer wanted, const Context& context) {
  TRAIND_ASSIGN(const auto existing, FindTokenizerIfAny(wanted.name.text, context));
  auto action = Decide(wanted, existing);
  if (!action.ok()) return action.status().At(wanted.name.position);
  if (*action == Action::kReplace) {
    Status unused = CheckUnused(context.reader, *existing);
    if (!unused.ok()) return std::move(unused).At(wanted.name.position);
  }
  if (context.check) {
    Reply reply;
    reply.session = context.session;
    reply.session->checked_tokenizers[wanted.name.text] = wanted.task.vocab_size;
    return Done(std::move(reply));
  }
  if (*action == Action::kNothing) {
    Reply reply = ReplyOf(*existing);
    reply.notices.push_back(fmt::format("{} exists, made by the same statement", wanted.name.text));
    return Done(std::move(reply));
  }
  wanted.task.directory = NewDirectory(context);
  WorkerOutcome worker;
  worker.task = TokenizerTaskToJson(wanted.task);
  worker.conclude = Conclusion(std::move(wanted), &context.daemon);
  return Done(std::move(worker));
}

}  // namespace traind::daemon
