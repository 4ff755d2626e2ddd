// Reads a tokenizer's files, or counts the words of data and learns from them.
#include "engine/train/make_tokenizer.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "engine/data/source.h"
#include "engine/data/tokenize.h"
#include "engine/data/tokenizers/bpe_trainer.h"
#include "engine/data/tokenizers/files.h"
#include "engine/data/tokenizers/patterns.h"
#include "engine/data/tokenizers/pre_tokenizer.h"
#include "engine/train/deadlines.h"

namespace traind::train {
namespace {

constexpr std::string_view kTrainedEndOfText = "<|endoftext|>";

double FileSeconds() {
  return Deadlines(PaceSeconds{}, 1).Files();
}

Status CheckStop(Session* session) {
  session->Advance();
  return session->Poll().stop ? Status(ErrorCode::INTERRUPTED, "asked to stop") : Ok();
}

// A tokenizer whose encoders count words and give no tokens, so that text of any format is read as it is for
// training.
class WordCounter : public data::Tokenizer {
 public:
  WordCounter(const std::vector<data::SplitStep>* steps, data::WordCounts* counts)
      : steps_(steps), counts_(counts) {}

  int64_t vocab_size() const override { return 1; }
  data::TokenId end_of_text() const override { return 0; }
  const std::string& key() const override { return key_; }
  std::string BytesOf(data::TokenId) const override { return {}; }
  bool IsSpecial(data::TokenId) const override { return false; }
  std::unique_ptr<data::DocumentEncoder> NewEncoder() const override {
    return std::make_unique<Encoder>(steps_, counts_);
  }

 private:
  class Encoder : public data::DocumentEncoder {
   public:
    Encoder(const std::vector<data::SplitStep>* steps, data::WordCounts* counts)
        : words_(steps), count_([counts](std::string_view word) { return counts->Add(word); }) {}
    Status Append(std::string_view bytes, std::vector<data::TokenId>*) override {
      // A character that the piece's end cuts waits for its rest; the text has been checked.
      text_ += bytes;
      const size_t whole = data::CompleteUtf8(text_);
      TRAIND_TRY(words_.Append(std::string_view(text_).substr(0, whole), count_));
      text_.erase(0, whole);
      return Ok();
    }
    Status Finish(std::vector<data::TokenId>*) override { return words_.Finish(true, count_); }

   private:
    data::PreTokenizer words_;
    const data::PreTokenizer::Take count_;
    std::string text_;
  };

  const std::vector<data::SplitStep>* const steps_;
  data::WordCounts* const counts_;
  const std::string key_ = "words";
};

// Counts the words of all documents.
Result<data::WordCounts> CountWords(const TokenizerTask& task, Io& io,
                                    const std::vector<data::SplitStep>& steps, Session* session) {
  data::WordCounts counts;
  const WordCounter counter(&steps, &counts);
  data::PrepareOptions options;
  options.tokenizer = &counter;
  std::vector<std::vector<data::SourceFile>> sources;
  int64_t total_bytes = 0;
  for (const DataSpec& data : task.data) {
    TRAIND_ASSIGN(std::vector<data::SourceFile> found, data::FindSources(io, data));
    for (const data::SourceFile& source : found) total_bytes += source.info.bytes;
    sources.push_back(std::move(found));
  }
  int64_t done_bytes = 0;
  const auto watch = [&](size_t, std::string_view piece) {
    done_bytes += std::ssize(piece);
    session->Preparing(done_bytes, total_bytes);
    return CheckStop(session);
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    session->Doing("count the words of " + task.data[i].name, 0, FileSeconds());
    data::TokenFileInfo info;
    info.files.resize(sources[i].size());
    const data::TokenizeRequest request{task.data[i], sources[i], options, watch,
                                        [session] { return CheckStop(session); }};
    TRAIND_TRY(data::Tokenize(io, request, "", &info));
  }
  if (counts.words().empty()) return Status(ErrorCode::DATA_TOO_SHORT, "the data holds no word");
  return counts;
}

Result<data::TokenizerFiles> Learn(const TokenizerTask& task, Io& io, Session* session) {
  const data::NamedPattern* pattern = data::FindPattern(task.pattern);
  if (pattern == nullptr) {
    return Status(ErrorCode::INTERNAL, fmt::format("no pattern is named '{}'", task.pattern));
  }
  std::vector<data::SplitStep> steps(1);
  TRAIND_ASSIGN(steps[0].pattern, data::Pattern::Compile(pattern->expression));
  TRAIND_ASSIGN(const data::WordCounts counts, CountWords(task, io, steps, session));
  data::BpeTrainerOptions options;
  options.vocab_size = task.vocab_size;
  options.min_frequency = task.min_frequency;
  options.special_tokens = {std::string(kTrainedEndOfText)};
  options.progress = [session](int64_t) { return CheckStop(session); };
  session->Doing("merge pairs", 0, FileSeconds());
  TRAIND_ASSIGN(const data::BpeVocabulary vocabulary, data::TrainBpe(counts, options));
  data::TokenizerFiles files;
  files.name = data::kTokenizerName;
  files.content = data::TokenizerJson(vocabulary, options.special_tokens, pattern->expression);
  return files;
}

}  // namespace

TokenizerFacts FactsOf(const data::TokenizerFiles& files, const data::Tokenizer& tokenizer) {
  TokenizerFacts facts;
  facts.kind = files.name == data::kSentencePieceName ? "sentencepiece" : "bpe";
  facts.vocab_size = tokenizer.vocab_size();
  facts.end_of_text = tokenizer.BytesOf(tokenizer.end_of_text());
  facts.end_of_text_id = tokenizer.end_of_text();
  facts.key = tokenizer.key();
  facts.bytes = std::ssize(files.content);
  return facts;
}

Result<TokenizerFacts> MakeTokenizer(const TokenizerTask& task, Io& io, std::string_view unique,
                                     Session* session) {
  session->Doing("read the tokenizer", 0, FileSeconds());
  const bool learns = task.file.empty();
  TRAIND_ASSIGN(data::TokenizerFiles files,
                learns ? Learn(task, io, session) : data::ReadTokenizerFiles(io, task.file));
  TRAIND_ASSIGN(const std::unique_ptr<data::Tokenizer> tokenizer,
                data::MakeTokenizer(files, learns ? kTrainedEndOfText : std::string_view(task.end_of_text),
                                    learns ? "the trained tokenizer" : task.file));
  TokenizerFacts facts = FactsOf(files, *tokenizer);
  TRAIND_TRY(CheckStop(session));
  TRAIND_TRY(data::StoreTokenizer(io, task.directory, unique, std::move(files), *tokenizer));
  return facts;
}

}  // namespace traind::train
