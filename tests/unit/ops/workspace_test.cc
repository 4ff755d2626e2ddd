// The caps of workspaces against what operators really use, and no allocation in a repeated call.
#include "engine/tensor/workspace.h"

#include <cstdlib>
#include <iterator>

#include "engine/device/cpu/cpu_device.h"
#include "engine/ops/attention.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/linear.h"
#include "engine/ops/onednn_matmul.h"
#include "tests/unit/ops/harness.h"

// The largest allocation since it was last set to 0, of whatever library; not seen under the sanitizers,
// which have their own malloc.
static int64_t largest_allocation = 0;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static constexpr bool kSeesAllocations = true;

static void See(size_t bytes) {
  const auto wanted = static_cast<int64_t>(bytes);
  int64_t seen = __atomic_load_n(&largest_allocation, __ATOMIC_RELAXED);
  while (wanted > seen && !__atomic_compare_exchange_n(&largest_allocation, &seen, wanted, true,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* malloc(size_t bytes) {
  See(bytes);
  return __libc_malloc(bytes);
}
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  See(bytes);
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? 12 : 0;
}
}
#else
static constexpr bool kSeesAllocations = false;
#endif

namespace traind {
namespace {

using namespace testing;

// Forward, backward_input and backward_weight of a linear operator, as linear.cc makes them.
ops::MatmulShape ProductOf(const ops::LinearShape& s, int which) {
  if (which == 0) return {s.rows, s.outputs, s.inputs, ops::Transpose::kNo, ops::Transpose::kYes, false};
  if (which == 1) return {s.rows, s.inputs, s.outputs, ops::Transpose::kNo, ops::Transpose::kNo, false};
  return {s.outputs, s.inputs, s.rows, ops::Transpose::kYes, ops::Transpose::kNo, true};
}

// The shapes of real models, among them those for which oneDNN's own division over threads asks for
// gigabytes.
constexpr ops::LinearShape kShapes[] = {
    {1, 64, 192},        {1024, 64, 256},      {1024, 768, 2304},   {4096, 64, 151936}, {1024, 768, 50257},
    {8192, 4096, 12288}, {8192, 4096, 128256}, {8390, 768, 151936}, {3334, 1024, 3072}, {2048, 2048, 8192},
    {512, 1024, 50257},  {8192, 1, 1},         {1, 16384, 16384},   {77, 4099, 5001},   {16384, 2560, 10240},
    {2049, 11008, 4096}, {300, 257, 513},      {32768, 128, 384},   {1, 1, 100000},     {100000, 3, 5}};

void OnednnKeepsToTheWorkspace(void**) {
  if (WidestInstructionSet() < InstructionSet::kAvx512) skip();
  auto onednn = ops::OnednnMatmul::Create();
  assert_ok(onednn);
  for (int threads : {1, 2, 3, 8, 64}) {
    int refused = 0;
    for (const ops::LinearShape& shape : kShapes) {
      for (int which : {0, 1, 2}) {
        auto scratch = (*onednn)->ScratchBytes(ProductOf(shape, which), threads);
        assert_ok(scratch);
        assert_true(*scratch <= LinearWorkspaceBytes(threads));
        refused += *scratch < 0 ? 1 : 0;
      }
    }
    if (threads == 1) assert_int_equal(refused, 0);
    assert_true(refused < static_cast<int>(std::size(kShapes)));
  }
}

// Every operator that gets a workspace, exactly as large as the cap says, with guards behind it.
void NoOperatorWritesBeyondItsWorkspace(void**) {
  ForEachVariant([](OpRun& run) {
    const int64_t threads = run.context->threads();
    auto exactly = [&](int64_t bytes) { return Tensor(bytes / 4); };
    for (const ops::LinearShape& shape : {ops::LinearShape{70, 300, 130}, {1, 40, 1500}, {513, 65, 33}}) {
      Tensor storage = exactly(LinearWorkspaceBytes(threads));
      const Workspace workspace = {reinterpret_cast<std::byte*>(storage.data()),
                                   LinearWorkspaceBytes(threads)};
      Tensor x(Values(shape.rows * shape.inputs, 1.0)), y(Values(shape.rows * shape.outputs, 1.0));
      Tensor weight(Values(shape.inputs * shape.outputs, 1.0));
      assert_ok(
          ops::LinearForward(*run.context, shape, x.data(), weight.data(), nullptr, y.data(), workspace));
      assert_ok(ops::LinearBackwardWeight(*run.context, shape, y.data(), x.data(), weight.data(),
                                          ops::Accumulate::kYes, workspace));
      assert_ok(ops::LinearBackwardInput(*run.context, shape, y.data(), weight.data(), x.data(),
                                         ops::Accumulate::kNo, workspace));
      assert_true(storage.guards_intact());
    }
    const ops::AttentionShape shape = {1, 130, 4, 4, 256};
    const int64_t qkv_elements = 130 * 12 * 256, out_elements = 130 * 4 * 256;
    const int64_t attention_bytes = AttentionBackwardWorkspaceBytes(threads, 130, 256);
    Tensor storage = exactly(attention_bytes);
    const Workspace workspace = {reinterpret_cast<std::byte*>(storage.data()), attention_bytes};
    Tensor qkv(RandomValues(qkv_elements, 1)), out(out_elements), lse(4 * 130), dqkv(qkv_elements);
    assert_ok(ops::AttentionForward(*run.context, shape, qkv.data(), out.data(), lse.data(), workspace));
    assert_ok(ops::AttentionBackwardInput(*run.context, shape, qkv.data(), out.data(), lse.data(), out.data(),
                                          dqkv.data(), workspace));
    assert_true(storage.guards_intact());
  });
}

void RepeatedCallsAllocateNothing(void**) {
  if (!kSeesAllocations) skip();
  ForEachVariant([](OpRun& run) {
    const ops::LinearShape shape = {200, 300, 400};
    const ops::AttentionShape attention = {2, 100, 4, 2, 32};
    Tensor x(Values(200 * 300, 1.0)), y(Values(200 * 400, 1.0)), weight(Values(300 * 400, 1.0));
    Tensor qkv(RandomValues(200 * 8 * 32, 1)), out(200 * 4 * 32), lse(2 * 4 * 100), dqkv(200 * 8 * 32);
    for (int repetition : {0, 1, 2}) {
      largest_allocation = 0;
      assert_ok(
          ops::LinearForward(*run.context, shape, x.data(), weight.data(), nullptr, y.data(), run.workspace));
      assert_ok(ops::LinearBackwardInput(*run.context, shape, y.data(), weight.data(), x.data(),
                                         ops::Accumulate::kYes, run.workspace));
      assert_ok(ops::LinearBackwardWeight(*run.context, shape, y.data(), x.data(), weight.data(),
                                          ops::Accumulate::kYes, run.workspace));
      assert_ok(
          ops::AttentionForward(*run.context, attention, qkv.data(), out.data(), lse.data(), run.workspace));
      assert_ok(ops::AttentionBackwardInput(*run.context, attention, qkv.data(), out.data(), lse.data(),
                                            out.data(), dqkv.data(), run.workspace));
      if (repetition > 0) assert_in_range(largest_allocation, 0, 1024);
    }
  });
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::OnednnKeepsToTheWorkspace),
      cmocka_unit_test(traind::NoOperatorWritesBeyondItsWorkspace),
      cmocka_unit_test(traind::RepeatedCallsAllocateNothing),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
