// Saves, tells, and removes what is no longer needed.
#include "engine/train/checkpoints.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/log.h"
#include "engine/train/checkpoint.h"
#include "engine/train/checkpoint_store.h"

namespace traind::train {
namespace {

constexpr double kAcknowledgementSeconds = 5;
constexpr std::chrono::milliseconds kPollInterval(5);
// How often a thread that waits for the writer looks whether it moves.
constexpr std::chrono::milliseconds kProgressInterval(100);
constexpr double kEarliestBestShare = 0.25;

}  // namespace

// A checkpoint on its way, shared by the run's thread and the writer.
struct Checkpoints::Flight {
  Flight(const TrainTask& task, const RunEnvironment& environment, const format::Manifest& saved,
         const std::deque<MetricRow>& saved_rows, const ModelState& state, std::span<std::byte> memory)
      : io(environment.io),
        directory(task.checkpoint_directory),
        unique(environment.unique),
        manifest(saved),
        rows(saved_rows),
        live(state),
        snapshot(memory),
        begin_seconds(environment.clock.MonotonicSeconds()) {}

  // What is saved, where, and whence. Constant.
  Io& io;
  const std::string directory;
  const std::string unique;
  const format::Manifest manifest;
  const std::deque<MetricRow> rows;
  const ModelState live;
  const std::span<std::byte> snapshot;

  // The run's thread alone.
  const double begin_seconds;
  double stall_seconds = 0;

  std::atomic<int64_t> pieces = 0;
  std::atomic<bool> abandoned = false;
  std::mutex mutex;
  std::condition_variable changed;
  bool taken = false;                              // guarded by mutex
  std::optional<Result<format::Manifest>> result;  // guarded by mutex

  Status Proceed() {
    pieces.fetch_add(1, std::memory_order_relaxed);
    if (!abandoned.load(std::memory_order_relaxed)) return Ok();
    return Status(ErrorCode::INTERRUPTED, "the checkpoint is no longer wanted");
  }

  void Taken() {
    {
      const std::lock_guard lock(mutex);
      taken = true;
    }
    changed.notify_all();
  }

  Result<format::Manifest> Write() {
    TRAIND_ASSIGN(const std::optional<FoundCheckpoint> there, ClaimName(io, directory, manifest, unique));
    if (there) return there->manifest;
    const WriteHooks hooks{[this] { return Proceed(); }, [this] { Taken(); }};
    if (snapshot.empty()) return WriteState(live, hooks);
    TRAIND_ASSIGN(const ModelState copy, CopyState(live, snapshot, hooks.proceed));
    Taken();
    return WriteState(copy, hooks);
  }

  Result<format::Manifest> WriteState(const ModelState& state, const WriteHooks& hooks) {
    const Status finite = CheckFinite(state);
    if (!finite.ok()) {
      return Status(finite.code(), "after step " + std::to_string(manifest.step) + " " + finite.message(),
                    finite.hint());
    }
    return WriteCheckpoint(io, directory, unique, manifest, state, rows, hooks);
  }

