// The same bits, call after call, whatever else the machine is doing.
#include <atomic>
#include <cstring>
#include <thread>

#include "engine/device/cpu/cpu_device.h"
#include "engine/ops/adamw.h"
#include "engine/ops/attention.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/embedding.h"
#include "engine/ops/linear.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/square_norm.h"
#include "engine/ops/swiglu.h"
#include "tests/unit/ops/harness.h"

namespace traind {
namespace {

using namespace testing;

// A processor's worth of other work while the object lives.
class OtherWork {
 public:
  OtherWork()
      : thread_([this] {
          volatile double x = 1;
          while (!stop_) x = x * 1.0000001;
        }) {}
  ~OtherWork() {
    stop_ = true;
    thread_.join();
  }
  OtherWork(const OtherWork&) = delete;
  OtherWork& operator=(const OtherWork&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// FNV-1a over the bits of tensors.
class Fingerprint {
 public:
  void Add(const Tensor& tensor) { AddBytes(tensor.data(), tensor.elements() * 4); }
  void Add(double value) { AddBytes(&value, sizeof(value)); }
  uint64_t value() const { return value_; }

 private:
  void AddBytes(const void* data, int64_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (int64_t i = 0; i < bytes; ++i) value_ = (value_ ^ byte[i]) * 0x100000001B3U;
  }
  uint64_t value_ = 0xCBF29CE484222325U;
};

// Something like a layer with its loss, gradients and update.
uint64_t RunAll(OpRun& run) {
  constexpr int64_t kRows = 192, kChannels = 96, kVocab = 307;
  ops::Context& c = *run.context;
  Fingerprint all;
  const auto tokens = RandomTokens(kRows, kVocab, 1);
  Tensor table(RandomValues(kVocab * kChannels, 2)), x(kRows * kChannels), norm(kRows * kChannels),
      rstd(kRows);
  Tensor ones(Values(kChannels, 1.0));
  assert_ok(ops::EmbeddingForward(c, {kRows, kVocab, kChannels}, tokens.data(), table.data(), x.data()));
  const ops::RmsNormShape norm_shape = {kRows, kChannels, 1e-5F};
  assert_ok(ops::RmsNormForward(c, norm_shape, x.data(), ones.data(), norm.data(), rstd.data()));
  Tensor wide_weight(RandomValues(2 * kChannels * kChannels, 3, 0.1)), qkv(kRows * 2 * kChannels);
  const ops::LinearShape wide = {kRows, kChannels, 2 * kChannels};
  assert_ok(ops::LinearForward(c, wide, norm.data(), wide_weight.data(), nullptr, qkv.data(), run.workspace));
  const ops::AttentionShape attention = {2, kRows / 2, 6, 3, 16};
  Tensor out(kRows * kChannels), lse(kRows * 6), dqkv(kRows * 2 * kChannels);
  assert_ok(ops::AttentionForward(c, attention, qkv.data(), out.data(), lse.data(), run.workspace));
  Tensor activated(kRows * kChannels), logits(kRows * kVocab), dx(kRows * kChannels);
  assert_ok(ops::SwigluForward(c, {kRows, kChannels}, qkv.data(), activated.data()));
  const ops::LinearShape head = {kRows, kChannels, kVocab};
  assert_ok(ops::LinearForward(c, head, out.data(), table.data(), nullptr, logits.data(), run.workspace));
  double loss = 0, norm_sum = 0;
  assert_ok(ops::CrossEntropyForwardBackward(c, {kRows, kVocab}, tokens.data(), 1.0F / kRows, logits.data(),
                                             &loss, run.workspace));
  Tensor dtable(Values(kVocab * kChannels, 0.0)), dones(Values(kChannels, 0.0));
  assert_ok(ops::LinearBackwardWeight(c, head, logits.data(), out.data(), dtable.data(),
                                      ops::Accumulate::kYes, run.workspace));
  assert_ok(ops::LinearBackwardInput(c, head, logits.data(), table.data(), dx.data(), ops::Accumulate::kNo,
                                     run.workspace));
  assert_ok(ops::AttentionBackwardInput(c, attention, qkv.data(), out.data(), lse.data(), dx.data(),
                                        dqkv.data(), run.workspace));
  assert_ok(ops::RmsNormBackwardWeight(c, norm_shape, x.data(), rstd.data(), dx.data(), dones.data()));
  assert_ok(
      ops::EmbeddingBackwardWeight(c, {kRows, kVocab, kChannels}, tokens.data(), dx.data(), dtable.data()));
  assert_ok(ops::SquareNorm(c, dtable.elements(), dtable.data(), &norm_sum));
  Tensor m(Values(kVocab * kChannels, 0.0)), v(Values(kVocab * kChannels, 0.0));
  assert_ok(ops::Adamw(c, {.learning_rate = 1e-3}, table.elements(), dtable.data(), table.data(), m.data(),
                       v.data()));
  for (const Tensor* tensor :
       {&norm, &qkv, &out, &lse, &activated, &logits, &dx, &dqkv, &dones, &dtable, &table}) {
    all.Add(*tensor);
  }
  all.Add(loss);
  all.Add(norm_sum);
  return all.value();
}

void SameBitsEveryTime(void**) {
  ForEachVariant([](OpRun& run) {
    const uint64_t first = RunAll(run);
    for (int i = 0; i < 2; ++i) assert_true(RunAll(run) == first);
    const OtherWork one, two;
    for (int i = 0; i < 4; ++i) assert_true(RunAll(run) == first);
  });
}

// Few outputs and many rows: the shapes for which a library may divide a sum over threads.
void LongSumsToo(void**) {
  OpRun run = OpenOpRun(WidestInstructionSet(), 2, true);
  const OtherWork one, two;
  for (const ops::LinearShape& shape :
       {ops::LinearShape{4096, 64, 64}, {2048, 32, 96}, {5000, 16, 16}, {1024, 64, 192}}) {
    Tensor x(RandomValues(shape.rows * shape.inputs, 1)), dy(RandomValues(shape.rows * shape.outputs, 2));
    Tensor first(Values(shape.inputs * shape.outputs, 0.0));
    assert_ok(ops::LinearBackwardWeight(*run.context, shape, dy.data(), x.data(), first.data(),
                                        ops::Accumulate::kYes, run.workspace));
    for (int i = 0; i < 20; ++i) {
      Tensor again(Values(shape.inputs * shape.outputs, 0.0));
      assert_ok(ops::LinearBackwardWeight(*run.context, shape, dy.data(), x.data(), again.data(),
                                          ops::Accumulate::kYes, run.workspace));
      assert_true(again == first);
    }
  }
}

void SameBitsInANewContext(void**) {
  OpRun first = OpenOpRun(WidestInstructionSet(), 2, true);
  OpRun second = OpenOpRun(WidestInstructionSet(), 2, true);
  assert_true(RunAll(first) == RunAll(second));
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::SameBitsEveryTime),
      cmocka_unit_test(traind::LongSumsToo),
      cmocka_unit_test(traind::SameBitsInANewContext),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
