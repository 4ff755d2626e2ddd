// Where a tokenizer's files are, and what a stored one consists of.
//
// A stored tokenizer is a directory as Hugging Face's libraries read it: tokenizer.json (or tokenizer.model)
// and tokenizer_config.json, which names the end-of-text token.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

inline constexpr std::string_view kTokenizerName = "tokenizer.json";
inline constexpr std::string_view kSentencePieceName = "tokenizer.model";
inline constexpr std::string_view kTokenizerConfigName = "tokenizer_config.json";

struct TokenizerFiles {
  std::string name;  // kTokenizerName or kSentencePieceName
  std::string content;
  std::string config;  // of tokenizer_config.json; empty if there is none
};

// The files of a directory, or the one named with its neighbour. FILE_NOT_FOUND, DAMAGED_TOKENIZER beyond
// kMaxTokenizerBytes.
Result<TokenizerFiles> ReadTokenizerFiles(Io& io, const std::string& where);

// The tokenizer of these files. `end_of_text` goes before what the configuration says; empty: that, or a
// well-known token. `where` is for messages.
Result<std::unique_ptr<Tokenizer>> MakeTokenizer(const TokenizerFiles& files, std::string_view end_of_text,
                                                 const std::string& where);

// Writes the files into `directory`, which must not exist, and publishes it. A configuration that names no
// end-of-text, or another than the tokenizer's, is replaced.
Status StoreTokenizer(Io& io, const std::string& directory, std::string_view unique, TokenizerFiles files,
                      const Tokenizer& tokenizer);

}  // namespace traind::data