  void Run() {
    Result<format::Manifest> written = Write();
    {
      const std::lock_guard lock(mutex);
      taken = true;
      result = std::move(written);
    }
    changed.notify_all();
  }
};

Checkpoints::Checkpoints(const TrainTask& task, const RunEnvironment& environment, std::string resumed_path,
                         const format::Manifest& resumed, std::span<std::byte> snapshot)
    : task_(task),
      environment_(environment),
      snapshot_(snapshot),
      path_(std::move(resumed_path)),
      attempt_seconds_(environment.clock.MonotonicSeconds()),
      success_seconds_(attempt_seconds_) {
  // One of another job's directory does not count as this job's.
  if (!path_.starts_with(task.checkpoint_directory + "/")) return;
  step_ = resumed.step;
  resumed_step_ = resumed.step;
  told_ = {resumed.step, path_, CheckpointBytes(resumed), resumed.total_steps, resumed.own_val_loss(), 0, 0};
}

Checkpoints::~Checkpoints() = default;

bool Checkpoints::IsDue(int64_t step, bool best) const {
  const TrainingSpec& training = task_.training;
  if (training.checkpoint_every_steps) return step % *training.checkpoint_every_steps == 0;
  if (!training.checkpoint_every_seconds) return false;
  const double due = *training.checkpoint_every_seconds * (best ? kEarliestBestShare : 1.0);
  return environment_.clock.MonotonicSeconds() - attempt_seconds_ >= due;
}

double Checkpoints::SecondsAtRisk() const {
  return environment_.clock.MonotonicSeconds() - success_seconds_;
}

bool Checkpoints::Begin(const format::Manifest& manifest, const ModelState& state) {
  if (flight_ || step_ == manifest.step) return false;
  flight_ = std::make_shared<Flight>(task_, environment_, manifest, rows_, state, snapshot_);
  attempt_seconds_ = flight_->begin_seconds;
  writer_.Submit([flight = flight_] { flight->Run(); });
  return true;
}

std::optional<int64_t> Checkpoints::writing() const {
  return flight_ ? std::optional(flight_->manifest.step) : std::nullopt;
}

bool Checkpoints::IsTaking() const {
  if (!flight_) return false;
  const std::lock_guard lock(flight_->mutex);
  return !flight_->taken;
}

void Checkpoints::Wait(bool until_taken) {
  Flight& flight = *flight_;
  const double begin = environment_.clock.MonotonicSeconds();
  int64_t seen = -1;
  std::unique_lock lock(flight.mutex);
  const auto is_over = [&] { return until_taken ? flight.taken : flight.result.has_value(); };
  while (!flight.changed.wait_for(lock, kProgressInterval, is_over)) {
    const int64_t pieces = flight.pieces.load();
    if (std::exchange(seen, pieces) == pieces) continue;
    lock.unlock();
    environment_.session.Advance();
    lock.lock();
  }
  flight.stall_seconds += environment_.clock.MonotonicSeconds() - begin;
}

void Checkpoints::AwaitTaken() {
  if (flight_) Wait(true);
}

std::optional<Checkpoints::End> Checkpoints::TakeEnd() {
  if (!flight_) return std::nullopt;
  {
    const std::lock_guard lock(flight_->mutex);
    if (!flight_->result) return std::nullopt;
  }
  return Land();
}

std::optional<Checkpoints::End> Checkpoints::AwaitEnd() {
  if (!flight_) return std::nullopt;
  Wait(false);
  return Land();
}

// With the result known: nobody else touches the flight any more.
std::optional<Checkpoints::End> Checkpoints::Land() {
  const std::shared_ptr<Flight> flight = std::exchange(flight_, nullptr);
  const Result<format::Manifest>& written = *flight->result;
  const int64_t step = flight->manifest.step;
  if (!written.ok()) return End{step, written.status(), flight->stall_seconds};
  step_ = step;
  written_.insert(step);
  path_ = task_.checkpoint_directory + "/" + format::CheckpointName(step);
  success_seconds_ = flight->begin_seconds;
  Tell({step, path_, CheckpointBytes(*written), flight->manifest.total_steps, flight->manifest.own_val_loss(),
        environment_.clock.MonotonicSeconds() - flight->begin_seconds, flight->stall_seconds});
  return End{step, Ok(), flight->stall_seconds};
}

void Checkpoints::Abandon() {
  if (flight_) flight_->abandoned.store(true);
}

bool Checkpoints::TellIfNewest(int64_t step) {
  if (step_ != step) return false;
  Tell(told_);
  return true;
}

void Checkpoints::Tell(const CheckpointReport& report) {
  awaited_ = true;
  told_ = report;
  environment_.session.CheckpointWritten(report);
}

void Checkpoints::Acknowledge(std::optional<int64_t> saved_step) {
  if (!saved_step || *saved_step <= acknowledged_step_) return;
  acknowledged_step_ = *saved_step;
  if (step_ && acknowledged_step_ >= *step_) awaited_ = false;
  std::erase_if(rows_, [this](const MetricRow& row) { return row.step <= acknowledged_step_; });
  // What is newer than the one that the run went on from was passed over: it was found damaged.
  const auto is_trusted = [resumed = resumed_step_, written = written_](int64_t step) {
    return step <= resumed || written.contains(step);
  };
  writer_.Submit([&io = environment_.io, directory = task_.checkpoint_directory, saved = acknowledged_step_,
                  keep = task_.training.keep_checkpoints, is_trusted] {
    const Status removed = RemoveOldCheckpoints(io, directory, saved, keep, is_trusted);
    if (!removed.ok()) Log(LogLevel::kWarning, "old checkpoints stay for now: {}", removed.ToString());
  });
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
