// Prepares data under a session's eyes.
#include "engine/train/training_data.h"

#include <fmt/format.h>

#include <utility>

namespace traind::train {
namespace {

constexpr char kBetweenSources = ',';
constexpr char kBeforeWeight = ':';

// The sources' own keys in a HeldData's key(): `sources` of them, empty ones if it is none.
std::vector<std::string> SourceKeys(std::string_view key, size_t sources) {
  std::vector<std::string> keys;
  while (!key.empty()) {
    const std::string_view source = key.substr(0, key.find(kBetweenSources));
    keys.emplace_back(source.substr(0, source.find(kBeforeWeight)));
    key.remove_prefix(std::min(key.size(), source.size() + 1));
  }
  keys.resize(sources);
  return keys;
}

SourceCounts CountsOf(const data::TokenFile& file) {
  return {file.info().tokens,  file.info().documents,  std::ssize(file.info().files),
          file.source_bytes(), file.info().text_bytes, file.info().largest_token};
}

// Reports the work of one source after the other as one piece of work.
class Progress {
 public:
  Progress(Io& io, const MixtureSpec& mixture, Session* session) : session_(session) {
    for (const MixturePart& part : mixture.parts) total_bytes_ += data::WorkBytes(io, part.data);
  }

  Status Report(int64_t done_bytes, int64_t source_bytes) {
    session_->Advance();
    source_bytes_ = source_bytes;
    const int64_t done = finished_bytes_ + done_bytes;
    session_->Preparing(done, std::max({total_bytes_, done, finished_bytes_ + source_bytes}));
    return session_->Poll().stop ? Status(ErrorCode::INTERRUPTED, "asked to stop while preparing data")
                                 : Ok();
  }
  void FinishSource() { finished_bytes_ += std::exchange(source_bytes_, 0); }

 private:
  Session* const session_;
  int64_t total_bytes_ = 0;
  int64_t finished_bytes_ = 0;
  int64_t source_bytes_ = 0;
};

}  // namespace

DataCounts HeldData::counts() const {
  DataCounts counts;
  for (const data::PreparedData& each : prepared) counts.sources.push_back(CountsOf(each.file));
  return counts;
}

std::string HeldData::key() const {
  std::string key;
  for (size_t i = 0; i < prepared.size(); ++i) {
    if (i > 0) key += kBetweenSources;
    key += prepared[i].key;
    // One source is itself whatever its weight.
    if (prepared.size() > 1 && !weights.empty()) key += fmt::format("{}{}", kBeforeWeight, weights[i]);
  }
  return key;
}

Result<std::unique_ptr<HeldData>> PrepareData(Io& io, const MixtureSpec& mixture,
                                              const std::string& expected_key, const DataRequest& request,
                                              Session* session) {
  Progress progress(io, mixture, session);
  data::PrepareOptions options;
  options.cache_directory = request.cache_directory;
  options.unique = request.unique;
  options.tokenizer = request.tokenizer;
  options.vocab_size = request.vocab_size;
  options.threads = request.threads;
  options.progress = [&](int64_t done, int64_t total) { return progress.Report(done, total); };
  const std::vector<std::string> keys = SourceKeys(expected_key, mixture.parts.size());
  auto held = std::make_unique<HeldData>();
  for (size_t i = 0; i < mixture.parts.size(); ++i) {
    const MixturePart& part = mixture.parts[i];
    session->Doing("prepare " + part.data.name, 0, request.deadline_seconds);
    options.expected_key = keys[i];
    TRAIND_ASSIGN(data::PreparedData prepared, data::PrepareData(io, part.data, options));
    held->prepared.push_back(std::move(prepared));
    if (part.weight) held->weights.push_back(*part.weight);
    progress.FinishSource();
  }
  std::vector<data::NamedTokens> files;
  for (size_t i = 0; i < held->prepared.size(); ++i) {
    files.push_back({&held->prepared[i].file, mixture.parts[i].data.name});
  }
  TRAIND_ASSIGN(held->sequences, data::Sequences::Open(files, request.sequence_length));
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
