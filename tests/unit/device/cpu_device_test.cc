// The CPU device: instruction sets, threads, and the arena.
#include "engine/device/cpu/cpu_device.h"

#include <omp.h>

#include <cstdlib>

#include "engine/device/cpu/machine.h"
#include "engine/tensor/tensor.h"
#include "tests/support/test.h"

namespace traind {
namespace {

// ThreadSanitizer does not see the barriers of GCC's OpenMP.
#if defined(__SANITIZE_THREAD__)
constexpr int kThreads = 1;
#else
constexpr int kThreads = 2;
#endif

std::unique_ptr<Device> Open(int threads) {
  CpuOptions options;
  options.threads = threads;
  auto device = OpenCpuDevice(options);
  assert_ok(device);
  return *std::move(device);
}

void InstructionSetIsLoweredByTheEnvironment(void**) {
  setenv("TRAIND_INSTRUCTION_SET", "generic", 1);
  auto set = UsableInstructionSet();
  assert_ok(set);
  assert_true(*set == InstructionSet::kGeneric);
  assert_true(Open(1)->capability().instruction_set == InstructionSet::kGeneric);
  setenv("TRAIND_INSTRUCTION_SET", "", 1);
  assert_ok(UsableInstructionSet());
  assert_true(*UsableInstructionSet() == WidestInstructionSet());
  setenv("TRAIND_INSTRUCTION_SET", "sse9", 1);
  assert_code(UsableInstructionSet(), ErrorCode::INVALID_OPTION);
  assert_code(OpenCpuDevice(), ErrorCode::INVALID_OPTION);
  unsetenv("TRAIND_INSTRUCTION_SET");
}

void ThreadsAreFixed(void**) {
  assert_int_equal(Open(0)->capability().threads, Machine().AllowedThreads());
  assert_int_equal(Open(3)->capability().threads, 3);
  assert_int_equal(omp_get_max_threads(), 3);
  assert_int_equal(omp_get_dynamic(), 0);
  CpuOptions options;
  for (int bad : {-1, 1025}) {
    options.threads = bad;
    assert_code(OpenCpuDevice(options), ErrorCode::INVALID_OPTION);
  }
}

void ArenaIsResidentAlignedAndZero(void**) {
  const auto device = Open(kThreads);
  const int64_t before = Machine().ResidentBytes(), wanted = 5 * kArenaGranularity + 1;
  auto arena = device->AllocateArena(wanted);
  assert_ok(arena);
  assert_int_equal((*arena)->bytes(), 6 * kArenaGranularity);
  assert_int_equal(reinterpret_cast<uintptr_t>((*arena)->data()) % kArenaGranularity, 0);
  assert_true(Machine().ResidentBytes() - before >= 6 * kArenaGranularity);
  for (int64_t i = 0; i < (*arena)->bytes(); ++i) assert_true((*arena)->data()[i] == std::byte{0});
}

void ArenaIsGivenBack(void**) {
  const auto device = Open(1);
  const int64_t before = Machine().ResidentBytes();
  for (int i = 0; i < 20; ++i) assert_ok(device->AllocateArena(16 * kArenaGranularity));
  assert_true(Machine().ResidentBytes() - before < 16 * kArenaGranularity);
}

void ArenaBeyondTheMachineIsAnError(void**) {
  const auto device = Open(1);
  assert_code(device->AllocateArena(int64_t{1} << 50), ErrorCode::OUT_OF_MEMORY);
  assert_code(device->AllocateArena(Machine().FreeMemoryBytes() + (int64_t{1} << 32)),
              ErrorCode::OUT_OF_MEMORY);
  assert_code(device->AllocateArena(0), ErrorCode::INTERNAL);
  assert_code(device->AllocateArena(INT64_MAX), ErrorCode::INTERNAL);
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::InstructionSetIsLoweredByTheEnvironment),
      cmocka_unit_test(traind::ThreadsAreFixed),
      cmocka_unit_test(traind::ArenaIsResidentAlignedAndZero),
      cmocka_unit_test(traind::ArenaIsGivenBack),
      cmocka_unit_test(traind::ArenaBeyondTheMachineIsAnError),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
