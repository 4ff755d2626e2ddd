// Limits of statements hold exactly: one below and at the limit is served, one above is told the limit.
#include <fmt/format.h>
#include <unistd.h>

#include "daemon/bind/sql.h"
#include "engine/base/limits.h"
#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

using Fixture = testing::StatementFixture;

// "/a/a/a…" of this many bytes: no component is longer than a name may be.
std::string PathOf(int64_t bytes) {
  std::string path;
  while (static_cast<int64_t>(path.size()) < bytes) path += path.size() % 2 == 0 ? '/' : 'a';
  if (path.back() == '/') path.back() = 'a';
  return path;
}

std::string NameOf(const Result<Outcome>& outcome) {
  return outcome.ok() ? "OK" : std::string(outcome.status().info().name);
}

void paths(void**) {
  Fixture fixture;
  fixture.Make();
  for (const std::string statement :
       {"CREATE DATASET d FROM '{}' FORMAT text", "TRAIN MODEL tiny FROM '{}' FOR 1 STEPS",
        "TRAIN MODEL tiny FROM lic VALIDATE FROM '{}' EVERY 5 STEPS FOR 1 STEPS"}) {
    for (const int64_t bytes : {kMaxPathBytes - 1, kMaxPathBytes, kMaxPathBytes + 1}) {
      const std::string text = fmt::format(fmt::runtime(statement), PathOf(bytes));
      const auto outcome = fixture.Run(text);
      assert_text(NameOf(outcome), bytes > kMaxPathBytes ? "INVALID_OPTION" : "FILE_NOT_FOUND");
      if (bytes <= kMaxPathBytes) continue;
      assert_true(outcome.status().message().find(std::to_string(kMaxPathBytes)) != std::string::npos);
    }
  }
}

void names(void**) {
  Fixture fixture;
  fixture.Make();
  for (const std::string statement :
       {"CREATE MODEL {} LIKE tiny", "CREATE DATASET {} FROM 'data.txt' FORMAT text",
        "TRAIN MODEL tiny INTO {} FROM lic FOR 1 STEPS", "CREATE MODEL \"{}\" LIKE tiny"}) {
    for (const int64_t length : {kMaxNameCharacters - 1, kMaxNameCharacters, kMaxNameCharacters + 1}) {
      // Each statement and length has a name of its own; characters count, not bytes.
      const bool quoted = statement.find('"') != std::string::npos;
      std::string name(static_cast<size_t>(length) - 1, static_cast<char>('a' + statement.size() % 26));
      name += quoted ? "é" : "z";
      const auto outcome = fixture.Run(fmt::format(fmt::runtime(statement), name));
      assert_text(NameOf(outcome), length > kMaxNameCharacters ? "NAME_TOO_LONG" : "OK");
    }
  }
}

void result_rows(void**) {
  Fixture fixture;
  for (const int64_t rows : {kMaxResultRows - 1, kMaxResultRows, kMaxResultRows + 1}) {
    const auto outcome = fixture.Run(fmt::format(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n", rows));
    assert_text(NameOf(outcome), rows > kMaxResultRows ? "TOO_MANY" : "OK");
    if (outcome.ok()) assert_int_equal(Fixture::ReplyOf(*outcome).rows.size(), rows);
  }
}

void bytes_of_a_row(void**) {
  Fixture fixture;
  constexpr int64_t kOverhead = 8;  // what a text cell counts besides its characters
  for (const int64_t bytes : {kMaxReplyFrameBytes - 1, kMaxReplyFrameBytes, kMaxReplyFrameBytes + 1}) {
    const std::string text = fmt::format("SELECT printf('%.*c', {}, 'x')", bytes - kOverhead);
    auto table = fixture.reader->UserQuery(text, {}, 10);
    assert_int_equal(table.ok(), bytes <= kMaxReplyFrameBytes);
    if (!table.ok()) assert_code(table, ErrorCode::TOO_MANY);
  }
}

void files_of_a_dataset(void**) {
  Fixture fixture;
  // In memory where there is such a place: so many files take minutes on a busy disk.
  const bool memory = access("/dev/shm", W_OK) == 0;
  std::string directory = (memory ? "/dev/shm" : fixture.directory()) + "/traind-many-XXXXXX";
  assert_non_null(mkdtemp(directory.data()));
  int64_t made = 0;
  const auto add = [&](int64_t wanted) {
    for (; made < wanted; ++made) std::ofstream(fmt::format("{}/{}.txt", directory, made)) << "x";
  };
  for (const int64_t files : {kMaxDatasetFiles - 1, kMaxDatasetFiles, kMaxDatasetFiles + 1}) {
    add(files);
    const auto outcome =
        fixture.Run(fmt::format("CREATE DATASET d{} FROM '{}/*.txt' FORMAT text", files, directory));
    assert_text(NameOf(outcome), files > kMaxDatasetFiles ? "INVALID_OPTION" : "OK");
  }
  std::filesystem::remove_all(directory);
}

// Copies of a queued job, made by one statement of SQL.
Status CopyJobs(Transaction& transaction, int64_t copies) {
  std::string columns;
  TRAIND_ASSIGN(const auto rows,
                transaction.Query(
                    "SELECT name FROM pragma_table_info('_jobs') WHERE name NOT IN ('id', 'client_token')"));
  for (const auto& row : rows) columns += ", " + std::get<std::string>(row.front());
  columns = columns.substr(2);
  return transaction.Run(
      fmt::format("INSERT INTO _jobs({0}) SELECT {0} FROM _jobs, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                  "SELECT i + 1 "
                  "FROM n LIMIT {1}) SELECT i FROM n) WHERE id = 1",
                  columns, copies));
}

void unfinished_jobs(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do(
      "CREATE MODEL other LIKE tiny; CREATE MODEL third LIKE tiny; TRAIN MODEL tiny FROM lic FOR 1 STEPS");
  assert_ok(fixture.Write([](Transaction& t) { return CopyJobs(t, kMaxQueuedJobs - 2); }));
  assert_text(NameOf(fixture.Run("TRAIN MODEL other FROM lic FOR 1 STEPS")), "OK");  // the last that fits
  const auto outcome = fixture.Run("TRAIN MODEL third FROM lic FOR 1 STEPS");
  assert_text(NameOf(outcome), "TOO_MANY");
  assert_true(outcome.status().message().find(std::to_string(kMaxQueuedJobs)) != std::string::npos);
  fixture.Do("CANCEL JOB 2");
  assert_text(NameOf(fixture.Run("TRAIN MODEL third FROM lic FOR 1 STEPS")), "OK");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(paths),
      cmocka_unit_test(names),
      cmocka_unit_test(result_rows),
      cmocka_unit_test(bytes_of_a_row),
      cmocka_unit_test(files_of_a_dataset),
      cmocka_unit_test(unfinished_jobs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
