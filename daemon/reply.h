// The daemon's messages to a client, encoded as frames. Pure; used on pool threads, so that the loop only
// writes.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/statement.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind::daemon {

// {"id":…,"ok":{…}}
Json OkMessage(int64_t id, Json value);
// {"id":…|null,"error":{…}}
Json ErrorMessage(std::optional<int64_t> id, const Status& status);
// {"id":…,"done":{"kind":…,"rows":…,"notices":[…]}}
Json DoneMessage(int64_t id, std::string_view kind, int64_t rows, const std::vector<std::string>& notices);

// {"id":…,"columns":[{"name","type"}…],"kind":…,"notices":[…]}
Json ColumnsMessage(int64_t id, std::string_view kind, const Reply& reply);

// Rows in frames {"id":…,"rows":[[…]…]} of about 256 KiB each. TOO_MANY past kMaxResultBytes in all, or for a
// single row that no frame can hold.
Result<std::deque<std::string>> EncodeRows(int64_t id, const std::vector<std::vector<Cell>>& rows);

// The columns' frame, if there are columns, and the rows' frames.
Result<std::deque<std::string>> EncodeReply(int64_t id, std::string_view kind, const Reply& reply);

// The frame of a JSON object that is already text.
std::string FrameOfText(std::string_view text);

Json CellToJson(const Cell& cell);

}  // namespace traind::daemon
