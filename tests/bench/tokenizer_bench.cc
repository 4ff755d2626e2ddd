// traind-bench tokenizer [FILE]: training and encoding with each pattern, beside the `tokenizers` Python
// package.
//
// The text is FILE, else the repository's own sources. One thread each; both encode the whole text as one
// document, from files of their own making that are checked to give equal ids. $TRAIND_PYTHON names the
// interpreter (python3); without the package only our figures are given.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/base/checksum.h"
#include "engine/data/tokenizers/bpe_trainer.h"
#include "engine/data/tokenizers/hf_tokenizer.h"
#include "engine/data/tokenizers/patterns.h"
#include "tests/bench/bench.h"

namespace traind::bench {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kVocabulary = 16000;
constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kLeastTextBytes = 8 << 20;
constexpr int kRounds = 3;

// Prints "seconds to train, seconds to encode (best), tokens".
constexpr std::string_view kScript = R"py(
import os, sys, time
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
text = open(sys.argv[1], encoding="utf-8", newline="").read()
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(sys.argv[3]), "isolated"),
    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
begin = time.process_time()
tokenizer.train_from_iterator([text], trainers.BpeTrainer(vocab_size=int(sys.argv[4]), min_frequency=2,
    special_tokens=["<|endoftext|>"], show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
trained = time.process_time() - begin
tokenizer = Tokenizer.from_file(sys.argv[2])
best = 1e9
for _ in range(3):
    begin = time.process_time()
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    best = min(best, time.process_time() - begin)
sum = 0
for id in ids: sum = (sum * 31 + id) % (1 << 61)
print(trained, best, len(ids), sum)
)py";

// Of the process: others may use the machine too.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool IsText(const std::string& content) {
  return content.find('\0') == std::string::npos;
}

std::string SourcesText() {
  std::vector<std::string> paths;
  for (const char* folder : {"engine", "daemon", "grammar", "clients", "tests/unit", "man", "docs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TRAIND_SOURCE) / folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::string all;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (IsText(content)) all += content;
  }
  std::string text;
  while (text.size() < kLeastTextBytes && !all.empty()) text += all;
  return text;
}

struct Theirs {
  double train = 0;
  double encode = 0;
  int64_t tokens = 0;
  int64_t sum = 0;
};

std::optional<Theirs> RunPackage(const fs::path& folder, const data::NamedPattern& pattern) {
  std::ofstream(folder / "bench.py") << kScript;
  std::ofstream(folder / "pattern") << pattern.expression;
  const char* python = std::getenv("TRAIND_PYTHON");
  const std::string command =
      fmt::format("{} {}/bench.py {}/text {}/tokenizer.json \"$(cat {}/pattern)\" {} 2>/dev/null",
                  python == nullptr ? "python3" : python, folder.string(), folder.string(), folder.string(),
                  folder.string(), kVocabulary);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  Theirs theirs;
  const int read =
      std::fscanf(pipe, "%lf %lf %ld %ld", &theirs.train, &theirs.encode, &theirs.tokens, &theirs.sum);
  return pclose(pipe) == 0 && read == 4 ? std::optional(theirs) : std::nullopt;
}

Result<data::WordCounts> CountWords(const std::string& text, std::string_view expression) {
  std::vector<data::SplitStep> steps(1);
  TRAIND_ASSIGN(steps[0].pattern, data::Pattern::Compile(expression));
  data::PreTokenizer words(&steps);
  data::WordCounts counts;
  const auto take = [&](std::string_view word) { return counts.Add(word); };
  for (size_t at = 0; at < text.size(); at += kPieceBytes) {
    TRAIND_TRY(words.Append(std::string_view(text).substr(at, kPieceBytes), take));
  }
  TRAIND_TRY(words.Finish(true, take));
  return counts;
}

Status EncodeAll(const data::Tokenizer& tokenizer, const std::string& text, std::vector<data::TokenId>* ids) {
  ids->clear();
  const auto encoder = tokenizer.NewEncoder();
  for (size_t at = 0; at < text.size(); at += kPieceBytes) {
    TRAIND_TRY(encoder->Append(std::string_view(text).substr(at, kPieceBytes), ids));
  }
  return encoder->Finish(ids);
}

Result<Json> Measure(const std::string& text, const data::NamedPattern& pattern, const fs::path& folder) {
  const double begin = CpuSeconds();
  TRAIND_ASSIGN(const data::WordCounts counts, CountWords(text, pattern.expression));
  data::BpeTrainerOptions options;
  options.vocab_size = kVocabulary;
  options.special_tokens = {"<|endoftext|>"};
  TRAIND_ASSIGN(const data::BpeVocabulary vocabulary, data::TrainBpe(counts, options));
  const double train = CpuSeconds() - begin;
  const std::string json = data::TokenizerJson(vocabulary, options.special_tokens, pattern.expression);
  std::ofstream(folder / "tokenizer.json") << json;
  TRAIND_ASSIGN(data::HfParts parts, data::ParseHfTokenizer(json, ""));
  const data::HfTokenizer tokenizer(std::move(parts));
  std::vector<data::TokenId> ids;
  double encode = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double from = CpuSeconds();
    TRAIND_TRY(EncodeAll(tokenizer, text, &ids));
    encode = std::min(encode, CpuSeconds() - from);
  }
  __extension__ __int128 sum = 0;
  for (const data::TokenId id : ids) sum = (sum * 31 + id) % (int64_t{1} << 61);
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  Json row = {{"pattern", pattern.name},
              {"tokens", vocabulary.tokens.size()},
              {"train_s", train},
              {"encode_mb_s", megabytes / encode}};
  const std::optional<Theirs> theirs = RunPackage(folder, pattern);
  if (!theirs) {
    row["package"] = "absent";
    return row;
  }
  row["package_train_s"] = theirs->train;
  row["package_encode_mb_s"] = megabytes / theirs->encode;
  row["train_ratio"] = theirs->train / train;
  row["encode_ratio"] = theirs->encode / encode;
  row["ids_equal"] = theirs->tokens == std::ssize(ids) && theirs->sum == static_cast<int64_t>(sum);
  return row;
}

}  // namespace

Result<Report> BenchTokenizer(const Arguments& arguments) {
  std::string text;
  if (arguments.words.empty()) {
    text = SourcesText();
  } else {
    std::ifstream file(arguments.words[0], std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  if (text.empty()) return Status(ErrorCode::EMPTY_FILE, "there is no text to measure with");
  const fs::path folder = fs::temp_directory_path() / fmt::format("traind-bench-{}", getpid());
  fs::create_directories(folder);
  std::ofstream(folder / "text", std::ios::binary) << text;
  Report report;
  report.summary = {{"text_bytes", text.size()}, {"vocabulary", kVocabulary}};
  for (const data::NamedPattern& pattern : data::kPatterns) {
    auto row = Measure(text, pattern, folder);
    if (!row.ok()) return row.status();
    report.rows.push_back(*std::move(row));
  }
  fs::remove_all(folder);
  return report;
}

}  // namespace traind::bench
