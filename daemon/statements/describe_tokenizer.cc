// DESCRIBE TOKENIZER: a row per property.
#include "daemon/bind/tokenizer.h"
#include "daemon/statements/common.h"
#include "daemon/statements/statements.h"

namespace traind::daemon {

Result<Outcome> Run(const grammar::DescribeTokenizer& statement, const Context& context) {
  FieldReply reply;
  if (statement.name.text == kBytes) {
    if (context.check) return Done(Reply{});
    reply.Add("name", std::string(kBytes)).Add("kind", "bytes").Add("vocab_size", 256);
    reply.Add("end_of_text", "the byte 0, which no text holds").Add("end_of_text_id", 0);
    return Done(reply.Take());
  }
  TRAIND_ASSIGN(const TokenizerRecord tokenizer,
                FindTokenizer(statement.name.text, statement.name.position, context));
  if (context.check) return Done(Reply{});
  const TokenizerFacts& facts = tokenizer.facts;
  reply.Add("name", tokenizer.name).Add("kind", facts.kind).Add("vocab_size", facts.vocab_size);
  reply.Add("end_of_text", facts.end_of_text).Add("end_of_text_id", facts.end_of_text_id);
  reply.Add("bytes", facts.bytes).Add("key", facts.key).Add("made by", tokenizer.statement);
  reply.Add("path", TokenizerDirectory(context.daemon.state_directory, tokenizer.id));
  TRAIND_ASSIGN(const std::vector<std::string> models, ModelsOfTokenizer(context.reader, tokenizer.id));
  for (const std::string& model : models) reply.Add("model", model);
  return Done(reply.Take());
}

}  // namespace traind::daemon
