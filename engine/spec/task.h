// What the daemon and a worker say to each other, as plain data. Frames of engine/base/frame.h on an
// inherited socket.
//
// The worker is started with two descriptors: kControlDescriptor, the socket; kLockDescriptor, an open file
// whose exclusive flock the attempt holds as long as any process of it lives. End-of-file on the socket means
// the daemon is gone: a training worker stops at the next instruction's border, saves if its last checkpoint
// is older than a minute, and leaves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/base/status.h"
#include "engine/spec/budget.h"
#include "engine/spec/data.h"
#include "engine/spec/model.h"
#include "engine/spec/training.h"

namespace traind {

inline constexpr int kControlDescriptor = 3;
inline constexpr int kLockDescriptor = 4;

// ---- daemon → worker
// -------------------------------------------------------------------------------------------------
//
// {"type":"train", …TrainTask}      once, first
// {"type":"evaluate", …EvaluateTask}
// {"type":"generate", …GenerateTask}
// {"type":"import", …ImportTask}
// {"type":"export", …ExportTask}
// {"type":"make_tokenizer", …TokenizerTask}
// {"type":"checkpoint"}             save now, go on
// {"type":"stop","reason":R}        R: pause | cancel | budget | shutdown. At the next instruction's border:
// save (not for cancel),
//                                   send finished, leave. `budget` is a success-like end: the checkpoint
//                                   becomes a version.
// {"type":"saved","step":n}         the checkpoint's row is committed: its metrics need not be repeated

struct TrainTask {
  int64_t job = 0;
  int64_t attempt = 0;
  ModelSpec model;
  TrainingSpec training;
  Json plan;  // plan::PlanToJson
  MixtureSpec data;
  std::optional<MixtureSpec> validation;
  std::string tokenizer;             // data::OpenTokenizer's: a directory, or empty for bytes
  std::string cache_directory;       // token caches, shared by all jobs
  std::string checkpoint_directory;  // step-00001000 go here
  std::string initial_weights;       // a version's directory, or empty: initialise from the seed
  std::string resume_checkpoint;     // a checkpoint's directory, or empty
  std::string statement;             // kept in the manifest
  int64_t total_steps = 0;           // 0: found by the worker (epochs, or the budget as target)
  double seconds_left =
      0;  // of the budget that is the target, used + left known to the daemon; 0: no such target
  double deadline_scale = 1;  // a test setting: scales instruction deadlines
};

struct EvaluateTask {
  ModelSpec model;
  std::string weights;  // a version's directory
  Json plan;
  DataSpec data;
  std::string tokenizer;  // as TrainTask's
  std::string cache_directory;
  int64_t batches = 0;  // 0: all the data
  int64_t sequence_length = 0;
  int64_t batch_sequences = 1;
};

struct GenerateTask {
  ModelSpec model;
  std::string weights;
  Json plan;
  std::string tokenizer;  // as TrainTask's
  std::string prompt;
  int64_t max_tokens = 64;
  int64_t context = 0;     // positions that are kept: at most the model's
  double temperature = 1;  // 0: greedy
  int64_t top_k = 0;       // 0: all tokens
  double top_p = 1;
  std::string stop;  // ends the text, which does not have it; empty: nothing does
  int64_t seed = 0;
};

// A Hugging Face directory becomes a model's first version.
struct ImportTask {
  std::string source;
  std::string target;          // a directory to fill, which does not exist yet; the daemon publishes it
  std::string tokenizer = {};  // the same for the tokenizer that the directory holds; empty: not wanted
  bool check = false;          // read and compare only
};

// A version becomes a Hugging Face directory.
struct ExportTask {
  ModelSpec model;
  std::string weights;
  std::string tokenizer;  // as TrainTask's
  std::string target;     // published by the worker; it may exist if it is empty
};

// CREATE TOKENIZER and TRAIN TOKENIZER.
struct TokenizerTask {
  std::string directory;       // where it is stored; must not exist
  std::string file;            // a file or directory to take it from; empty: it is trained
  std::string end_of_text;     // of a file's; empty: what the file says
  std::vector<DataSpec> data;  // to train it from
  int64_t vocab_size = 0;
  int64_t min_frequency = 2;
  std::string pattern;  // a name of data::kPatterns
};

// What the catalog keeps of a tokenizer; the daemon never reads one.
struct TokenizerFacts {
  std::string kind;  // bpe | sentencepiece
  int64_t vocab_size = 0;
  std::string end_of_text;
  int64_t end_of_text_id = 0;
  std::string key;  // data::Tokenizer::key
  int64_t bytes = 0;
};

// ---- worker → daemon
// -------------------------------------------------------------------------------------------------
//
// {"type":"hello","pid":…,"version":…}                        first
// {"type":"heartbeat","progress":n,"instruction":"forward 0 3","deadline_s":…,"step":…,"rss_bytes":…} every
// second; progress
//      counts completed operators; deadline_s is how long the current instruction may take without progress
// {"type":"preparing","done_bytes":…,"total_bytes":…}          while tokenising
// {"type":"prepared","data":[{"tokens":…,"documents":…,"bytes":…,"files":…,"largest_token":…} for each
// source],
//      "validation":[…]|null,"total_steps":…}
// {"type":"running","plan_hash":…,"arena_bytes":…,"start_step":…}
// {"type":"metrics","rows":[MetricRow…]}                       every step's row reaches the daemon
// {"type":"checkpoint","step":…,"path":…,"bytes":…,"total_steps":…,"val_loss":…|null,"seconds":…,
//      "stall_seconds":…}                                      after its publish; val_loss of this very step
// {"type":"checkpoint_failed","step":…,"error":{StatusToJson}} it is not there; training goes on
// {"type":"total_steps","total_steps":…}                       laid out anew (the budget is the target)
// {"type":"log","level":"info","text":…}
// {"type":"text","text":…}                                     all of a generation's text so far
// {"type":"finished","outcome":O,"step":…,"checkpoint":path|"" ,"peak_bytes":…}     O: target | until | pause
// | cancel | budget | shutdown
// {"type":"failed","error":{StatusToJson}}
// {"type":"result","columns":[…],"rows":[[…]],"notices":[…]}   evaluate, generate, export
// {"type":"result","tokenizer":{TokenizerFacts}}               make_tokenizer
// {"type":"result","model":{…},"bytes":n,"notices":[…]}        import: the specification, bytes of weights;
//                                                              and "tokenizer":{TokenizerFacts} if there is
//                                                              one

struct MetricRow {
  int64_t step = 0;    // 1-based update
  int64_t tokens = 0;  // trained so far
  double loss = 0;
  std::optional<double> val_loss;
  double learning_rate = 0;
  double grad_norm = 0;
  double tokens_per_second = 0;
  double mfu = 0;   // share of the device's attainable rate, [0, 1]
  double time = 0;  // wall seconds
};

Json MetricRowToJson(const MetricRow& row);
Result<MetricRow> MetricRowFromJson(const Json& object);

Json TrainTaskToJson(const TrainTask& task);
Result<TrainTask> TrainTaskFromJson(const Json& object);
Json EvaluateTaskToJson(const EvaluateTask& task);
Result<EvaluateTask> EvaluateTaskFromJson(const Json& object);
Json GenerateTaskToJson(const GenerateTask& task);
Result<GenerateTask> GenerateTaskFromJson(const Json& object);
Json ImportTaskToJson(const ImportTask& task);
Result<ImportTask> ImportTaskFromJson(const Json& object);
Json ExportTaskToJson(const ExportTask& task);
Result<ExportTask> ExportTaskFromJson(const Json& object);
Json TokenizerTaskToJson(const TokenizerTask& task);
Result<TokenizerTask> TokenizerTaskFromJson(const Json& object);
Json TokenizerFactsToJson(const TokenizerFacts& facts);
Result<TokenizerFacts> TokenizerFactsFromJson(const Json& object);

}  // namespace traind
