// The memory table over many random configurations, and its verifiers against mutations.
#include "engine/plan/memory.h"

#include <algorithm>
#include <random>

#include "engine/plan/saturating.h"
#include "engine/plan/verify.h"
#include "engine/tensor/tensor.h"
#include "tests/support/test.h"

namespace traind::plan {
namespace {

struct Configuration {
  ModelSpec model;
  TrainingSpec training;
  Strategy strategy;
  TableOptions options;
};

Configuration RandomConfiguration(std::mt19937& random) {
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  Configuration made;
  constexpr Architecture kFamilies[] = {Architecture::kLlama, Architecture::kGpt2, Architecture::kQwen2};
  made.model.architecture = kFamilies[pick(0, 2)];
  made.model.num_key_value_heads = pick(1, 4);
  made.model.num_attention_heads =
      made.model.num_key_value_heads * (made.model.traits().grouped_queries ? pick(1, 4) : 1);
  made.model.hidden_size = made.model.num_attention_heads * 2 * pick(1, 20);
  made.model.num_hidden_layers = pick(1, 12);
  made.model.intermediate_size = pick(1, 300);
  made.model.vocab_size = pick(0, 1) == 0 ? 256 : pick(256, 9000);
  made.model.max_position_embeddings = 512;
  made.model.tie_word_embeddings = pick(0, 1) == 1;
  made.strategy.micro_batch = pick(1, 6);
  made.strategy.micro_batches = pick(1, 3);
  made.strategy.recompute = kRecomputes[pick(0, 2)];
  made.training.sequence_length = pick(1, 200);
  made.training.batch_tokens =
      made.training.sequence_length * made.strategy.micro_batch * made.strategy.micro_batches;
  made.training.precision = made.strategy.micro_batch % 2 == 0 ? Precision::kFp32 : Precision::kBf16;
  made.options.threads = pick(1, 4);
  made.options.validates = pick(0, 1) == 1;
  made.options.backward = pick(0, 2) == 0 ? BackwardForm::kSplit : BackwardForm::kJoint;
  made.options.reuse = pick(0, 4) > 0;
  return made;
}

MemoryTable Build(const Configuration& made) {
  Result<MemoryTable> table = BuildTrainingTable(made.model, made.training, made.strategy, made.options);
  assert_ok(table);
  return *std::move(table);
}

std::vector<Instruction> WholeList(const Configuration& made) {
  std::vector<Instruction> list = GenerateStep(made.strategy, made.options.backward);
  if (made.options.validates) list.push_back({InstructionKind::kValidate});
  list.push_back({InstructionKind::kSnapshot});
  const std::vector<Instruction> once = list;
  list.insert(list.end(), once.begin(), once.end());  // the second step runs on what the first has left
  return list;
}

int64_t LiveAt(const MemoryTable& table, int64_t tick) {
  int64_t sum = 0;
  for (const Slot& slot : table.slots) {
    if (slot.first_tick <= tick && tick <= slot.last_tick) sum += RoundUp(slot.bytes, kSlotAlignment);
  }
  return sum;
}

void CheckPeak(const Configuration& made, const MemoryTable& table) {
  int64_t most = 0;
  for (int64_t tick = 0; tick < table.ticks; ++tick) most = std::max(most, LiveAt(table, tick));
  assert_int_equal(table.live_bytes, most);
  assert_int_equal(LiveAt(table, table.peak_tick), most);
  assert_true(table.arena_bytes >= most);
  if (made.options.reuse && made.options.backward == BackwardForm::kJoint) {
    // Recomputing makes memory swell once more in each layer, on which placement is not perfect.
    const int64_t share = made.strategy.recompute == Recompute::kNone ? 50 : 25;
    assert_true(table.fragmentation_bytes() <= table.arena_bytes / share);
  }
  int64_t sum = 0;
  for (const ClassTotal& total : PeakByClass(table)) sum += total.bytes;
  assert_int_equal(sum, table.arena_bytes);
}

// The parts of a flat slot that calls touch with `access` cover it exactly once.
void CheckCover(const MemoryTable& table, std::string_view slot_name, Access access) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const Program& program : table.programs) {
    for (const OpCall& call : program.calls) {
      for (const Operand& operand : call.operands) {
        if (operand.access != access) continue;
        if (table.slots[static_cast<size_t>(operand.slot)].name != slot_name) continue;
        ranges.emplace_back(operand.offset, operand.offset + operand.bytes);
      }
    }
  }
  std::ranges::sort(ranges);
  int64_t next = 0;
  for (auto [begin, end] : ranges) {
    assert_int_equal(begin, next);
    next = end;
  }
  assert_int_equal(next, table.FindSlot(slot_name)->bytes);
}

