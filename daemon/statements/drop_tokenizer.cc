// DROP TOKENIZER: removes a tokenizer that no model uses.
#include <fmt/format.h>

#include "daemon/bind/tokenizer.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::DropTokenizer& statement, const Context& context) {
  const std::string& name = statement.name.text;
  if (name == kBytes) {
    return Status(ErrorCode::TOKENIZER_IN_USE, "the tokenizer bytes is built in and stays")
        .At(statement.name.position);
  }
  TRAIND_ASSIGN(const auto tokenizer, FindTokenizerIfAny(name, context));
  if (!tokenizer && statement.if_exists)
    return Done(NoticeReply(fmt::format("there is no tokenizer {}", name)));
  if (!tokenizer) return FindTokenizer(name, statement.name.position, context).status();
  Reply reply;
  if (context.check) {
    reply.session = context.session;
    reply.session->checked_tokenizers[name] = std::nullopt;
    return Done(std::move(reply));
  }
  int64_t dropped_id = 0;
  Status dropped = context.daemon.catalog->Write([&](Transaction& transaction) -> Status {
    TRAIND_ASSIGN(const auto existing, LookUpTokenizer(transaction, name));
    if (!existing) return {};  // dropped by another client a moment ago
    dropped_id = existing->id;
    return DeleteTokenizer(transaction, *existing);
  });
  if (!dropped.ok()) return std::move(dropped).At(statement.name.position);
  if (dropped_id == 0) return Done(std::move(reply));
  const Status removed =
      context.daemon.io->RemoveTree(TokenizerDirectory(context.daemon.state_directory, dropped_id));
  if (!removed.ok())
    reply.notices.push_back(fmt::format("its files were not removed: {}", removed.message()));
  return Done(std::move(reply));
}

}  // namespace traind::daemon
