// The states are: ready → running → row … → ended; Reset leads back to ready from each.
#include "capi/statement.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

namespace traind::capi {
namespace {

constexpr size_t kMaxTokenBytes = 64;

Status Misuse(std::string message, std::string hint = {}) {
  return Status(ErrorCode::MISUSE, std::move(message), std::move(hint));
}

// Unique among all submissions: 128 random bits.
std::string NewToken() {
  std::array<unsigned char, 16> bits{};
  size_t filled = 0;
  while (filled < bits.size()) {
    ssize_t count = getrandom(bits.data() + filled, bits.size() - filled, 0);
    if (count > 0) filled += static_cast<size_t>(count);
  }
  return fmt::format("{:02x}", fmt::join(bits, ""));
}

}  // namespace

Status StatementObject::Bind(int32_t index, Json value) {
  if (state_ != State::kReady) {
    return Misuse("the statement has been stepped", "call traind_reset before binding again");
  }
  if (index < 1 || static_cast<size_t>(index) > parsed_.parameters.size()) {
    return Misuse(fmt::format("parameter {} of a statement that has {}", index, parsed_.parameters.size()),
                  "parameters count from 1");
  }
  values_[parsed_.parameters[static_cast<size_t>(index) - 1]] = std::move(value);
  return Ok();
}

Status StatementObject::ClearBindings() {
  if (state_ != State::kReady) return Misuse("the statement has been stepped", "call traind_reset first");
  values_.clear();
  return Ok();
}

Status StatementObject::SetToken(std::string_view token) {
  if (state_ != State::kReady) return Misuse("the statement has been stepped", "call traind_reset first");
  if (token.size() > kMaxTokenBytes) {
    return Misuse(fmt::format("a token of {} bytes; at most {} are possible", token.size(), kMaxTokenBytes));
  }
  token_ = token;
  return Ok();
}

Status StatementObject::Start(Client* client, const Config& config) {
  Json request = {{"op", "execute"},
                  {"text", parsed_.text},
                  {"offset", parsed_.position.offset},
                  {"line", parsed_.position.line},
                  {"column", parsed_.position.column},
                  {"parameters", values_},
                  {"token", token_.empty() ? NewToken() : token_},
                  {"check", config.check},
                  {"progress", config.progress},
                  {"stop_on_paused", config.stop_on_paused}};
  TRAIND_ASSIGN(execution_, client->Start(std::move(request)));
  state_ = State::kRunning;
  return Ok();
}

Result<StepResult> StatementObject::Advance() {
  if (state_ == State::kRow && !execution_->batches.empty()) {
    if (++row_ == execution_->batches.front().size()) {
      execution_->batches.pop_front();
      row_ = 0;
    }
  }
  state_ = State::kRunning;
  if (!execution_->batches.empty()) {
    state_ = State::kRow;
    return StepResult::kRow;
  }
  if (!execution_->finished) return StepResult::kAgain;
  state_ = State::kEnded;
  if (!execution_->error.ok()) return execution_->error;
  return StepResult::kDone;
}

Result<StepResult> StatementObject::Step(Client* client, const Config& config, bool wait) {
  if (state_ == State::kEnded) return Misuse("the statement has ended", "call traind_reset to run it again");
  kept_.clear();
  if (state_ == State::kReady) {
    if (Status started = Start(client, config); !started.ok()) {
      state_ = State::kEnded;
      return started;
    }
  }
  while (true) {
    TRAIND_ASSIGN(StepResult result, Advance());
    if (result != StepResult::kAgain) return result;
    // A lost connection has ended the execution, so Advance says it.
    (void)client->Pump(wait ? kNoLimit : kNoWait);
    if (!wait) return Advance();
  }
}

void StatementObject::Reset(Client* client) {
  if (execution_ != nullptr && client != nullptr) client->Abandon(execution_);
  execution_.reset();
  kept_.clear();
  row_ = 0;
  state_ = State::kReady;
}

Result<const Json*> StatementObject::Row() const {
  if (state_ != State::kRow)
    return Misuse("there is no current row", "traind_step must have given TRAIND_ROW");
  return &execution_->batches.front()[row_];
}

Result<const Json*> StatementObject::Cell(int32_t column) const {
  TRAIND_ASSIGN(const Json* row, Row());
  if (column < 0 || static_cast<size_t>(column) >= row->size()) {
    return Misuse(fmt::format("column {} of a row that has {}", column, row->size()), "columns count from 0");
  }
  return &(*row)[static_cast<size_t>(column)];
}

const std::string& StatementObject::Keep(std::string text) {
  kept_.push_back(std::make_unique<std::string>(std::move(text)));
  return *kept_.back();
}

}  // namespace traind::capi
