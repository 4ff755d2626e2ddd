// Speed of each operator, as a share of what this machine reaches in a large matrix product (FLOP/s) or in a
// large copy (bytes/s): ops_bench [threads [batch sequence hidden heads kv_heads intermediate vocab]].
#include <fmt/format.h>

#include <time.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "engine/device/cpu/cpu_device.h"
#include "engine/ops/adamw.h"
#include "engine/ops/attention.h"
#include "engine/ops/cross_entropy.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/embedding.h"
#include "engine/ops/linear.h"
#include "engine/ops/rms_norm.h"
#include "engine/ops/rope.h"
#include "engine/ops/square_norm.h"
#include "engine/ops/swiglu.h"
#include "engine/tensor/tensor.h"

namespace traind {
namespace {

struct Sizes {
  const char* name;
  int64_t batch, sequence, hidden, heads, kv_heads, intermediate, vocab;

  int64_t rows() const { return batch * sequence; }
  int64_t head_size() const { return hidden / heads; }
  int64_t qkv() const { return (heads + 2 * kv_heads) * head_size(); }
};

constexpr Sizes kDefaults[] = {
    {"GPT-2 124M, B=4 T=256", 4, 256, 768, 12, 12, 3072, 50257},
    {"one long sequence", 1, 1024, 768, 12, 4, 2048, 256},
    {"tiny, B=16 T=64", 16, 64, 64, 4, 2, 192, 256},
};

class Bench {
 public:
  explicit Bench(int threads) {
    CpuOptions options;
    options.threads = threads;
    auto device = OpenCpuDevice(options);
    if (!device.ok()) Fail(device.status());
    device_ = *std::move(device);
    auto context = ops::Context::Create(*device_);
    if (!context.ok()) Fail(context.status());
    context_ = *std::move(context);
  }

  void Run(const Sizes& sizes);

 private:
  [[noreturn]] static void Fail(const Status& status) {
    fmt::print(stderr, "ops_bench: {}\n", status.ToString());
    std::exit(1);
  }

