// What CREATE TOKENIZER and TRAIN TOKENIZER ask of a worker: a stored tokenizer.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/io.h"
#include "engine/base/status.h"
#include "engine/data/tokenizers/files.h"
#include "engine/spec/task.h"
#include "engine/train/session.h"

namespace traind::train {

// What the catalog is told of a tokenizer that these files make.
TokenizerFacts FactsOf(const data::TokenizerFiles& files, const data::Tokenizer& tokenizer);

// Reads or trains the tokenizer and stores it in task.directory, whole or not at all. Errors as
// data::MakeTokenizer, data::TrainBpe and the reading of data have them; INTERRUPTED if the session asks to
// stop; DATA_TOO_SHORT if the data holds no word.
Result<TokenizerFacts> MakeTokenizer(const TokenizerTask& task, Io& io, std::string_view unique,
                                     Session* session);

}  // namespace traind::train
