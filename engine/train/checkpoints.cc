// Saves, tells, and removes what is no longer needed.
#include "engine/train/checkpoints.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "engine/base/log.h"
#include "engine/train/checkpoint.h"
#include "engine/train/checkpoint_store.h"

namespace traind::train {
namespace {

constexpr double kAcknowledgementSeconds = 5;
constexpr std::chrono::milliseconds kPollInterval(5);

}  // namespace

Checkpoints::Checkpoints(const TrainTask& task, const RunEnvironment& environment, std::string resumed_path,
                         const format::Manifest& resumed)
    : task_(task),
      environment_(environment),
      path_(std::move(resumed_path)),
      attempt_seconds_(environment.clock.MonotonicSeconds()),
      success_seconds_(attempt_seconds_) {
  // One of another job's directory does not count as this job's.
  if (!path_.starts_with(task.checkpoint_directory + "/")) return;
  step_ = resumed.step;
  resumed_step_ = resumed.step;
  bytes_ = CheckpointBytes(resumed);
}

bool Checkpoints::IsDue(int64_t step) const {
  const TrainingSpec& training = task_.training;
  if (training.checkpoint_every_steps) return step % *training.checkpoint_every_steps == 0;
  if (!training.checkpoint_every_seconds) return false;
  return environment_.clock.MonotonicSeconds() - attempt_seconds_ >= *training.checkpoint_every_seconds;
}

double Checkpoints::SecondsAtRisk() const {
  return environment_.clock.MonotonicSeconds() - success_seconds_;
}

Result<bool> Checkpoints::Save(const format::Manifest& manifest, const ModelState& state) {
  if (step_ == manifest.step) return false;
  attempt_seconds_ = environment_.clock.MonotonicSeconds();
  const Status finite = CheckFinite(state);
  if (!finite.ok()) {
    return Status(finite.code(), "after step " + std::to_string(manifest.step) + " " + finite.message(),
                  finite.hint());
  }
  TRAIND_ASSIGN(const format::Manifest written, Write(manifest, state));
  step_ = manifest.step;
  written_.insert(manifest.step);
  path_ = task_.checkpoint_directory + "/" + format::CheckpointName(manifest.step);
  bytes_ = CheckpointBytes(written);
  success_seconds_ = environment_.clock.MonotonicSeconds();
  attempt_seconds_ = success_seconds_;
  Tell(manifest);
  return true;
}

Result<format::Manifest> Checkpoints::Write(const format::Manifest& manifest, const ModelState& state) {
  const std::string& directory = task_.checkpoint_directory;
  TRAIND_ASSIGN(const std::optional<FoundCheckpoint> there,
                ClaimName(environment_.io, directory, manifest, environment_.unique));
  if (there) return there->manifest;
  return WriteCheckpoint(environment_.io, directory, environment_.unique, manifest, state, rows_,
                         [this] { environment_.session.Advance(); });
}

void Checkpoints::TellIfNewest(const format::Manifest& manifest) {
  if (step_ == manifest.step) Tell(manifest);
}

void Checkpoints::Tell(const format::Manifest& manifest) {
  awaited_ = true;
  environment_.session.CheckpointWritten(manifest.step, path_, bytes_, manifest.total_steps,
                                         manifest.val_loss);
}

void Checkpoints::Acknowledge(std::optional<int64_t> saved_step) {
  if (!saved_step || *saved_step <= acknowledged_step_) return;
  acknowledged_step_ = *saved_step;
  if (step_ && acknowledged_step_ >= *step_) awaited_ = false;
  std::erase_if(rows_, [this](const MetricRow& row) { return row.step <= acknowledged_step_; });
  // What is newer than the one that the run went on from was passed over: it was found damaged.
  const auto is_trusted = [this](int64_t step) { return step <= resumed_step_ || written_.contains(step); };
  const Status removed = RemoveOldCheckpoints(environment_.io, task_.checkpoint_directory, acknowledged_step_,
                                              task_.training.keep_checkpoints, is_trusted);
  if (!removed.ok()) Log(LogLevel::kWarning, "old checkpoints stay for now: {}", removed.ToString());
}

void Checkpoints::AwaitAcknowledgement() {
  const double end = environment_.clock.MonotonicSeconds() + kAcknowledgementSeconds * task_.deadline_scale;
  while (awaited_ && environment_.clock.MonotonicSeconds() < end) {
    const Requests requests = environment_.session.Poll();
    Acknowledge(requests.saved_step);
    if (requests.listener_gone) return;
    if (awaited_) std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace traind::train
