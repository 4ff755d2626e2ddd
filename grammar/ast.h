// The abstract syntax of TrainQL: one struct per statement, named as the statement is.
//
// Plain values; a tree owns its parts. Every part that an error may point at carries its position in the
// script. Nothing here is checked against the catalog: that is daemon/bind's work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/quantity.h"
#include "engine/base/status.h"

namespace traind::grammar {

// Equality of trees ignores positions: parse(print(tree)) == tree.
struct Position : SourcePosition {
  Position() = default;
  Position(const SourcePosition& position)
      : SourcePosition(position) {}  // NOLINT(google-explicit-constructor)
  bool operator==(const Position&) const { return true; }
};

// $name, or ? (numbered within its statement: "1", "2", …; ?3 says its number, ? takes the one behind the
// largest before it).
struct Parameter {
  std::string name;
  bool positional = false;
  Position position;
  bool operator==(const Parameter&) const = default;
};

// A name of a model, data set, setting, option value …: bare, "quoted", or given by a parameter.
struct Name {
  std::string text;  // empty when a parameter stands here
  std::optional<Parameter> parameter;
  Position position;
  bool operator==(const Name&) const = default;
};

// A value: 'string', quantity (a negative one too), bare word, or parameter.
struct Value {
  enum class Kind { kString, kQuantity, kWord, kParameter };
  Kind kind = Kind::kString;
  std::string text;     // kString: unescaped; kWord: as written
  Quantity quantity;    // kQuantity
  Parameter parameter;  // kParameter
  Position position;
  bool operator==(const Value&) const = default;
};

// key = value, or a key alone, which means true.
struct Option {
  Name key;
  std::optional<Value> value;
  bool operator==(const Option&) const = default;
};
using Options = std::vector<Option>;

// m or m@n.
struct ModelRef {
  Name name;
  std::optional<Value> version;
  bool operator==(const ModelRef&) const = default;
};

// A job by number, name, 'name' or parameter.
struct JobRef {
  Value value;
  bool operator==(const JobRef&) const = default;
};

// A piece of SQL (a whole SELECT, or an expression), kept as text. `sql` is what SQLite gets: comments left
// out, quantities replaced by plain numbers in base units, parameters as $name or ?number, so that
// sqlite3_bind_parameter_name() without its first character is Parameter::name. PositionIn leads from an
// offset in `sql` back to the script.
struct Sql {
  struct Segment {
    int64_t sql_offset = 0;
    Position position;  // what begins at sql_offset stands here in the script
    bool operator==(const Segment&) const = default;
  };
  std::string
      text;  // in the language: tokens as written, one space where blanks or comments stood, ? numbered
  std::string sql;
  std::vector<Segment> segments;      // up to the next, `sql` and script run on together
  std::vector<Parameter> parameters;  // every one, in order
  Position position;
  bool operator==(const Sql& other) const { return text == other.text && sql == other.sql; }
};

// FROM d | FROM 'file', each with WEIGHT w
struct Source {
  Value value;  // kWord: a data set's name (a "quoted" one too), kString: a file pattern, kParameter
  std::optional<Value> weight;
  Position weight_position;  // of WEIGHT
  bool operator==(const Source&) const = default;
};

struct CreateModel {
  bool or_replace = false;
  bool if_not_exists = false;
  bool with_versions = false;  // OR REPLACE … WITH VERSIONS
  Name name;
  std::optional<Name> architecture;  // either this …
  std::optional<Name> like;          // … or this …
  std::optional<Value> preset;       // … or this: LIKE 'gpt2-124m'
  Options options;                   // LIKE's are changes to what it copies
  Position position;
  bool operator==(const CreateModel&) const = default;
};
struct CreateDataset {
  bool or_replace = false;
  bool if_not_exists = false;
  Name name;
  std::vector<Value> sources;  // 'pattern' or parameter
  Name format;
  Options options;
  Position position;
  bool operator==(const CreateDataset&) const = default;
};
struct CreateTokenizer {
  bool or_replace = false;
  bool if_not_exists = false;
  Name name;
  Value file;  // or directory
  Options options;
  Position position;
  bool operator==(const CreateTokenizer&) const = default;
};
struct DropModel {
  bool if_exists = false;
  Name name;
  bool with_versions = false;
  Position position;
  bool operator==(const DropModel&) const = default;
};
struct DropDataset {
  bool if_exists = false;
  Name name;
  Position position;
  bool operator==(const DropDataset&) const = default;
};
struct DropTokenizer {
  bool if_exists = false;
  Name name;
  Position position;
  bool operator==(const DropTokenizer&) const = default;
};
struct DescribeModel {
  Name name;
  Position position;
  bool operator==(const DescribeModel&) const = default;
};
struct DescribeDataset {
  Name name;
  Position position;
  bool operator==(const DescribeDataset&) const = default;
};
struct DescribeTokenizer {
  Name name;
  Position position;
  bool operator==(const DescribeTokenizer&) const = default;
};

// SHOW <what> [OF m] [FOR JOB n] [WHERE …] [ORDER BY …] [LIMIT n] [FOLLOW]
struct Show {
  enum class What {
    kModels,
    kVersions,
    kDatasets,
    kJobs,
    kJob,
    kMetrics,
    kLogs,
    kEvents,
    kCheckpoints,
    kGpus,
    kSettings,
    kVersion,
    kTokenizers
  };
  What what = What::kModels;
  std::optional<Name> of;     // VERSIONS OF m
  std::optional<JobRef> job;  // JOB n, or FOR JOB n
  std::optional<Sql> where;
  std::optional<Sql> order_by;
  std::optional<Value> limit;
  bool follow = false;
  Position position;
  bool operator==(const Show&) const = default;
};
struct ShowCreate {
  enum class What { kModel, kDataset, kJob };
  What what = What::kModel;
  std::optional<Name> name;  // model or data set
  std::optional<JobRef> job;
  Position position;
  bool operator==(const ShowCreate&) const = default;
};

// The term of DEADLINE '…', which has no <=.
inline constexpr std::string_view kDeadlineTerm = "deadline";

// One term of a budget: wall_clock <= 10m, gpu_hours <= 0.5, DEADLINE '…'; in the short form `term` is empty
// and the unit says which.
struct BudgetTerm {
  std::optional<Name> term;
  Value limit;
  bool operator==(const BudgetTerm&) const = default;
};
struct BudgetClause {
  std::vector<BudgetTerm> terms;
  bool parenthesized = true;
  enum class Action { kDefault, kCheckpointAndStop, kPause, kWarn, kFail };
  Action action = Action::kDefault;
  Position position;
  bool operator==(const BudgetClause&) const = default;
};
struct TargetClause {
  enum class Unit { kSteps, kTokens, kEpochs };
  Value amount;
  Unit unit = Unit::kSteps;
  Position position;
  bool operator==(const TargetClause&) const = default;
};
struct UntilClause {
  Name metric;
  Value below;
  Position position;
  bool operator==(const UntilClause&) const = default;
};
struct ValidateClause {
  std::vector<Source> sources;
  std::optional<Value> every_steps;
  Position position;
  bool operator==(const ValidateClause&) const = default;
};
struct CheckpointClause {  // CHECKPOINT EVERY 100 STEPS | 30m  [KEEP 3 LATEST]
  Value every;
  bool in_steps = false;
  std::optional<Value> keep;
  Position position;
  bool operator==(const CheckpointClause&) const = default;
};
struct DeviceRef {  // node:index
  Name node;
  Value index;
  Position position;
  bool operator==(const DeviceRef&) const = default;
};
struct HardwareClause {  // ON ALL GPUS | ON GPU a:0, b:1
  bool all_gpus = false;
  std::vector<DeviceRef> devices;
  Position position;
  bool operator==(const HardwareClause&) const = default;
};
struct ResumeClause {  // RESUME FROM LATEST | FROM CHECKPOINT 'c'
  std::optional<Value> checkpoint;
  Position position;
  bool operator==(const ResumeClause&) const = default;
};
struct Wait {  // WAIT [TIMEOUT t] at TRAIN's end
  std::optional<Value> timeout;
  bool operator==(const Wait&) const = default;
};
struct Train {
  bool if_not_exists = false;
  ModelRef model;
  std::optional<Name> into;
  std::optional<Name> job_name;  // AS
  bool from_scratch = false;
  std::vector<Source> sources;
  std::optional<ValidateClause> validate;
  Options using_options;
  Position using_position;
  std::optional<TargetClause> target;
  std::optional<UntilClause> until;
  std::optional<HardwareClause> on;
  std::optional<BudgetClause> budget;
  std::optional<CheckpointClause> checkpoint;
  std::optional<ResumeClause> resume;
  std::optional<Value> retry;
  Options labels;
  std::optional<Wait> wait;
  bool detach = false;
  Position position;     // of TRAIN
  Position if_position;  // of IF, when if_not_exists
  bool operator==(const Train&) const = default;
};
struct TrainTokenizer {
  bool or_replace = false;
  bool if_not_exists = false;
  Name name;
  std::vector<Source> sources;
  Options using_options;
  Position using_position;
  Position position;  // of TRAIN
  bool operator==(const TrainTokenizer&) const = default;
};
struct Explain {
  Options options;  // format=json, verbose
  Train train;
  Position position;
  bool operator==(const Explain&) const = default;
};
struct ExplainJob {
  JobRef job;
  Position position;
  bool operator==(const ExplainJob&) const = default;
};
struct Evaluate {
  ModelRef model;
  Source source;
  Options using_options;
  Position position;
  bool operator==(const Evaluate&) const = default;
};
struct Generate {
  ModelRef model;
  Value prompt;
  Options using_options;
  Position position;
  bool operator==(const Generate&) const = default;
};

struct ImportModel {  // IMPORT MODEL m FROM 'directory'
  Name name;
  Value directory;
  Position position;
  bool operator==(const ImportModel&) const = default;
};
struct ExportModel {  // EXPORT MODEL m@n TO 'directory' FORMAT safetensors
  ModelRef model;
  Value directory;
  Name format;
  Position position;
  bool operator==(const ExportModel&) const = default;
};

// PAUSE | RESUME | CANCEL | CHECKPOINT | RETRY  JOB n, m
struct JobVerb {
  enum class Verb { kPause, kResume, kCancel, kCheckpoint, kRetry };
  Verb verb = Verb::kPause;
  std::vector<JobRef> jobs;
  Position position;
  bool operator==(const JobVerb&) const = default;
};
struct AlterJob {  // ALTER JOB n SET BUDGET (…)
  JobRef job;
  BudgetClause budget;
  Position position;
  bool operator==(const AlterJob&) const = default;
};
struct WaitForJob {
  std::vector<JobRef> jobs;
  std::optional<Value> timeout;
  Position position;
  bool operator==(const WaitForJob&) const = default;
};
struct Help {
  std::string word;  // upper case; several words joined by a space; empty: the overview
  Position position;
  bool operator==(const Help&) const = default;
};
struct Set {
  Name name;
  Value value;
  Position position;
  bool operator==(const Set&) const = default;
};
struct Reset {
  std::optional<Name> name;  // absent: all
  Position position;
  bool operator==(const Reset&) const = default;
};
struct Let {
  Parameter name;
  Value value;
  Position position;
  bool operator==(const Let&) const = default;
};
struct Assert {
  Sql condition;
  std::optional<Value> message;
  Position position;
  bool operator==(const Assert&) const = default;
};
struct Include {
  Value file;
  Position position;
  bool operator==(const Include&) const = default;
};
struct Select {
  Sql query;
  Position position;
  bool operator==(const Select&) const = default;
};

using Statement =
    std::variant<CreateModel, CreateDataset, CreateTokenizer, DropModel, DropDataset, DropTokenizer,
                 DescribeModel, DescribeDataset, DescribeTokenizer, Show, ShowCreate, Train, TrainTokenizer,
                 Explain, ExplainJob, Evaluate, Generate, ImportModel, ExportModel, JobVerb, AlterJob,
                 WaitForJob, Help, Set, Reset, Let, Assert, Include, Select>;

}  // namespace traind::grammar