  // On one thread the processor's time, which other processes disturb less; else the clock's.
  double Now() const {
    timespec time = {};
    clock_gettime(device_->capability().threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  // The best of some repetitions, in seconds.
  double Seconds(const std::function<Status()>& call) const {
    double best = 1e30, spent = 0;
    for (int i = 0; i < 200 && (i < 3 || spent < 0.4); ++i) {
      const double begin = Now();
      const Status status = call();
      const double seconds = Now() - begin;
      if (!status.ok()) Fail(status);
      best = seconds < best ? seconds : best;
      spent += seconds;
    }
    return best;
  }

  void Report(const std::string& name, double flops, double bytes,
              const std::function<Status()>& call) const {
    const double seconds = Seconds(call);
    fmt::print("  {:<34} {:>10.1f} us", name, seconds * 1e6);
    if (flops > 0)
      fmt::print("  {:>7.1f} GFLOP/s {:>4.0f} %", flops / seconds * 1e-9, 100 * flops / seconds / peak_);
    if (bytes > 0)
      fmt::print("  {:>7.1f} GB/s {:>4.0f} %", bytes / seconds * 1e-9, 100 * bytes / seconds / bandwidth_);
    fmt::print("\n");
  }

  float* Take(int64_t elements) {
    float* taken = reinterpret_cast<float*>(arena_->data()) + used_;
    used_ += AlignUp(elements, 16);
    for (int64_t i = 0; i < elements; ++i) taken[i] = static_cast<float>(i * 7919 % 1000 - 500) * 1e-3F;
    return taken;
  }

  void Reserve(int64_t elements) {
    arena_.reset();
    auto arena = device_->AllocateArena(elements * 4 + (int64_t{64} << 20));
    if (!arena.ok()) Fail(arena.status());
    arena_ = *std::move(arena);
    used_ = 0;
    workspace_.bytes = int64_t{32} << 20;
    workspace_.data = reinterpret_cast<std::byte*>(Take(workspace_.bytes / 4));
  }

  void MeasurePeaks();
  template <typename T>
  void Products(const std::string& name, const ops::LinearShape& shape, T* x, T* y, T* weight,
                float* dweight);
  void Linear(const Sizes& s, const std::string& name, int64_t inputs, int64_t outputs);
  void Attention(const Sizes& s);
  void RowOperators(const Sizes& s);
  void Loss(const Sizes& s);
  void Update(int64_t parameters);

  std::unique_ptr<Device> device_;
  std::unique_ptr<ops::Context> context_;
  std::unique_ptr<Arena> arena_;
  Workspace workspace_;
  int64_t used_ = 0;
  double peak_ = 1, bandwidth_ = 1;
};

void Bench::MeasurePeaks() {
  constexpr int64_t kSize = 1536, kElements = int64_t{32} << 20;
  Reserve(kElements * 3);
  float *a = Take(kElements), *b = Take(kElements), *c = Take(kElements);
  const double flops = 2.0 * kSize * kSize * kSize;
  peak_ = flops / Seconds([&] {
            return ops::LinearBackwardInput(*context_, {kSize, kSize, kSize}, a, b, c, ops::Accumulate::kNo,
                                            workspace_);
          });
  bandwidth_ = 12.0 * kElements / Seconds([&] { return ops::Add(*context_, kElements, a, b, c); });
}

template <typename T>
void Bench::Products(const std::string& name, const ops::LinearShape& shape, T* x, T* y, T* weight,
                     float* dweight) {
  const double flops = 2.0 * static_cast<double>(shape.rows * shape.inputs * shape.outputs);
  Report(name + " forward", flops, 0,
         [&] { return ops::LinearForward(*context_, shape, x, weight, nullptr, y, workspace_); });
  Report(name + " backward_input", flops, 0, [&] {
    return ops::LinearBackwardInput(*context_, shape, y, weight, x, ops::Accumulate::kNo, workspace_);
  });
  Report(name + " backward_weight", flops, 0, [&] {
    return ops::LinearBackwardWeight(*context_, shape, y, x, dweight, ops::Accumulate::kYes, workspace_);
  });
}

void Bench::Linear(const Sizes& s, const std::string& name, int64_t inputs, int64_t outputs) {
  Reserve(s.rows() * (inputs + outputs) + 2 * inputs * outputs);
  float *x = Take(s.rows() * inputs), *y = Take(s.rows() * outputs), *weight = Take(inputs * outputs);
  float* const dweight = Take(inputs * outputs);
  const ops::LinearShape shape = {s.rows(), inputs, outputs};
  Products(name, shape, x, y, weight, dweight);
  // The same memory: what the products hold does not matter to their speed.
  const auto halves = [](float* part) { return reinterpret_cast<Bfloat16*>(part); };
  Products(name + " bf16", shape, halves(x), halves(y), halves(weight), dweight);
}

void Bench::Attention(const Sizes& s) {
  const ops::AttentionShape shape = {s.batch, s.sequence, s.heads, s.kv_heads, s.head_size()};
  Reserve(s.rows() * (2 * s.qkv() + 2 * s.hidden) + s.batch * s.heads * s.sequence);
  float *qkv = Take(s.rows() * s.qkv()), *dqkv = Take(s.rows() * s.qkv());
  float *out = Take(s.rows() * s.hidden), *dout = Take(s.rows() * s.hidden);
  float* lse = Take(s.batch * s.heads * s.sequence);
  // Two products forward, five backward, over the lower triangle.
  const double product =
      static_cast<double>(s.batch * s.heads * s.sequence * (s.sequence + 1) * s.head_size());
  Report("attention forward", 2 * product, 0,
         [&] { return ops::AttentionForward(*context_, shape, qkv, out, lse, workspace_); });
  Report("attention backward_input", 5 * product, 0, [&] {
    return ops::AttentionBackwardInput(*context_, shape, qkv, out, lse, dout, dqkv, workspace_);
  });
  const ops::RopeShape rope = {s.batch, s.sequence, s.heads, s.kv_heads, s.head_size()};
  float* table = out;
  if (!ops::RopeTable(s.sequence, s.head_size(), {.theta = 10000}, table).ok()) return;
  Report("rope forward", 0, 8.0 * static_cast<double>(s.rows() * (s.qkv() - s.kv_heads * s.head_size())),
         [&] { return ops::RopeForward(*context_, rope, table, qkv); });
}

void Bench::RowOperators(const Sizes& s) {
  const int64_t elements = s.rows() * s.hidden, wide = s.rows() * s.intermediate;
  const double bytes = 4.0 * static_cast<double>(elements), wide_bytes = 4.0 * static_cast<double>(wide);
  Reserve(4 * elements + 5 * wide + 2 * s.hidden + s.rows() + s.vocab * s.hidden);
  float *x = Take(elements), *branch = Take(elements), *sum = Take(elements), *y = Take(elements);
  float *weight = Take(s.hidden), *dweight = Take(s.hidden), *rstd = Take(s.rows());
  const ops::RmsNormShape norm = {s.rows(), s.hidden, 1e-5F};
  Report("rms_norm forward", 0, 2 * bytes,
         [&] { return ops::RmsNormForward(*context_, norm, x, weight, y, rstd); });
  Report("residual_rms_norm forward", 0, 4 * bytes,
         [&] { return ops::ResidualRmsNormForward(*context_, norm, x, branch, weight, sum, y, rstd); });
  Report("rms_norm backward_input", 0, 4 * bytes,
         [&] { return ops::RmsNormBackwardInput(*context_, norm, x, weight, rstd, y, sum); });
  Report("rms_norm backward_weight", 0, 2 * bytes,
         [&] { return ops::RmsNormBackwardWeight(*context_, norm, x, rstd, y, dweight); });
  float *gate_up = Take(2 * wide), *dgate_up = Take(2 * wide), *activated = Take(wide);
  const ops::SwigluShape swiglu = {s.rows(), s.intermediate};
  Report("swiglu forward", 0, 3 * wide_bytes,
         [&] { return ops::SwigluForward(*context_, swiglu, gate_up, activated); });
  Report("swiglu backward_input", 0, 5 * wide_bytes,
         [&] { return ops::SwigluBackwardInput(*context_, swiglu, gate_up, activated, dgate_up); });
  std::vector<int32_t> tokens(s.rows());
  for (int64_t i = 0; i < s.rows(); ++i) tokens[i] = static_cast<int32_t>(i * 31 % s.vocab);
  float* table = Take(s.vocab * s.hidden);
  const ops::EmbeddingShape embedding = {s.rows(), s.vocab, s.hidden};
  Report("embedding forward", 0, 2 * bytes,
         [&] { return ops::EmbeddingForward(*context_, embedding, tokens.data(), table, y); });
  Report("embedding backward_weight", 0, 3 * bytes,
         [&] { return ops::EmbeddingBackwardWeight(*context_, embedding, tokens.data(), y, table); });
}

void Bench::Loss(const Sizes& s) {
  const int64_t elements = s.rows() * s.vocab;
  Reserve(elements);
  float* logits = Take(elements);
  std::vector<int32_t> targets(s.rows(), 1);
  double loss = 0;
  Report("cross_entropy forward", 0, 8.0 * static_cast<double>(elements), [&] {
    return ops::CrossEntropyForward(*context_, {s.rows(), s.vocab}, targets.data(), logits, &loss,
                                    workspace_);
  });
  Report("cross_entropy forward_backward", 0, 20.0 * static_cast<double>(elements), [&] {
    return ops::CrossEntropyForwardBackward(*context_, {s.rows(), s.vocab}, targets.data(), 1, logits, &loss,
                                            workspace_);
  });
}

void Bench::Update(int64_t parameters) {
  Reserve(4 * parameters);
  float *g = Take(parameters), *w = Take(parameters), *m = Take(parameters), *v = Take(parameters);
  ops::AdamwSettings settings;
  const auto count = static_cast<double>(parameters);
  Report("fill", 0, 4 * count, [&] { return ops::Fill(*context_, parameters, 0.5F, v); });
  Report("adamw", 0, 28 * count, [&] { return ops::Adamw(*context_, settings, parameters, g, w, m, v); });
  double sum = 0;
  Report("square_norm", 0, 4 * count, [&] { return ops::SquareNorm(*context_, parameters, g, &sum); });
}

void Bench::Run(const Sizes& s) {
  if (peak_ == 1) {
    MeasurePeaks();
    fmt::print("{} ({}), {} threads: {:.0f} GFLOP/s, {:.1f} GB/s\n", device_->capability().name,
               InstructionSetName(device_->capability().instruction_set), device_->capability().threads,
               peak_ * 1e-9, bandwidth_ * 1e-9);
  }
  fmt::print("{}\n", s.name);
  Linear(s, "qkv", s.hidden, s.qkv());
  Linear(s, "gate_up", s.hidden, 2 * s.intermediate);
  Linear(s, "down", s.intermediate, s.hidden);
  Linear(s, "head", s.hidden, s.vocab);
  Attention(s);
  RowOperators(s);
  Loss(s);
  Update(s.hidden * (s.qkv() + s.hidden + 3 * s.intermediate));
}

int Main(int argc, char** argv) {
  Bench bench(argc > 1 ? std::atoi(argv[1]) : 0);
  if (argc == 9) {
    int64_t n[7];
    for (int i = 0; i < 7; ++i) n[i] = std::atoll(argv[2 + i]);
    bench.Run({"as given", n[0], n[1], n[2], n[3], n[4], n[5], n[6]});
    return 0;
  }
  for (const Sizes& sizes : kDefaults) bench.Run(sizes);
  return 0;
}

}  // namespace
}  // namespace traind

int main(int argc, char** argv) {
  return traind::Main(argc, argv);
}
