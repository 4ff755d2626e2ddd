// What a crash left in the state directory: found by the catalog's rows, removed, and nothing else with it.
#include "daemon/leftovers.h"

#include <filesystem>

#include "tests/support/scratch.h"
#include "tests/unit/daemon/temporary_state.h"

#include "tests/support/test.h"

namespace traind::daemon {
namespace {

namespace fs = std::filesystem;

void OnlyWhatNobodyHasIsRemoved(void**) {
  testing::TemporaryState state;
  assert_ok(state.Open());
  // The row of model 2 alone is there: the DROP of 1 was committed, its files were not removed.
  assert_ok(state.catalog().Write([](Transaction& transaction) {
    return transaction.Run(
        "INSERT INTO _models(id, name, spec, architecture, parameters, created_at) "
        "VALUES (2, 'kept', '{}', 'llama', 1, 0)");
  }));
  for (const char* path : {"models/1/1", "models/2/1", "models/not-a-number", "cache", "jobs/1"}) {
    fs::create_directories(state.path() + "/" + path);
  }
  testing::WriteFile(state.path() + "/models/1/1/model.safetensors", "weights");
  testing::WriteFile(state.path() + "/cache/.tmp-abc.tokens-77-1700000000", "half");
  testing::WriteFile(state.path() + "/cache/abc.tokens", "whole");
  const auto reader = state.NewReader();
  const auto found = FindLeftovers(*reader, PosixIo(), state.path());
  assert_ok(found);
  assert_true((*found == std::vector<std::string>{state.path() + "/models/1",
                                                  state.path() + "/cache/.tmp-abc.tokens-77-1700000000"}));
  RemoveLeftovers(PosixIo(), *found);
  for (const char* path : {"models/2/1", "models/not-a-number", "cache/abc.tokens", "jobs/1"}) {
    assert_true(fs::exists(state.path() + "/" + path));
  }
  assert_false(fs::exists(state.path() + "/models/1"));
  assert_true(FindLeftovers(*reader, PosixIo(), state.path())->empty());
}

void ANewStateHasNone(void**) {
  testing::TemporaryState state;
  assert_ok(state.Open());
  assert_true(FindLeftovers(*state.NewReader(), PosixIo(), state.path())->empty());
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(OnlyWhatNobodyHasIsRemoved),
      cmocka_unit_test(ANewStateHasNone),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