void CheckParameters(const MemoryTable& table) {
  assert_int_equal(table.parameter_elements, ParameterCount(table.model));
  int64_t next = 0;
  for (const Parameter& parameter : table.parameters) {
    assert_int_equal(parameter.offset, next);
    int64_t product = 1;
    for (int64_t size : parameter.shape) product *= size;
    assert_int_equal(parameter.elements, product);
    assert_int_equal(parameter.decays, parameter.shape.size() == 2);
    next += parameter.elements;
  }
  assert_int_equal(next, table.parameter_elements);
  CheckCover(table, kGradientsSlot, Access::kAccumulate);
  CheckCover(table, kWeightsSlot, Access::kUpdate);
  CheckCover(table, kMoment1Slot, Access::kUpdate);
}

void RandomTablesHold(void**) {
  std::mt19937 random(2024);
  for (int round = 0; round < 400; ++round) {
    const Configuration made = RandomConfiguration(random);
    const MemoryTable table = Build(made);
    CheckPeak(made, table);
    CheckParameters(table);
    assert_ok(VerifyPlacement(table));
    assert_ok(VerifyAccesses(table, WholeList(made)));
  }
}

void DecayFollowsTheParameters(void**) {
  std::mt19937 random(5);
  const MemoryTable table = Build(RandomConfiguration(random));
  for (const OpCall& call : table.FindProgram(InstructionKind::kOptimize)->calls) {
    const Operand* weight = call.Find(Role::kWeight);
    for (const Parameter& parameter : table.parameters) {
      const bool inside = parameter.offset * 4 >= weight->offset &&
                          (parameter.offset + parameter.elements) * 4 <= weight->offset + weight->bytes;
      if (inside) assert_int_equal(parameter.decays, call.decays);
    }
  }
}

void NamesAreHuggingFaces(void**) {
  ModelSpec model;
  model.hidden_size = 8;
  model.num_hidden_layers = 1;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.intermediate_size = 12;
  std::string names;
  for (const Parameter& parameter : ParameterTable(model)) {
    names += parameter.name;
    for (int64_t size : parameter.shape) names += " " + std::to_string(size);
    names += "\n";
  }
  assert_text(names,
              "model.embed_tokens.weight 256 8\n"
              "model.layers.0.input_layernorm.weight 8\n"
              "model.layers.0.self_attn.q_proj.weight 8 8\n"
              "model.layers.0.self_attn.k_proj.weight 4 8\n"
              "model.layers.0.self_attn.v_proj.weight 4 8\n"
              "model.layers.0.self_attn.o_proj.weight 8 8\n"
              "model.layers.0.post_attention_layernorm.weight 8\n"
              "model.layers.0.mlp.gate_proj.weight 12 8\n"
              "model.layers.0.mlp.up_proj.weight 12 8\n"
              "model.layers.0.mlp.down_proj.weight 8 12\n"
              "model.norm.weight 8\n"
              "lm_head.weight 256 8\n");
  model.tie_word_embeddings = true;
  assert_null(FindParameter(ParameterTable(model), "lm_head.weight"));
}

