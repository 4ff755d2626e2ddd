// Hugging Face directories as tests want them: any element type, prefix and number of shards, and damaged.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/plan/parameters.h"
#include "engine/spec/model.h"
#include "engine/train/hf_config.h"
#include "tests/support/scratch.h"

namespace traind::testing {

// A tensor of a file to be written: raw little-endian bytes.
struct RawTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

inline std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return text;
}

inline std::string SafetensorsText(const std::vector<RawTensor>& tensors) {
  OrderedJson header = OrderedJson::object();
  std::string data;
  for (const RawTensor& tensor : tensors) {
    const size_t begin = data.size();
    data += tensor.bytes;
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  return LittleEndian(text.size(), 8) + text + data;
}

// Weights whose values every element type holds exactly: multiples of 1/64 up to 2.
inline float WeightAt(const std::string& name, int64_t element) {
  uint64_t hash = 0xCBF29CE484222325 + static_cast<uint64_t>(element) * 0x9E3779B97F4A7C15;
  for (const char character : name) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3;
  return static_cast<float>(static_cast<int64_t>(hash >> 40 & 0xff) - 128) / 64.0F;
}

inline std::string Encode(float value, const std::string& dtype) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (dtype == "F32") return LittleEndian(bits, 4);
  if (dtype == "BF16") return LittleEndian(bits >> 16, 2);
  if (value == 0) return LittleEndian(bits >> 16, 2);
  const uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;  // F16 of a value that it holds
  return LittleEndian((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff), 2);
}

inline ModelSpec TinyLlama() {
  ModelSpec model;
  model.hidden_size = 16;
  model.num_hidden_layers = 2;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 2;
  model.intermediate_size = 24;
  model.max_position_embeddings = 64;
  return model;
}

inline std::vector<RawTensor> WeightsOf(const ModelSpec& model, const std::string& dtype) {
  std::vector<RawTensor> tensors;
  for (const plan::Parameter& parameter : plan::ParameterTable(model)) {
    RawTensor tensor{parameter.name, dtype, parameter.shape, ""};
    for (int64_t i = 0; i < parameter.elements; ++i)
      tensor.bytes += Encode(WeightAt(parameter.name, i), dtype);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Fills scratch/name with config.json and the tensors, in `shards` files with an index if there are several.
inline std::string WriteModel(const Scratch& scratch, const std::string& name, const ModelSpec& model,
                              const std::vector<RawTensor>& tensors, size_t shards = 1) {
  const std::string directory = scratch / name;
  std::filesystem::create_directories(directory);
  WriteFile(directory + "/config.json", train::HuggingFaceConfig(model));
  if (shards == 1) {
    WriteFile(directory + "/model.safetensors", SafetensorsText(tensors));
    return directory;
  }
  Json map = Json::object();
  for (size_t shard = 0; shard < shards; ++shard) {
    const std::string file =
        "model-0000" + std::to_string(shard + 1) + "-of-0000" + std::to_string(shards) + ".safetensors";
    std::vector<RawTensor> part;
    for (size_t i = shard; i < tensors.size(); i += shards) {
      map[tensors[i].name] = file;
      part.push_back(tensors[i]);
    }
    WriteFile(directory + "/" + file, SafetensorsText(part));
  }
  WriteFile(directory + "/model.safetensors.index.json",
            DumpJson(Json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}));
  return directory;
}

}  // namespace traind::testing
