// Fills, encodes and empties batches.
#include "engine/data/encode.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace traind::data {
namespace {

// Small, because a worker's peak memory is promised before its data is known.
constexpr size_t kBatchBytes = 128 << 10;
constexpr size_t kPieceBytes = 64 << 10;

}  // namespace

struct DocumentBatches::Batch {
  struct Document {
    DocumentPlace place;
    size_t text_end = 0;
    size_t ids_end = 0;
  };

  std::string text;
  std::vector<Document> documents;
  std::vector<TokenId> ids;
  size_t encoded = 0;  // documents
  Status status;

  void Encode(const Tokenizer& tokenizer) {
    const std::unique_ptr<DocumentEncoder> encoder = tokenizer.NewEncoder();
    size_t begin = 0;
    for (Document& document : documents) {
      const std::string_view piece = std::string_view(text).substr(begin, document.text_end - begin);
      status = encoder->Append(piece, &ids);
      if (status.ok()) status = encoder->Finish(&ids);
      if (!status.ok()) return;
      document.ids_end = ids.size();
      begin = document.text_end;
      ++encoded;
    }
  }

  Status Give(DocumentSink* sink) const {
    size_t begin = 0;
    for (size_t i = 0; i < encoded; ++i) {
      const Document& document = documents[i];
      TRAIND_TRY(sink->BeginDocument(document.place));
      TRAIND_TRY(sink->AppendTokens(std::span(ids).subspan(begin, document.ids_end - begin)));
      begin = document.ids_end;
    }
    return status.ok() ? Ok() : sink->Explain(documents[encoded].place, status);
  }
};

DocumentBatches::DocumentBatches(const Tokenizer& tokenizer, int threads, std::function<Status()> poll,
                                 DocumentSink* sink)
    : tokenizer_(tokenizer),
      threads_(static_cast<size_t>(std::max(1, threads))),
      poll_(std::move(poll)),
      sink_(sink) {}

DocumentBatches::~DocumentBatches() = default;

Status DocumentBatches::Begin(const DocumentPlace& place) {
  if (batches_.empty() || batches_.back().text.size() >= kBatchBytes) {
    if (batches_.size() == threads_) TRAIND_TRY(EncodeBatches());
    batches_.emplace_back();
  }
  Batch& batch = batches_.back();
  batch.documents.push_back({place, batch.text.size(), 0});
  return Ok();
}

Status DocumentBatches::Append(std::string_view text) {
  text_bytes_ += std::ssize(text);
  if (stream_) return Stream(text);
  Batch& batch = batches_.back();
  batch.text.append(text.substr(0, kBatchBytes));
  batch.documents.back().text_end = batch.text.size();
  const size_t begin = batch.documents.size() > 1 ? batch.documents[batch.documents.size() - 2].text_end : 0;
  if (text.size() <= kBatchBytes && batch.text.size() - begin <= kBatchBytes) return Ok();
  TRAIND_TRY(StartStream());
  return text.size() > kBatchBytes ? Stream(text.substr(kBatchBytes)) : Ok();
}

Status DocumentBatches::End() {
  if (!stream_) return Ok();
  ids_.clear();
  const Status finished = stream_->Finish(&ids_);
  stream_.reset();
  if (!finished.ok()) return sink_->Explain(stream_place_, finished);
  return sink_->AppendTokens(ids_);
}

Status DocumentBatches::Flush() {
  return EncodeBatches();
}

// The document that was begun last is taken out of its batch and goes on by itself.
Status DocumentBatches::StartStream() {
  Batch& batch = batches_.back();
  const Batch::Document document = batch.documents.back();
  batch.documents.pop_back();
  const size_t begin = batch.documents.empty() ? 0 : batch.documents.back().text_end;
  const std::string text = batch.text.substr(begin);
  batch.text.resize(begin);
  TRAIND_TRY(EncodeBatches());
  TRAIND_TRY(sink_->BeginDocument(document.place));
  stream_place_ = document.place;
  stream_ = tokenizer_.NewEncoder();
  return Stream(text);
}

Status DocumentBatches::Stream(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min(kPieceBytes, text.size()))) {
    TRAIND_TRY(poll_());
    ids_.clear();
    const Status encoded = stream_->Append(text.substr(0, kPieceBytes), &ids_);
    if (!encoded.ok()) return sink_->Explain(stream_place_, encoded);
    TRAIND_TRY(sink_->AppendTokens(ids_));
  }
  return Ok();
}

Status DocumentBatches::EncodeBatches() {
  TRAIND_TRY(poll_());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < batches_.size(); ++i) {
    threads.emplace_back([this, i] { batches_[i].Encode(tokenizer_); });
  }
  if (!batches_.empty()) batches_.front().Encode(tokenizer_);
  for (std::thread& thread : threads) thread.join();
  for (const Batch& batch : batches_) TRAIND_TRY(batch.Give(sink_));
  batches_.clear();
  return Ok();
}

}  // namespace traind::data
