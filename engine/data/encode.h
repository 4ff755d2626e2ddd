// Documents to token ids: small ones in batches, a batch on each of several threads, large ones as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/data/tokenizer.h"

namespace traind::data {

// Where a document comes from.
struct DocumentPlace {
  size_t file = 0;     // of the caller's files
  int64_t offset = 0;  // of its first byte, or its line, in the file
  int64_t line = 0;    // from 1, or 0 if the file is the document
};

// What an encoder gives, in the order of the documents.
class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  virtual Status BeginDocument(const DocumentPlace& place) = 0;
  // The next ids of the document.
  virtual Status AppendTokens(std::span<const TokenId> ids) = 0;
  // An encoder's error, made one that names the document.
  virtual Status Explain(const DocumentPlace& place, Status error) const = 0;
};

// Used by one thread; holds at most 256 KiB of text, and its ids, for each of its threads, whatever a
// document's size.
class DocumentBatches {
 public:
  // All borrowed. `threads` ≥ 1. `poll` is asked now and then; another Status than OK ends the work.
  DocumentBatches(const Tokenizer& tokenizer, int threads, std::function<Status()> poll, DocumentSink* sink);
  ~DocumentBatches();

  // A document: Begin, then its text in pieces of any size, then End.
  Status Begin(const DocumentPlace& place);
  Status Append(std::string_view text);
  Status End();
  // Gives all that is held back.
  Status Flush();

  // Of all documents so far.
  int64_t text_bytes() const { return text_bytes_; }

 private:
  struct Batch;

  Status EncodeBatches();
  Status StartStream();
  Status Stream(std::string_view text);

  const Tokenizer& tokenizer_;
  const size_t threads_;
  const std::function<Status()> poll_;
  DocumentSink* const sink_;
  std::vector<Batch> batches_;               // full ones, and the one that is being filled
  std::unique_ptr<DocumentEncoder> stream_;  // of a document that is larger than a batch
  DocumentPlace stream_place_;
  std::vector<TokenId> ids_;  // of the piece that is streamed
  int64_t text_bytes_ = 0;
};

}  // namespace traind::data
