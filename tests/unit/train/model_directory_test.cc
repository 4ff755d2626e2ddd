// Hugging Face directories in and out: every form that is read gives the same weights, bit for bit; nothing
// is half written; what is malformed is refused with its file and place.
#include "engine/train/model_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "engine/format/safetensors.h"
#include "engine/format/sharded_weights.h"
#include "tests/unit/train/hf_directory.h"
#include "tests/unit/train/tiny_run.h"

#include "tests/support/test.h"

namespace traind::train {
namespace {

using namespace testing;

Result<MovedModel> Import(const std::string& source, const std::string& target) {
  ScriptedSession session;
  return ImportModel({source, target}, PosixIo(), "test", &session);
}

// The weights of `directory`/model.safetensors are exactly those of hf_directory.h.
void AssertWeights(const std::string& directory, const ModelSpec& model) {
  const auto file = format::SafetensorsFile::Open(PosixIo(), directory + "/model.safetensors");
  assert_ok(file);
  const auto parameters = plan::ParameterTable(model);
  assert_int_equal(file->tensors().size(), parameters.size());
  for (const plan::Parameter& parameter : parameters) {
    std::vector<float> values(static_cast<size_t>(parameter.elements));
    assert_ok(file->Read(parameter.name, parameter.shape, values));
    for (int64_t i = 0; i < parameter.elements; ++i) {
      assert_true(values[static_cast<size_t>(i)] == WeightAt(parameter.name, i));
    }
  }
}

std::vector<RawTensor> WithoutPrefix(std::vector<RawTensor> tensors) {
  for (RawTensor& tensor : tensors) {
    for (const std::string_view prefix : {"model.", "transformer."}) {
      if (tensor.name.starts_with(prefix)) tensor.name.erase(0, prefix.size());
    }
  }
  return tensors;
}

void EveryFormGivesTheSameWeights(void**) {
  ModelSpec untied = TinyLlama(), tied = TinyLlama(), qwen2 = TinyLlama(), gpt2 = TinyLlama();
  tied.tie_word_embeddings = true;
  qwen2.architecture = Architecture::kQwen2;
  gpt2.architecture = Architecture::kGpt2;
  gpt2.num_key_value_heads = gpt2.num_attention_heads;
  gpt2.tie_word_embeddings = true;
  int imports = 0;
  for (const ModelSpec& model : {untied, tied, qwen2, gpt2}) {
    for (const char* dtype : {"F32", "BF16", "F16"}) {
      for (const size_t shards : {1, 3}) {
        for (const bool prefix : {true, false}) {
          const Scratch scratch;
          std::vector<RawTensor> tensors = WeightsOf(model, dtype);
          // A copy of the tied head, and what old models keep besides.
          if (model.tie_word_embeddings && prefix) {
            tensors.push_back({"lm_head.weight", dtype, tensors[0].shape, tensors[0].bytes});
          }
          tensors.push_back(
              {"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {2}, std::string(8, '\0')});
          tensors.push_back({"transformer.h.0.attn.bias", "U8", {1, 1, 2, 2}, std::string(4, '\1')});
          if (!prefix) tensors = WithoutPrefix(std::move(tensors));
          const std::string source = WriteModel(scratch, "in", model, tensors, shards);
          WriteFile(source + "/tokenizer.json", "{}");
          const auto moved = Import(source, scratch / "out");
          assert_ok(moved);
          assert_true(moved->spec == model);
          assert_int_equal(moved->parameters, ParameterCount(model));
          AssertWeights(scratch / "out", model);
          assert_text(ReadFile(scratch / "out/tokenizer.json"), "{}");
          ++imports;
        }
      }
    }
  }
  assert_int_equal(imports, 48);
}

// Values that only fp32 holds, and the smallest and largest of half precision.
void ConvertsExactly(void**) {
  const Scratch scratch;
  ModelSpec model = TinyLlama();
  std::vector<RawTensor> tensors = WeightsOf(model, "F32");
  struct Case {
    const char* dtype;
    uint32_t bits;
    float value;
  };
  const Case cases[] = {
      {"F16", 0x0001, 0x1p-24F},      {"F16", 0x03ff, 0x1.ff8p-15F},     {"F16", 0x0400, 0x1p-14F},
      {"F16", 0x7bff, 65504},         {"F16", 0xfbff, -65504},           {"F16", 0x8000, -0.0F},
      {"BF16", 0x0001, 0x1p-133F},    {"BF16", 0x7f7f, 0x1.fep127F},     {"BF16", 0xbf80, -1},
      {"F32", 0x00000001, 0x1p-149F}, {"F32", 0x3f800001, 0x1.000002p0F}};
  for (const Case& c : cases) {
    const int bytes = std::string(c.dtype) == "F32" ? 4 : 2;
    tensors.back().dtype = c.dtype;
    tensors.back().bytes.clear();
    for (int64_t i = 0; i < model.vocab_size * model.hidden_size; ++i) {
      tensors.back().bytes += LittleEndian(c.bits, bytes);
    }
    const std::string source = WriteModel(scratch, "in", model, tensors);
    assert_ok(Import(source, scratch / "out"));
    const auto file = format::SafetensorsFile::Open(PosixIo(), scratch / "out/model.safetensors");
    assert_ok(file);
    std::vector<float> values(static_cast<size_t>(model.vocab_size * model.hidden_size));
    assert_ok(file->Read(tensors.back().name, tensors.back().shape, values));
    for (const float value : values) {
      assert_int_equal(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(c.value));
    }
    std::filesystem::remove_all(scratch / "out");
  }
}

void RoundTripIsBitEqual(void**) {
  const Scratch scratch;
  const ModelSpec model = TinyLlama();
  const std::string source = WriteModel(scratch, "in", model, WeightsOf(model, "F32"));
  Json config = *ParseJson(ReadFile(source + "/config.json"));
  config["eos_token_id"] = Json::array({2, 3});
  config["bos_token_id"] = 1;
  WriteFile(source + "/config.json", DumpJson(config));
  assert_ok(Import(source, scratch / "version"));
  ScriptedSession session;
  assert_ok(ExportModel({model, scratch / "version", "", scratch / "out"}, PosixIo(), "test", &session));
  AssertWeights(scratch / "out", model);
  assert_text(ReadFile(scratch / "out/model.safetensors"), ReadFile(scratch / "version/model.safetensors"));
  const Json exported = *ParseJson(ReadFile(scratch / "out/config.json"));
  assert_true(exported["eos_token_id"] == Json::array({2, 3}) && exported["bos_token_id"] == 1);
  assert_true(exported["pad_token_id"].is_null() && exported["hidden_size"] == 16);
  assert_false(std::filesystem::exists(scratch / "out/original_config.json"));
  assert_ok(Import(scratch / "out", scratch / "again"));
  assert_text(ReadFile(scratch / "again/model.safetensors"), ReadFile(scratch / "version/model.safetensors"));
}

void ExportNeverOverwrites(void**) {
  const Scratch scratch;
  const ModelSpec model = TinyLlama();
  assert_ok(Import(WriteModel(scratch, "in", model, WeightsOf(model, "F32")), scratch / "version"));
  const auto export_to = [&](const std::string& target) {
    ScriptedSession session;
    return ExportModel({model, scratch / "version", "", target}, PosixIo(), "test", &session);
  };
  std::filesystem::create_directories(scratch / "full/inner");
  scratch.Write("file", "mine");
  symlink((scratch / "empty").c_str(), (scratch / "link").c_str());
  assert_code(export_to(scratch / "full"), ErrorCode::INVALID_OPTION);
  assert_code(export_to(scratch / "file"), ErrorCode::INVALID_OPTION);
  assert_code(export_to("/"), ErrorCode::INVALID_OPTION);
  assert_code(export_to("/dev/null"), ErrorCode::INVALID_OPTION);
  assert_code(export_to(scratch / "missing/out"), ErrorCode::FILE_NOT_FOUND);
  std::filesystem::create_directory(scratch / "empty");
  assert_false(export_to(scratch / "link").ok());
  assert_true(std::filesystem::is_empty(scratch / "empty"));
  assert_text(ReadFile(scratch / "file"), "mine");
  assert_ok(export_to(scratch / "empty"));
  assert_code(export_to(scratch / "empty"), ErrorCode::INVALID_OPTION);
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
    assert_false(entry.path().filename().string().starts_with(".tmp"));
  }
}

void AStopLeavesNothing(void**) {
  const Scratch scratch;
  const ModelSpec model = TinyLlama();
  const std::string source = WriteModel(scratch, "in", model, WeightsOf(model, "F32"));
  for (int64_t polls = 0; polls < 10; ++polls) {
    ScriptedSession session;
    session.script = [&](int64_t poll, Requests* requests) {
      if (poll == polls) requests->stop = StopReason::kDaemonGone;
    };
    assert_code(ImportModel({source, scratch / "out"}, PosixIo(), "test", &session), ErrorCode::INTERRUPTED);
    assert_false(std::filesystem::exists(scratch / "out"));
  }
  ScriptedSession session;
  assert_ok(ImportModel({source, scratch / "out", "", true}, PosixIo(), "test", &session));
  assert_false(std::filesystem::exists(scratch / "out"));
}

// ---- what is refused -------------------------------------------------------------------------------------

struct Damage {
  const char* what;
  ErrorCode code;
  const char* message;  // what the message says besides the directory
  std::function<void(const std::string& directory)> make;
};

void SetConfig(const std::string& directory, const char* key, const Json& value) {
  Json config = *ParseJson(ReadFile(directory + "/config.json"));
  config[key] = value;
  WriteFile(directory + "/config.json", DumpJson(config));
}

Damage Config(const char* what, ErrorCode code, const char* message, const char* key, const Json& value) {
  return {what, code, message, [=](const std::string& directory) { SetConfig(directory, key, value); }};
}

std::vector<Damage> DamagedConfigs() {
  constexpr ErrorCode kUnknown = ErrorCode::UNKNOWN_ARCHITECTURE, kDamaged = ErrorCode::DAMAGED_FILE,
                      kInvalid = ErrorCode::INVALID_OPTION;
  const auto text = [](const char* what, const char* message, std::string content) -> Damage {
    return {what, ErrorCode::DAMAGED_FILE, message,
            [=](const std::string& directory) { WriteFile(directory + "/config.json", content); }};
  };
  return {
      text("an empty config", "config.json: not the JSON expected", ""),
      text("no JSON", "byte 1", "hello"),
      text("an array", "config.json: no JSON object", "[]"),
      text("a key twice", "stands twice", R"({"model_type":"llama","model_type":"llama"})"),
      text("deep nesting", "nested deeper", R"({"a":)" + std::string(100000, '[')),
      text("invalid UTF-8", "config.json: not the JSON expected", "{\"model_type\":\"ll\xff\"}"),
      {"no sizes", kInvalid, "vocab_size is missing",
       [](const std::string& directory) {
         WriteFile(directory + "/config.json", R"({"model_type":"llama"})");
       }},
      {"no config at all", ErrorCode::FILE_NOT_FOUND, "config.json",
       [](const std::string& directory) { unlink((directory + "/config.json").c_str()); }},
      {"a config of 1 MiB", ErrorCode::IO, "config.json",
       [](const std::string& directory) {
         WriteFile(directory + "/config.json", std::string(static_cast<size_t>(kMaxConfigBytes) + 1, ' '));
       }},
      Config("no model_type", kUnknown, "model_type ''", "model_type", nullptr),
      Config("another model_type", kUnknown, "model_type 'bert'", "model_type", "bert"),
      Config("a model_type that is a number", kDamaged, "'model_type' must be a string", "model_type", 7),
      Config("another activation", kInvalid, "hidden_act is 'gelu'", "hidden_act", "gelu"),
      Config("attention biases", kInvalid, "attention_bias is true", "attention_bias", true),
      Config("biases", kInvalid, "mlp_bias is true", "mlp_bias", true),
      Config("a sliding window", kInvalid, "sliding_window", "sliding_window", 4096),
      Config("quantized weights", kInvalid, "quantization_config", "quantization_config", Json::object()),
      Config("another head size", kInvalid, "head_dim is 8", "head_dim", 8),
      Config("an unknown rope scaling", kInvalid, "is of type 'longrope'", "rope_scaling",
             {{"rope_type", "longrope"}}),
      Config("rope_scaling that is a string", kInvalid, "rope_scaling", "rope_scaling", "linear"),
      Config("rope_parameters of yarn", kInvalid, "is of type 'yarn'", "rope_parameters",
             {{"rope_type", "yarn"}, {"rope_theta", 10000.0}}),
      Config("a size that is a string", kDamaged, "'hidden_size' must be an integer", "hidden_size", "16"),
      Config("a fractional size", kDamaged, "'hidden_size' must be an integer", "hidden_size", 16.5),
      Config("a negative size", kInvalid, "", "hidden_size", -16),
      Config("no layers", kInvalid, "num_hidden_layers is 0", "num_hidden_layers", 0),
      Config("no heads", kInvalid, "num_attention_heads is 0", "num_attention_heads", 0),
      Config("a size of 2^63", kDamaged, "above the largest integer", "vocab_size", 9223372036854775808ULL),
      Config("a product that overflows", kInvalid, "", "vocab_size", int64_t{1} << 40),
      Config("heads that do not divide", kInvalid, "not a multiple", "num_key_value_heads", 3),
      Config("a theta that is not positive", kInvalid, "rope_theta", "rope_theta", 0),
  };
}

// Writes the tiny model again with its tensors changed.
void Rewrite(const std::string& directory, const std::function<void(std::vector<RawTensor>&)>& change) {
  std::vector<RawTensor> tensors = WeightsOf(TinyLlama(), "F32");
  change(tensors);
  WriteFile(directory + "/model.safetensors", SafetensorsText(tensors));
}

std::vector<Damage> DamagedWeights() {
  constexpr ErrorCode kDamaged = ErrorCode::DAMAGED_FILE;
  const auto tensors = [](const char* what, ErrorCode code, const char* message,
                          std::function<void(std::vector<RawTensor>&)> change) -> Damage {
    return {what, code, message, [=](const std::string& directory) { Rewrite(directory, change); }};
  };
  const auto file = [](const char* what, ErrorCode code, const char* message,
                       std::function<void(const std::string& path)> change) -> Damage {
    return {what, code, message,
            [=](const std::string& directory) { change(directory + "/model.safetensors"); }};
  };
  return {
      tensors("a tensor missing", kDamaged, "no tensor 'lm_head.weight'", [](auto& t) { t.pop_back(); }),
      tensors("a tensor too many", kDamaged, "tensor 'model.layers.0.self_attn.q_proj.bias' is none",
              [](auto& t) {
                t.push_back({"model.layers.0.self_attn.q_proj.bias", "F32", {1}, "abcd"});
              }),
      tensors("a tensor under two names", kDamaged, "is there as 'model.norm.weight' too",
              [](auto& t) {
                t.push_back({"norm.weight", "F32", {16}, std::string(64, '\0')});
              }),
      tensors("another shape", kDamaged, "has shape [4096]; config.json makes it [256, 16]",
              [](auto& t) { t[0].shape = {4096}; }),
      tensors("a shape transposed", kDamaged, "has shape [16, 256]",
              [](auto& t) {
                t[0].shape = {16, 256};
              }),
      tensors("integers", kDamaged, "neither F32 nor BF16 nor F16", [](auto& t) { t[1].dtype = "I32"; }),
      tensors("doubles", kDamaged, "neither F32",
              [](auto& t) { t[1].dtype = "F64", t[1].bytes += t[1].bytes; }),
      tensors("a dtype of another size", kDamaged, "do not fit its shape",
              [](auto& t) { t[1].dtype = "F16"; }),
      tensors("NaN", ErrorCode::NON_FINITE, "element 3 of tensor 'model.norm.weight' is",
              [](auto& t) { t[t.size() - 2].bytes.replace(12, 4, "\xff\xff\xff\xff"); }),
      tensors("an infinity", ErrorCode::NON_FINITE, "is inf",
              [](auto& t) { t[0].bytes.replace(0, 4, std::string("\x00\x00\x80\x7f", 4)); }),
      file("an empty file", kDamaged, "at byte 0", [](const std::string& path) { WriteFile(path, ""); }),
      file("a file cut short", kDamaged, "the file ends inside tensor",
           [](const std::string& path) { truncate(path.c_str(), 20000); }),
      file("a header length of 2^63", kDamaged, "at byte 0: the header's length is 9223372036854775808",
           [](const std::string& path) {
             std::string content = ReadFile(path);
             WriteFile(path, LittleEndian(uint64_t{1} << 63, 8) + content.substr(8));
           }),
      file("a pickle", kDamaged, "at byte 0",
           [](const std::string& path) { WriteFile(path, "PK\x03\x04 torch"); }),
      file("no weights", ErrorCode::FILE_NOT_FOUND, "has neither model.safetensors nor",
           [](const std::string& path) { unlink(path.c_str()); }),
      file("a directory", ErrorCode::NOT_A_REGULAR_FILE, "a directory",
           [](const std::string& path) {
             unlink(path.c_str());
             mkdir(path.c_str(), 0700);
           }),
      file("a FIFO", ErrorCode::NOT_A_REGULAR_FILE, "a FIFO",
           [](const std::string& path) {
             unlink(path.c_str());
             mkfifo(path.c_str(), 0600);
           }),
      file("a link to a device", ErrorCode::NOT_A_REGULAR_FILE, "a device",
           [](const std::string& path) {
             unlink(path.c_str());
             symlink("/dev/zero", path.c_str());
           }),
      file("a link that leads nowhere", ErrorCode::FILE_NOT_FOUND, "has neither",
           [](const std::string& path) {
             unlink(path.c_str());
             symlink("nowhere", path.c_str());
           }),
      {"a tokenizer that is a FIFO", ErrorCode::NOT_A_REGULAR_FILE, "tokenizer.json",
       [](const std::string& directory) { mkfifo((directory + "/tokenizer.json").c_str(), 0600); }},
      {"a tokenizer that is too large", ErrorCode::IO, "tokenizer.json",
       [](const std::string& directory) {
         WriteFile(directory + "/tokenizer.json", "");
         truncate((directory + "/tokenizer.json").c_str(), kMaxTokenizerFileBytes + 1);
       }},
  };
}

void SetIndex(const std::string& directory, const std::function<void(Json&)>& change) {
  const std::string path = directory + "/model.safetensors.index.json";
  Json index = *ParseJson(ReadFile(path));
  change(index["weight_map"]);
  WriteFile(path, DumpJson(index));
}

std::vector<Damage> DamagedIndexes() {
  constexpr ErrorCode kDamaged = ErrorCode::DAMAGED_FILE;
  const char* kFirst = "model.embed_tokens.weight";
  const auto place = [=](const char* what, ErrorCode code, const char* message, const Json& file) -> Damage {
    return {what, code, message, [=](const std::string& directory) {
              SetIndex(directory, [&](Json& map) { map[kFirst] = file; });
            }};
  };
  const auto text = [](const char* what, const char* message, const std::string& content) -> Damage {
    return {what, ErrorCode::DAMAGED_FILE, message, [=](const std::string& directory) {
              WriteFile(directory + "/model.safetensors.index.json", content);
            }};
  };
  return {
      text("no JSON", "index.json: not the JSON expected", "{"),
      text("an array", "no object 'weight_map'", "[]"),
      text("no map", "no object 'weight_map'", "{}"),
      text("a map that is a list", "no object 'weight_map'", R"({"weight_map":[]})"),
      text("an empty map", "'weight_map' is empty", R"({"weight_map":{}})"),
      text("a tensor twice", "stands twice", R"({"weight_map":{"a":"b","a":"c"}})"),
      text("too long an index", "the limit is",
           std::string(static_cast<size_t>(format::kMaxShardIndexBytes) + 1, ' ')),
      place("a shard that is a number", kDamaged, "is no string", 7),
      place("a shard that is missing", ErrorCode::FILE_NOT_FOUND, "model-00009",
            "model-00009-of-00003.safetensors"),
      place("a shard elsewhere", ErrorCode::FORBIDDEN_PATH, "'../model.safetensors'", "../model.safetensors"),
      place("an absolute shard", ErrorCode::FORBIDDEN_PATH, "'/etc/passwd'", "/etc/passwd"),
      place("a shard in a folder", ErrorCode::FORBIDDEN_PATH, "'a/b'", "a/b"),
      place("the directory itself", ErrorCode::FORBIDDEN_PATH, "'.'", "."),
      place("an empty name", ErrorCode::FORBIDDEN_PATH, "''", ""),
      place("a name with a NUL", ErrorCode::FORBIDDEN_PATH, "no name of a file", std::string("a\0b", 3)),
      place("another shard", kDamaged, "is not in model-00002", "model-00002-of-00003.safetensors"),
      place("a shard that is no safetensors", kDamaged, "config.json: at byte 0", "config.json"),
      {"a tensor that no shard has", kDamaged, "tensor 'x' is not in model-00001",
       [](const std::string& directory) {
         SetIndex(directory, [](Json& map) { map["x"] = "model-00001-of-00003.safetensors"; });
       }},
      {"a tensor that the index lacks", kDamaged, "is not in the index",
       [=](const std::string& directory) { SetIndex(directory, [=](Json& map) { map.erase(kFirst); }); }},
      {"a tensor in two shards", kDamaged, "is in",
       [](const std::string& directory) {
         const auto tensors = WeightsOf(TinyLlama(), "F32");
         WriteFile(directory + "/model-00003-of-00003.safetensors", SafetensorsText(tensors));
       }},
      {"a shard that is a FIFO", ErrorCode::NOT_A_REGULAR_FILE, "a FIFO",
       [](const std::string& directory) {
         const std::string path = directory + "/model-00002-of-00003.safetensors";
         unlink(path.c_str());
         mkfifo(path.c_str(), 0600);
       }},
      {"too many shards", kDamaged, "files; the limit is",
       [](const std::string& directory) {
         SetIndex(directory, [](Json& map) {
           for (int i = 0; i < 1100; ++i) map["t" + std::to_string(i)] = "s" + std::to_string(i);
         });
       }},
  };
}

size_t RefuseEach(const std::vector<Damage>& all, size_t shards) {
  for (const Damage& damage : all) {
    const Scratch scratch;
    const std::string source = WriteModel(scratch, "in", TinyLlama(), WeightsOf(TinyLlama(), "F32"), shards);
    damage.make(source);
    const Status status = Import(source, scratch / "out").status();
    const bool named = status.message().find(source) != std::string::npos &&
                       status.message().find(damage.message) != std::string::npos;
    if (status.code() != damage.code || !named || std::filesystem::exists(scratch / "out")) {
      print_error("%s: %s\n", damage.what, status.ToString().c_str());
      fail();
    }
  }
  return all.size();
}

void RefusesWhatIsMalformed(void**) {
  const size_t refused =
      RefuseEach(DamagedConfigs(), 1) + RefuseEach(DamagedWeights(), 1) + RefuseEach(DamagedIndexes(), 3);
  assert_true(refused >= 60);
}

// Files of the hub's cache are links into another directory: those are followed.
void FollowsLinksToFiles(void**) {
  const Scratch scratch;
  const std::string blobs = WriteModel(scratch, "blobs", TinyLlama(), WeightsOf(TinyLlama(), "BF16"));
  std::filesystem::create_directory(scratch / "in");
  for (const char* name : {"config.json", "model.safetensors"}) {
    symlink((blobs + "/" + name).c_str(), (scratch / "in" + "/" + name).c_str());
  }
  assert_ok(Import(scratch / "in", scratch / "out"));
  AssertWeights(scratch / "out", TinyLlama());
}

// transformers 5 writes rope_parameters; older ones rope_theta and rope_scaling; absent fields have defaults.
void ReadsOtherWritersConfigs(void**) {
  const Scratch scratch;
  const std::string source = WriteModel(scratch, "in", TinyLlama(), WeightsOf(TinyLlama(), "F32"));
  WriteFile(source + "/config.json", R"({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16", "vocab_size": 256,
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "head_dim": 4, "rms_norm_eps": 1e-05,
    "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}, "transformers_version": "5.0.0"})");
  auto moved = Import(source, scratch / "out");
  assert_ok(moved);
  ModelSpec expected = TinyLlama();
  expected.rope_theta = 500000;
  assert_true(moved->spec == expected);
  WriteFile(source + "/config.json", R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 16,
    "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 64, "rope_theta": 1000000, "rope_scaling": null, "sliding_window": null, "head_dim": null})");
  moved = Import(source, scratch / "out2");
  assert_ok(moved);
  expected.rope_theta = 1000000;
  expected.rms_norm_eps = 1e-6;
  assert_true(moved->spec == expected);
}

}  // namespace
}  // namespace traind::train

int main() {
  using namespace traind::train;
  const CMUnitTest tests[] = {
      cmocka_unit_test(EveryFormGivesTheSameWeights), cmocka_unit_test(ConvertsExactly),
      cmocka_unit_test(RoundTripIsBitEqual),          cmocka_unit_test(ExportNeverOverwrites),
      cmocka_unit_test(AStopLeavesNothing),           cmocka_unit_test(RefusesWhatIsMalformed),
      cmocka_unit_test(FollowsLinksToFiles),          cmocka_unit_test(ReadsOtherWritersConfigs),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