void NamesOfGpt2AreHuggingFaces(void**) {
  ModelSpec model;
  model.architecture = Architecture::kGpt2;
  model.hidden_size = 8;
  model.num_hidden_layers = 1;
  model.num_attention_heads = model.num_key_value_heads = 2;
  model.intermediate_size = 20;
  model.max_position_embeddings = 16;
  model.tie_word_embeddings = true;
  std::string names;
  for (const Parameter& parameter : ParameterTable(model)) {
    names += parameter.name;
    for (int64_t size : parameter.shape) names += " " + std::to_string(size);
    names += "\n";
  }
  assert_text(names,
              "transformer.wte.weight 256 8\n"
              "transformer.wpe.weight 16 8\n"
              "transformer.h.0.ln_1.weight 8\n"
              "transformer.h.0.ln_1.bias 8\n"
              "transformer.h.0.attn.c_attn.weight 8 24\n"
              "transformer.h.0.attn.c_attn.bias 24\n"
              "transformer.h.0.attn.c_proj.weight 8 8\n"
              "transformer.h.0.attn.c_proj.bias 8\n"
              "transformer.h.0.ln_2.weight 8\n"
              "transformer.h.0.ln_2.bias 8\n"
              "transformer.h.0.mlp.c_fc.weight 8 20\n"
              "transformer.h.0.mlp.c_fc.bias 20\n"
              "transformer.h.0.mlp.c_proj.weight 20 8\n"
              "transformer.h.0.mlp.c_proj.bias 8\n"
              "transformer.ln_f.weight 8\n"
              "transformer.ln_f.bias 8\n");
  model.tie_word_embeddings = false;
  assert_non_null(FindParameter(ParameterTable(model), "lm_head.weight"));
}

void BiasesOfQwen2LieBehindTheirWeights(void**) {
  ModelSpec model;
  model.architecture = Architecture::kQwen2;
  model.hidden_size = 8;
  model.num_hidden_layers = 1;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.intermediate_size = 12;
  const std::vector<Parameter> table = ParameterTable(model);
  const ModelLayout layout = LayoutOf(model);
  const Parameter* weight = FindParameter(table, "model.layers.0.self_attn.q_proj.weight");
  const Parameter* bias = FindParameter(table, "model.layers.0.self_attn.q_proj.bias");
  assert_int_equal(weight->offset, layout.layers + layout.query_key_value.weight);
  assert_int_equal(bias->offset, layout.layers + layout.query_key_value.bias);
  assert_int_equal(bias->offset + 8, FindParameter(table, "model.layers.0.self_attn.k_proj.bias")->offset);
  assert_int_equal(bias->offset + 12, FindParameter(table, "model.layers.0.self_attn.v_proj.bias")->offset);
  assert_null(FindParameter(table, "model.layers.0.self_attn.o_proj.bias"));
}

// Bytes of activations that live through the loss, by layer, in units of rows·4.
std::vector<int64_t> LeftByForward(ModelSpec model, Recompute recompute, std::string* names) {
  TrainingSpec training;
  training.sequence_length = 8;
  training.batch_tokens = 16;
  Strategy strategy{2, 1};
  strategy.recompute = recompute;
  const Result<MemoryTable> table = BuildTrainingTable(model, training, strategy, {});
  assert_ok(table);
  const int64_t loss = table->FindProgram(InstructionKind::kLoss)->first_tick;
  std::vector<int64_t> left(static_cast<size_t>(model.num_hidden_layers));
  for (const Slot& slot : table->slots) {
    if (slot.first_tick > loss || slot.last_tick < loss || !slot.name.starts_with("layers.")) continue;
    left[static_cast<size_t>(slot.name[7] - '0')] += slot.bytes / (16 * 4);
    if (slot.name.starts_with("layers.1.")) *names += slot.name.substr(9) + " ";
  }
  return left;
}

