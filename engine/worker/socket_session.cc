// What a run tells, as messages.
#include "engine/worker/socket_session.h"

#include <algorithm>

namespace traind::worker {
namespace {

// The bar that a person watches needs no more.
constexpr std::chrono::milliseconds kPreparingInterval(200);
constexpr std::chrono::milliseconds kTextInterval(50);
constexpr size_t kMostText = 65536;  // a longer text is told at its end

Json CountsToJson(const train::DataCounts& counts) {
  Json sources = Json::array();
  for (const train::SourceCounts& source : counts.sources) {
    sources.push_back({{"tokens", source.tokens},
                       {"documents", source.documents},
                       {"bytes", source.bytes},
                       {"files", source.files},
                       {"largest_token", source.largest_token}});
  }
  return sources;
}

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      break;
  }
  return "error";
}

}  // namespace

void SocketSession::Preparing(int64_t done_bytes, int64_t total_bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_preparing_ < kPreparingInterval && done_bytes < total_bytes) return;
  last_preparing_ = now;
  control_->SendIfRoom({{"type", "preparing"}, {"done_bytes", done_bytes}, {"total_bytes", total_bytes}});
}

void SocketSession::Prepared(const train::DataCounts& data,
                             const std::optional<train::DataCounts>& validation, int64_t total_steps) {
  control_->Send({{"type", "prepared"},
                  {"data", CountsToJson(data)},
                  {"validation", validation ? CountsToJson(*validation) : Json(nullptr)},
                  {"total_steps", total_steps}});
}

void SocketSession::Running(std::string_view plan_hash, int64_t arena_bytes, int64_t start_step) {
  control_->Send({{"type", "running"},
                  {"plan_hash", plan_hash},
                  {"arena_bytes", arena_bytes},
                  {"start_step", start_step}});
}

void SocketSession::CheckpointWritten(const train::CheckpointReport& report) {
  control_->Send({{"type", "checkpoint"},
                  {"step", report.step},
                  {"path", report.path},
                  {"bytes", report.bytes},
                  {"total_steps", report.total_steps},
                  {"val_loss", report.val_loss ? Json(*report.val_loss) : Json(nullptr)},
                  {"seconds", report.seconds},
                  {"stall_seconds", report.stall_seconds}});
}

void SocketSession::CheckpointFailed(int64_t step, const Status& status) {
  control_->Send({{"type", "checkpoint_failed"}, {"step", step}, {"error", StatusToJson(status)}});
}

void SocketSession::TotalSteps(int64_t total_steps) {
  control_->Send({{"type", "total_steps"}, {"total_steps", total_steps}});
}

void SocketSession::Text(std::string_view text) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_text_ < kTextInterval) return;
  last_text_ = now;
  control_->SendIfRoom({{"type", "text"}, {"text", text.substr(0, std::min(text.size(), kMostText))}});
}

void SocketSession::Message(LogLevel level, std::string_view text) {
  control_->Send({{"type", "log"}, {"level", LevelName(level)}, {"text", text}});
}

}  // namespace traind::worker
