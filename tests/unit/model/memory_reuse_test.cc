// Memory is shared exactly as the table says: with every slot dead, poisoned and NaN outside its lifetime, a
// run gives the bits of one in which every slot has its own address.
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "engine/plan/verify.h"
#include "tests/support/test.h"
#include "tests/unit/model/model_fixture.h"

namespace traind::model {
namespace {

struct Configuration {
  ModelSpec model;
  plan::Strategy strategy;
  FixtureOptions options;
};

// Small, and of every shape: odd widths, one token, one head, tied and untied.
Configuration RandomConfiguration(std::mt19937& random) {
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  Configuration made;
  constexpr Architecture kFamilies[] = {Architecture::kLlama, Architecture::kGpt2, Architecture::kQwen2};
  made.model.architecture = kFamilies[pick(0, 2)];
  made.model.num_key_value_heads = pick(1, 3);
  made.model.num_attention_heads =
      made.model.num_key_value_heads * (made.model.traits().grouped_queries ? pick(1, 3) : 1);
  made.model.hidden_size = made.model.num_attention_heads * 2 * pick(1, 9);
  made.model.num_hidden_layers = pick(1, 4);
  made.model.intermediate_size = pick(1, 90);
  made.model.vocab_size = pick(2, 300);
  made.model.max_position_embeddings = 64;
  made.model.tie_word_embeddings = pick(0, 1) == 1;
  made.strategy = {pick(1, 3), pick(1, 3)};
  made.strategy.recompute = plan::kRecomputes[pick(0, 2)];
  made.options.sequence_length = pick(1, 40);
  made.options.backward = pick(0, 2) == 0 ? plan::BackwardForm::kSplit : plan::BackwardForm::kJoint;
  return made;
}

std::string Describe(const Configuration& made) {
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%s recompute %s hidden %ld layers %ld heads %ld/%ld intermediate %ld vocabulary %ld tied %d, %ld x "
      "%ld x %ld",
      std::string(ArchitectureName(made.model.architecture)).c_str(),
      std::string(plan::RecomputeName(made.strategy.recompute)).c_str(),
      static_cast<long>(made.model.hidden_size), static_cast<long>(made.model.num_hidden_layers),
      static_cast<long>(made.model.num_attention_heads), static_cast<long>(made.model.num_key_value_heads),
      static_cast<long>(made.model.intermediate_size), static_cast<long>(made.model.vocab_size),
      made.model.tie_word_embeddings, static_cast<long>(made.strategy.micro_batches),
      static_cast<long>(made.strategy.micro_batch), static_cast<long>(made.options.sequence_length));
  return text;
}

// Everything that a few steps, validations and snapshots between them produce.
struct Trace {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<float> weights;
};

Trace Run(const Configuration& made, bool reuse, bool poison) {
  FixtureOptions options = made.options;
  options.reuse = reuse;
  options.poison = poison;
  ModelFixture fixture(made.model, made.strategy, options);
  assert_ok(plan::VerifyPlacement(fixture.model->table()));
  fixture.model->Initialize(3);
  Trace trace;
  for (int64_t step = 1; step <= 4; ++step) {
    trace.losses.push_back(fixture.Step(step, 1e-2, step).sum);
    trace.norms.push_back(fixture.model->square_norm());
    fixture.Fill(100, 0);
    assert_ok(fixture.model->Run({plan::InstructionKind::kValidate}));
    trace.losses.push_back(fixture.model->TakeLoss().sum);
    const std::span<std::byte> staging = fixture.model->staging();
    std::memset(staging.data(), 0x5A, staging.size());
  }
  const std::span<float> weights = fixture.model->weights();
  trace.weights.assign(weights.begin(), weights.end());
  return trace;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void PoisonedAndReusedGivesTheSameBits(void**) {
  std::mt19937 random(17);
  for (int round = 0; round < 48; ++round) {
    const Configuration made = RandomConfiguration(random);
    const Trace apart = Run(made, false, false);
    const Trace poisoned = Run(made, true, true);
    const Trace plain = Run(made, true, false);
    const bool same = SameBits(apart.losses, poisoned.losses) && SameBits(apart.norms, poisoned.norms) &&
                      SameBits(apart.weights, poisoned.weights) && SameBits(apart.losses, plain.losses) &&
                      SameBits(apart.weights, plain.weights);
    if (!same) {
      std::fprintf(stderr, "differs: %s\n", Describe(made).c_str());
      fail();
    }
  }
}

// An abandoned step leaves nothing that the next one could stumble over.
void AbandonedStepsLeaveNothing(void**) {
  const plan::Strategy strategy{2, 3};
  FixtureOptions options;
  options.poison = true;
  ModelFixture whole(SmallLlama(), strategy, options), broken(SmallLlama(), strategy, options);
  whole.model->Initialize(3);
  broken.model->Initialize(3);
  const std::vector<plan::Instruction> list = plan::GenerateStep(strategy);
  for (size_t length = 0; length + 1 < list.size(); ++length) {
    for (size_t i = 0; i < length; ++i) {
      broken.Fill(9, list[i].micro_batch);
      assert_ok(broken.model->Run(list[i]));
    }
    (void)broken.model->TakeLoss();
    const double expected = whole.Gradients(5).sum;
    assert_true(broken.Gradients(5).sum == expected);
    assert_true(broken.model->square_norm() == whole.model->square_norm());
  }
}

// The guard itself: a dead slot holds NaN and, under AddressSanitizer, traps.
void DeadSlotsMayNotBeTouched(void**) {
  ModelFixture fixture(SmallLlama(), {1, 1}, {.poison = true});
  const plan::Slot* logits = fixture.model->table().FindSlot("logits");
  assert_non_null(logits);
  std::byte* const address = fixture.arena->data() + logits->offset;
#if defined(__SANITIZE_ADDRESS__)
  assert_true(__asan_address_is_poisoned(address) != 0);
#else
  float value = 0;
  std::memcpy(&value, address, sizeof value);
  assert_true(value != value);
#endif
  fixture.Fill(1, 0);
  assert_ok(fixture.model->Run({plan::InstructionKind::kForward}));
  float value_of_live_slot = 0;
  std::memcpy(&value_of_live_slot, address, sizeof value_of_live_slot);
  assert_true(value_of_live_slot == value_of_live_slot);
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(PoisonedAndReusedGivesTheSameBits),
      cmocka_unit_test(AbandonedStepsLeaveNothing),
      cmocka_unit_test(DeadSlotsMayNotBeTouched),
  };
  return cmocka_run_group_tests_name("memory_reuse", tests, nullptr, nullptr);
}