void RecomputingLeavesLess(void**) {
  ModelSpec model;
  model.architecture = Architecture::kGpt2;
  model.hidden_size = 8;
  model.num_hidden_layers = 3;
  model.num_attention_heads = model.num_key_value_heads = 2;
  model.intermediate_size = 32;
  model.max_position_embeddings = 16;
  std::string none, selective, full;
  // The stream twice, both norms with two statistics each, q, k, v, attention with a statistic per head, and
  // the feed-forward part twice.
  for (int64_t each : LeftByForward(model, Recompute::kNone, &none))
    assert_int_equal(each, 16 + 20 + 24 + 10 + 64);
  for (int64_t each : LeftByForward(model, Recompute::kSelective, &selective))
    assert_int_equal(each, 16 + 24 + 32);
  for (int64_t each : LeftByForward(model, Recompute::kFull, &full)) assert_int_equal(each, 8);
  assert_text(selective, "input query_key_value middle widened ");
  assert_text(full, "input ");
}

// Learned positions end somewhere.
void Gpt2HasOnlyItsPositions(void**) {
  ModelSpec model;
  model.architecture = Architecture::kGpt2;
  model.hidden_size = 8;
  model.num_hidden_layers = 1;
  model.num_attention_heads = model.num_key_value_heads = 2;
  model.intermediate_size = 20;
  model.max_position_embeddings = 16;
  TrainingSpec training;
  training.sequence_length = training.batch_tokens = 17;
  assert_code(BuildTrainingTable(model, training, {1, 1}, {}), ErrorCode::INVALID_OPTION);
  assert_code(BuildInferenceTable(model, 1, 17, {}), ErrorCode::INVALID_OPTION);
  assert_ok(BuildInferenceTable(model, 1, 16, {}));
}

void EveryOverlapIsNoticed(void**) {
  std::mt19937 random(99);
  int64_t noticed = 0;
  for (int round = 0; round < 300; ++round) {
    const Configuration made = RandomConfiguration(random);
    MemoryTable table = Build(made);
    Slot& moved = table.slots[random() % table.slots.size()];
    const Slot& onto = table.slots[random() % table.slots.size()];
    if (moved.name == onto.name || moved.bytes == 0 || onto.bytes == 0) continue;
    const bool together = moved.first_tick <= onto.last_tick && onto.first_tick <= moved.last_tick;
    if (!together || onto.offset + moved.bytes > table.arena_bytes) continue;
    moved.offset = onto.offset;
    assert_code(VerifyPlacement(table), ErrorCode::INTERNAL);
    ++noticed;
  }
  assert_true(noticed > 50);
}

// What a call reads becomes unreadable when the call that wrote it is taken away, or its slot dies too early.
void EveryMissingWriteIsNoticed(void**) {
  std::mt19937 random(31);
  Configuration made = RandomConfiguration(random);
  made.options.validates = true;
  made.options.reuse = true;
  const MemoryTable good = Build(made);
  for (size_t program = 0; program < good.programs.size(); ++program) {
    for (size_t call = 0; call < good.programs[program].calls.size(); ++call) {
      const OpCall& removed = good.programs[program].calls[call];
      // What lives always, as rounded weights do, is there from the step before.
      const bool writes = std::ranges::any_of(removed.operands, [&](const Operand& operand) {
        const Slot& slot = good.slots[static_cast<size_t>(operand.slot)];
        const bool always = slot.first_tick == 0 && slot.last_tick == good.ticks - 1;
        return !always && (operand.access == Access::kWrite || operand.access == Access::kAccumulate);
      });
      if (!writes) continue;
      MemoryTable table = good;
      table.programs[program].calls[call].operands.clear();
      assert_code(VerifyAccesses(table, WholeList(made)), ErrorCode::INTERNAL);
    }
  }
}

void EveryEarlyDeathIsNoticed(void**) {
  std::mt19937 random(32);
  Configuration made = RandomConfiguration(random);
  const MemoryTable good = Build(made);
  for (size_t i = 0; i < good.slots.size(); ++i) {
    const Slot& slot = good.slots[i];
    if (slot.bytes == 0 || slot.first_tick == slot.last_tick || slot.name == kStagingSlot) continue;
    if (slot.first_tick == 0 && slot.last_tick == good.ticks - 1) continue;
    MemoryTable table = good;
    table.slots[i].last_tick -= 1;
    assert_code(VerifyAccesses(table, WholeList(made)), ErrorCode::INTERNAL);
  }
}

