// What several handlers need: replies of one form, a model's business, files of dropped models.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/catalog/models.h"
#include "daemon/jobs/jobs.h"
#include "daemon/statement.h"
#include "engine/base/status.h"

namespace traind::daemon {

// A reply of (field, value) rows.
class FieldReply {
 public:
  FieldReply& Add(std::string_view field, std::string value);
  FieldReply& Add(std::string_view field, int64_t value) { return Add(field, std::to_string(value)); }
  Reply Take() { return std::move(reply_); }

 private:
  Reply reply_{{{"field", "text"}, {"value", "text"}}, {}, {}, {}};
};

// A reply without columns, with a notice.
Reply NoticeReply(std::string notice);

// MODEL_BUSY, naming the job, if an unfinished one makes the model's next version (or, with `reads`, starts
// from one of its versions).
Status CheckNotBusy(Connection& connection, int64_t model_id, std::string_view model, bool reads);

// Removes the files of a model that the catalog no longer has; a notice if that fails.
void RemoveModelFiles(const Context& context, int64_t model_id, std::vector<std::string>* notices);

// TRAIN's reply rows: id, name, state, model, from_version, to_version, devices, total_steps,
// predicted_peak_bytes, predicted_step_ms, predicted_end.
Result<Reply> JobReply(Connection& connection, const std::vector<int64_t>& jobs);

// Rows of id, name, state, request: what the jobs' verbs answer.
Result<Reply> JobStateReply(Connection& connection, const std::vector<int64_t>& jobs);

inline double Now(const Context& context) {
  return context.daemon.clock->WallSeconds();
}

}  // namespace traind::daemon
