// A checkpoint directory: its name, its files, and the manifest that says what belongs to it.
//
//   step-00001000/
//     model.safetensors, config.json     the model as a Hugging Face directory
//     optimizer-….safetensors            moments, as ranges of the canonical flat order of all parameters
//     metrics.jsonl                      one MetricRow a line: those the daemon has not acknowledged yet
//     manifest.json                      written last; names every other file with its size and checksum
//
// A directory under such a name is complete, because it is renamed to it when everything is durable; the
// manifest shows whether it still is. Reading one checks the manifest's own checksum, the directory's name,
// and that each file has its size; VerifyChecksums reads the files too, and comes before any use of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/io.h"
#include "engine/base/status.h"

namespace traind::format {

inline constexpr int64_t kManifestVersion = 1;
inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kWeightsName = "model.safetensors";
inline constexpr std::string_view kConfigName = "config.json";
inline constexpr std::string_view kMetricsName = "metrics.jsonl";

// What goes with a version besides: the files of its tokenizer, and of an imported model the config.json that
// it came with. They are handed on to the versions that are trained from it.
inline constexpr std::string_view kOriginalConfigName = "original_config.json";
inline constexpr std::string_view kCompanionFiles[] = {"tokenizer.json",
                                                       "tokenizer_config.json",
                                                       "tokenizer.model",
                                                       "special_tokens_map.json",
                                                       "added_tokens.json",
                                                       "vocab.json",
                                                       "merges.txt",
                                                       "chat_template.jinja",
                                                       "generation_config.json"};

struct ManifestFile {
  std::string name;
  int64_t bytes = 0;
  std::string checksum;  // XXH3-128 of the content

  bool operator==(const ManifestFile&) const = default;
};

// Elements [begin, end) of the canonical flat order: both moments of them are in `file`.
struct OptimizerRange {
  std::string file;
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const OptimizerRange&) const = default;
};

// Where the sampler stands: what a resumed run reads next.
struct DataCursor {
  std::string key;         // of the token cache
  std::string validation;  // the validation data's key, or empty
  int64_t position = 0;    // sequences taken so far, over all epochs

  bool operator==(const DataCursor&) const = default;
};

struct Manifest {
  int64_t job = 0;
  int64_t attempt = 0;
  int64_t step = 0;    // updates done
  int64_t tokens = 0;  // trained so far
  int64_t total_steps = 0;
  int64_t seed = 0;
  DataCursor cursor;
  std::string plan_hash;
  int64_t ranks = 1;  // that wrote it
  std::optional<double> loss;
  std::optional<double> val_loss;         // the newest measured
  std::optional<int64_t> validated_step;  // where it was measured; unknown in older checkpoints
  bool validation_due = false;            // the step's validation was cut short and comes first
  std::string statement;
  std::vector<OptimizerRange> optimizer;
  std::vector<ManifestFile> files;

  bool operator==(const Manifest&) const = default;

  // val_loss if it was measured at this very step.
  std::optional<double> own_val_loss() const { return validated_step == step ? val_loss : std::nullopt; }
};

// The manifest's text, its own checksum as the last field.
std::string ManifestToText(const Manifest& manifest);
// DAMAGED_CHECKPOINT naming `path` if the text is not byte for byte one that ManifestToText makes.
Result<Manifest> ManifestFromText(std::string_view text, const std::string& path);

// "step-00001000".
std::string CheckpointName(int64_t step);
// The step in such a name, nullopt for any other.
std::optional<int64_t> CheckpointStep(std::string_view name);

struct CheckpointDirectory {
  int64_t step = 0;
  std::string path;
};

// The directories with such names in `directory`, newest first; none if it does not exist.
Result<std::vector<CheckpointDirectory>> ListCheckpoints(Io& io, const std::string& directory);

// Reads the manifest of the checkpoint at `path` and compares names and sizes. DAMAGED_CHECKPOINT names the
// file that is missing or wrong.
Result<Manifest> ReadCheckpoint(Io& io, const std::string& path);

// Compares the content of every file with its checksum, reading in pieces. DAMAGED_CHECKPOINT names the first
// that differs.
Status VerifyChecksums(Io& io, const std::string& path, const Manifest& manifest);

}  // namespace traind::format