void WrongListsAreNoticedByAccessesToo(void**) {
  std::mt19937 random(33);
  Configuration made = RandomConfiguration(random);
  made.strategy.micro_batches = 2;
  made.options.backward = BackwardForm::kJoint;
  const MemoryTable table = Build(made);
  const std::vector<Instruction> good = GenerateStep(made.strategy);
  for (size_t dropped = 0; dropped + 2 < good.size(); ++dropped) {  // all but norm and optimize
    if (good[dropped] == Instruction{InstructionKind::kBackward, 0, 1})
      continue;                                                  // gradients are there, but wrong
    if (good[dropped].kind == InstructionKind::kLoss) continue;  // logits would be taken for their gradient
    std::vector<Instruction> list = good;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(dropped));
    assert_code(VerifyAccesses(table, list), ErrorCode::INTERNAL);
  }
}

void InferenceTablesHold(void**) {
  std::mt19937 random(64);
  for (int round = 0; round < 50; ++round) {
    const Configuration made = RandomConfiguration(random);
    Result<MemoryTable> table = BuildInferenceTable(made.model, made.strategy.micro_batch,
                                                    made.training.sequence_length, made.options);
    assert_ok(table);
    assert_ok(VerifyPlacement(*table));
    assert_ok(VerifyAccesses(*table, {{InstructionKind::kValidate}}));
    assert_null(table->FindSlot(kGradientsSlot));
    table = BuildGenerationTable(made.model, made.training.sequence_length, made.options);
    assert_ok(table);
    assert_ok(VerifyPlacement(*table));
    assert_ok(VerifyAccesses(*table, {{InstructionKind::kPredict}, {InstructionKind::kPredict}}));
    assert_null(table->FindSlot(kGradientsSlot));
  }
}

void AbsurdSizesSaturate(void**) {
  ModelSpec model;
  model.hidden_size = 1 << 20;
  model.num_hidden_layers = 4096;
  model.num_attention_heads = 1 << 16;
  model.num_key_value_heads = 1 << 16;
  model.intermediate_size = 1 << 24;
  model.vocab_size = 1 << 24;
  TrainingSpec training;
  training.sequence_length = 1 << 24;
  training.batch_tokens = int64_t{1} << 40;
  Result<MemoryTable> table = BuildTrainingTable(model, training, {1 << 16, 1}, {});
  assert_ok(table);
  assert_true(table->arena_bytes == kTooLarge);
  model.num_hidden_layers = kMaxTableLayers + 1;
  assert_code(BuildTrainingTable(model, training, {1, 1}, {}), ErrorCode::INVALID_OPTION);
  model.num_hidden_layers = 1;
  model.num_attention_heads = model.num_key_value_heads = 1 << 11;
  assert_code(BuildTrainingTable(model, training, {1, 1}, {}), ErrorCode::INVALID_OPTION);
}

}  // namespace
}  // namespace traind::plan

int main() {
  using namespace traind::plan;
  const CMUnitTest tests[] = {
      cmocka_unit_test(RandomTablesHold),
      cmocka_unit_test(DecayFollowsTheParameters),
      cmocka_unit_test(NamesAreHuggingFaces),
      cmocka_unit_test(NamesOfGpt2AreHuggingFaces),
      cmocka_unit_test(BiasesOfQwen2LieBehindTheirWeights),
      cmocka_unit_test(RecomputingLeavesLess),
      cmocka_unit_test(Gpt2HasOnlyItsPositions),
      cmocka_unit_test(EveryOverlapIsNoticed),
      cmocka_unit_test(EveryMissingWriteIsNoticed),
      cmocka_unit_test(EveryEarlyDeathIsNoticed),
      cmocka_unit_test(WrongListsAreNoticedByAccessesToo),
      cmocka_unit_test(InferenceTablesHold),
      cmocka_unit_test(AbsurdSizesSaturate),
  };
  return cmocka_run_group_tests_name("memory", tests, nullptr, nullptr);
}
