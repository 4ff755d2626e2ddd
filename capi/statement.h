// One statement: its parameters, its execution, its current row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capi/client.h"
#include "capi/config.h"
#include "capi/objects.h"
#include "capi/script.h"

namespace traind::capi {

enum class StepResult { kRow, kDone, kAgain };

class StatementObject : public Dependent {
 public:
  StatementObject(void* connection, ScriptStatement parsed)
      : Dependent(connection), parsed_(std::move(parsed)) {}

  const ScriptStatement& parsed() const { return parsed_; }
  const Execution* execution() const { return execution_.get(); }

  // Parameters count from 1. MISUSE for an index out of range or after the first step.
  Status Bind(int32_t index, Json value);
  Status ClearBindings();
  Status SetToken(std::string_view token);

  // One step; with `wait` it ends only with a row, at the end, or on an error.
  Result<StepResult> Step(Client* client, const Config& config, bool wait);
  // Back to before the first step.
  void Reset(Client* client);

  // The current row's value; MISUSE if there is no row or no such column.
  Result<const Json*> Cell(int32_t column) const;
  // The row itself; MISUSE if there is none.
  Result<const Json*> Row() const;

  // Keeps a text that was made for the caller until the next step, reset or free.
  const std::string& Keep(std::string text);

 private:
  enum class State { kReady, kRunning, kRow, kEnded };

  Status Start(Client* client, const Config& config);
  // The next row, or the end, if it has arrived.
  Result<StepResult> Advance();

  ScriptStatement parsed_;
  std::map<std::string, Json> values_;
  std::string token_;
  State state_ = State::kReady;
  std::shared_ptr<Execution> execution_;
  size_t row_ = 0;  // in the first batch
  std::vector<std::unique_ptr<std::string>> kept_;
};

}  // namespace traind::capi
