// Encoding of results, batch by batch.
#include "daemon/reply.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/frame.h"
#include "engine/base/quantity.h"

namespace traind::daemon {
namespace {

constexpr size_t kBatchBytes = 262144;

// Gathers rows into frames.
class Batches {
 public:
  explicit Batches(int64_t id) : opening_(fmt::format("{{\"id\":{},\"rows\":[", id)), text_(opening_) {}

  Status Add(const std::vector<Cell>& row) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(CellToJson(cell));
    const std::string encoded = DumpJson(cells);
    if (static_cast<int64_t>(encoded.size() + opening_.size() + 2) > kMaxReplyFrameBytes) {
      return {ErrorCode::TOO_MANY,
              fmt::format("a row of the result takes {}; one message holds {}",
                          FormatBytes(static_cast<double>(encoded.size())),
                          FormatBytes(static_cast<double>(kMaxReplyFrameBytes))),
              "select fewer or shorter columns"};
    }
    total_ += encoded.size();
    if (static_cast<int64_t>(total_) > kMaxResultBytes) {
      return {ErrorCode::TOO_MANY,
              fmt::format("the result is larger than {}", FormatBytes(static_cast<double>(kMaxResultBytes))),
              "ask for fewer rows with LIMIT or WHERE"};
    }
    if (text_.size() > opening_.size()) {
      if (text_.size() + encoded.size() + 3 > kBatchBytes) {
        Cut();
      } else {
        text_ += ',';
      }
    }
    text_ += encoded;
    return Ok();
  }

  std::deque<std::string> Take() {
    if (text_.size() > opening_.size()) Cut();
    return std::move(frames_);
  }

 private:
  void Cut() {
    text_ += "]}";
    frames_.push_back(FrameOfText(text_));
    text_ = opening_;
  }

  const std::string opening_;
  std::string text_;
  std::deque<std::string> frames_;
  size_t total_ = 0;
};

}  // namespace

std::string FrameOfText(std::string_view text) {
  std::string frame;
  frame.reserve(text.size() + 4);
  for (size_t shift = 0; shift < 32; shift += 8) {
    frame.push_back(static_cast<char>((text.size() >> shift) & 0xffU));
  }
  frame += text;
  return frame;
}

Json CellToJson(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
          return nullptr;
        } else {
          return value;
        }
      },
      cell);
}

Json OkMessage(int64_t id, Json value) {
  return Json{{"id", id}, {"ok", std::move(value)}};
}

Json ErrorMessage(std::optional<int64_t> id, const Status& status) {
  Json message{{"id", nullptr}, {"error", StatusToJson(status)}};
  if (id) message["id"] = *id;
  return message;
}

Json DoneMessage(int64_t id, std::string_view kind, int64_t rows, const std::vector<std::string>& notices) {
  return Json{{"id", id}, {"done", {{"kind", kind}, {"rows", rows}, {"notices", notices}}}};
}

Json ColumnsMessage(int64_t id, std::string_view kind, const Reply& reply) {
  Json columns = Json::array();
  for (const Column& column : reply.columns) {
    columns.push_back(Json{{"name", column.name}, {"type", column.type}});
  }
  return Json{{"id", id}, {"columns", std::move(columns)}, {"kind", kind}, {"notices", reply.notices}};
}

Result<std::deque<std::string>> EncodeRows(int64_t id, const std::vector<std::vector<Cell>>& rows) {
  Batches batches(id);
  for (const auto& row : rows) TRAIND_TRY(batches.Add(row));
  return batches.Take();
}

Result<std::deque<std::string>> EncodeReply(int64_t id, std::string_view kind, const Reply& reply) {
  TRAIND_ASSIGN(std::deque<std::string> frames, EncodeRows(id, reply.rows));
  if (!reply.columns.empty()) {
    std::string columns;
    AppendFrame(ColumnsMessage(id, kind, reply), &columns);
    frames.push_front(std::move(columns));
  }
  return frames;
}

}  // namespace traind::daemon
