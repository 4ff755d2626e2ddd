// Prepares data under a session's eyes.
#include "engine/train/training_data.h"

#include <utility>

namespace traind::train {

DataCounts HeldData::counts() const {
  const data::TokenFile& file = prepared.file;
  return {file.info().tokens, std::ssize(file.info().documents), file.source_bytes()};
}

Result<std::unique_ptr<HeldData>> PrepareData(Io& io, const DataSpec& spec, const std::string& expected_key,
                                              const DataRequest& request, Session* session) {
  data::PrepareOptions options;
  options.cache_directory = request.cache_directory;
  options.unique = request.unique;
  options.vocab_size = request.vocab_size;
  options.expected_key = expected_key;
  options.progress = [session](int64_t done_bytes, int64_t total_bytes) {
    session->Advance();
    session->Preparing(done_bytes, total_bytes);
    return session->Poll().stop ? Status(ErrorCode::INTERRUPTED, "asked to stop while preparing data") : Ok();
  };
  session->Doing("prepare " + spec.name, 0, request.deadline_seconds);
  TRAIND_ASSIGN(data::PreparedData prepared, data::PrepareData(io, spec, options));
  auto held = std::make_unique<HeldData>(HeldData{std::move(prepared), {}});
  TRAIND_ASSIGN(held->sequences,
                data::Sequences::Open(held->prepared.file, spec.name, request.sequence_length));
  return held;
}

Result<TrainingData> PrepareTrainingData(Io& io, const TrainTask& task, const format::Manifest* resumed,
                                         const DataRequest& request, Session* session) {
  const bool same_job = resumed != nullptr && resumed->job == task.job;
  TrainingData result;
  TRAIND_ASSIGN(result.train,
                PrepareData(io, task.data, same_job ? resumed->cursor.key : "", request, session));
  if (task.validation) {
    TRAIND_ASSIGN(
        result.validation,
        PrepareData(io, *task.validation, same_job ? resumed->cursor.validation : "", request, session));
  }
  return result;
}

}  // namespace traind::train
