// Damaged catalogs: a flipped byte, a cut file, a missing log. Each is detected, or everything is served as
// it was; nothing crashes and nothing is moved.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

using testing::TemporaryState;

// For a commit; TRAIND_TEST_SCALE multiplies them for longer runs.
constexpr int kFlips = 100;
constexpr int kCuts = 24;

int Scaled(int times) {
  const char* scale = std::getenv("TRAIND_TEST_SCALE");
  return scale == nullptr ? times : times * std::max(1, std::atoi(scale));
}

constexpr const char* kFiles[] = {"catalog.db", "catalog.db-wal", "catalog.db-commits",
                                  "metrics.db", "metrics.db-wal", "metrics.db-commits"};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// What is served: every row of both files, in order.
Result<std::string> Serve(const std::string& path) {
  TRAIND_ASSIGN(const auto catalog, Catalog::Open(path));
  TRAIND_ASSIGN(const auto reader, catalog->OpenReader());
  std::string served;
  for (const char* sql :
       {"SELECT * FROM main._settings ORDER BY name", "SELECT * FROM main._events ORDER BY id",
        "SELECT * FROM metrics._metrics ORDER BY job_id, step",
        "SELECT kind, count(*) FROM sys_events GROUP BY kind"}) {
    TRAIND_ASSIGN(const auto rows, reader->Query(sql));
    for (const auto& row : rows) {
      for (const Cell& cell : row) {
        if (const auto* text = std::get_if<std::string>(&cell)) served += *text;
        if (const auto* integer = std::get_if<int64_t>(&cell)) served += std::to_string(*integer);
        if (const auto* real = std::get_if<double>(&cell)) served += std::to_string(*real);
        served += '|';
      }
    }
  }
  return served;
}

// The files of a catalog with content, as a kill leaves them (with logs) or a close.
class Damaged {
 public:
  explicit Damaged(bool killed) {
    assert_ok(state_.Open());
    for (int64_t i = 0; i < 300; ++i) {
      std::vector<MetricRow> rows(3);
      for (int64_t j = 0; j < 3; ++j) rows[static_cast<size_t>(j)].step = 3 * i + j;
      state_.catalog().SubmitMetrics(1, rows, i % 10 == 0);
      assert_ok(state_.catalog().Write([i](Transaction& t) -> Status {
        TRAIND_TRY(t.Run("INSERT INTO _settings(name, value) VALUES (?1, ?2)",
                         {"name" + std::to_string(i), std::string(100, static_cast<char>('a' + i % 26))}));
        return t.Run("INSERT INTO _events(job_id, time, kind, detail) VALUES (?1, 0.0, 'k', 'd')", {i});
      }));
    }
    // The last commit of the metrics is a synced one: what is not synced may be missing after a power loss,
    // too.
    state_.catalog().SubmitMetrics(2, std::vector<MetricRow>(1), true);
    assert_ok(state_.catalog().Write([](Transaction&) { return Status(); }));
    if (!killed) state_.Close();
    for (const char* name : kFiles) {
      if (std::filesystem::exists(state_.path() + "/" + name))
        files_[name] = ReadFile(state_.path() + "/" + name);
    }
    state_.Close();
    expected_ = *Serve(Restore());
  }

  // A fresh copy of all files.
  std::string Restore() {
    const std::string copy = state_.path() + "/copy";
    std::filesystem::remove_all(copy);
    std::filesystem::create_directory(copy);
    for (const auto& [name, content] : files_) WriteFile(copy + "/" + name, content);
    return copy;
  }
  const std::map<std::string, std::string>& files() const { return files_; }

  // Detected with a message that names the file, or served as it was.
  void Check(const std::string& copy, const std::string& what) {
    const auto served = Serve(copy);
    if (served.ok() && *served == expected_) return ++served_, void();
    const bool detected = !served.ok() && (served.status().code() == ErrorCode::DAMAGED_CATALOG ||
                                           served.status().code() == ErrorCode::STATE_UNUSABLE);
    if (!detected) {
      std::fprintf(stderr, "%s: %s\n", what.c_str(),
                   served.ok() ? "served wrongly" : served.status().ToString().c_str());
      fail();
    }
    ++detected_;
  }
  int detected() const { return detected_; }

 private:
  TemporaryState state_;
  std::map<std::string, std::string> files_;
  std::string expected_;
  int served_ = 0;
  int detected_ = 0;
};

void FlippedBytes(void**) {
  std::mt19937_64 random(1);
  for (const bool killed : {true, false}) {
    Damaged damaged(killed);
    for (int i = 0; i < Scaled(kFlips) / 2; ++i) {
      const std::string copy = damaged.Restore();
      auto file = damaged.files().begin();
      std::advance(file, random() % damaged.files().size());
      std::string content = file->second;
      if (content.empty()) continue;
      const size_t at = random() % content.size();
      content[at] = static_cast<char>(content[at] ^ (1 + random() % 255));
      WriteFile(copy + "/" + file->first, content);
      damaged.Check(copy, file->first + " byte " + std::to_string(at));
    }
    assert_true(damaged.detected() > 5);
  }
}

void CutFiles(void**) {
  std::mt19937_64 random(2);
  for (const bool killed : {true, false}) {
    Damaged damaged(killed);
    for (int i = 0; i < Scaled(kCuts) / 2; ++i) {
      const std::string copy = damaged.Restore();
      auto file = damaged.files().begin();
      std::advance(file, random() % damaged.files().size());
      const size_t kept = file->second.empty() ? 0 : random() % file->second.size();
      WriteFile(copy + "/" + file->first, file->second.substr(0, kept));
      damaged.Check(copy, file->first + " cut to " + std::to_string(kept));
    }
  }
}

void MissingFiles(void**) {
  Damaged damaged(true);
  for (const char* name : {"catalog.db-wal", "metrics.db-wal"}) {
    const std::string copy = damaged.Restore();
    std::filesystem::remove(copy + "/" + name);
    const Status status = Serve(copy).status();
    assert_code(status, ErrorCode::DAMAGED_CATALOG);
    assert_true(status.message().find(name) != std::string::npos);
    assert_false(status.hint().empty());
  }
  for (const char* name : {"catalog.db-commits", "metrics.db-commits"}) {
    const std::string copy = damaged.Restore();
    std::filesystem::remove(copy + "/" + name);
    damaged.Check(copy, name);
  }
}

// What is refused stays as it was, to be looked at.
void NothingIsMoved(void**) {
  Damaged damaged(false);
  const std::string copy = damaged.Restore();
  std::string content = damaged.files().at("catalog.db");
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 0x55);
  WriteFile(copy + "/catalog.db", content);
  assert_code(Serve(copy), ErrorCode::DAMAGED_CATALOG);
  assert_true(ReadFile(copy + "/catalog.db") == content);
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(FlippedBytes),
      cmocka_unit_test(CutFiles),
      cmocka_unit_test(MissingFiles),
      cmocka_unit_test(NothingIsMoved),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
