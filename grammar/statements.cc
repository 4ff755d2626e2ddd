// The statement table, and which of its rows a statement belongs to.
#include <string_view>
#include <variant>

#include "grammar/parse.h"

namespace traind::grammar {
namespace {

std::string_view KindOfShow(Show::What what) {
  switch (what) {
    case Show::What::kModels:
      return "SHOW MODELS";
    case Show::What::kVersions:
      return "SHOW VERSIONS";
    case Show::What::kDatasets:
      return "SHOW DATASETS";
    case Show::What::kTokenizers:
      return "SHOW TOKENIZERS";
    case Show::What::kJobs:
      return "SHOW JOBS";
    case Show::What::kJob:
      return "SHOW JOB";
    case Show::What::kMetrics:
      return "SHOW METRICS";
    case Show::What::kLogs:
      return "SHOW LOGS";
    case Show::What::kEvents:
      return "SHOW EVENTS";
    case Show::What::kCheckpoints:
      return "SHOW CHECKPOINTS";
    case Show::What::kGpus:
      return "SHOW GPUS";
    case Show::What::kSettings:
      return "SHOW SETTINGS";
    case Show::What::kVersion:
      return "SHOW VERSION";
  }
  return {};
}

std::string_view KindOfShowCreate(ShowCreate::What what) {
  switch (what) {
    case ShowCreate::What::kModel:
      return "SHOW CREATE MODEL";
    case ShowCreate::What::kDataset:
      return "SHOW CREATE DATASET";
    case ShowCreate::What::kJob:
      return "SHOW CREATE JOB";
  }
  return {};
}

std::string_view KindOfVerb(JobVerb::Verb verb) {
  switch (verb) {
    case JobVerb::Verb::kPause:
      return "PAUSE JOB";
    case JobVerb::Verb::kResume:
      return "RESUME JOB";
    case JobVerb::Verb::kCancel:
      return "CANCEL JOB";
    case JobVerb::Verb::kCheckpoint:
      return "CHECKPOINT JOB";
    case JobVerb::Verb::kRetry:
      return "RETRY JOB";
  }
  return {};
}

struct Kind {
  std::string_view operator()(const CreateModel&) const { return "CREATE MODEL"; }
  std::string_view operator()(const CreateDataset&) const { return "CREATE DATASET"; }
  std::string_view operator()(const CreateTokenizer&) const { return "CREATE TOKENIZER"; }
  std::string_view operator()(const TrainTokenizer&) const { return "TRAIN TOKENIZER"; }
  std::string_view operator()(const DropTokenizer&) const { return "DROP TOKENIZER"; }
  std::string_view operator()(const DescribeTokenizer&) const { return "DESCRIBE TOKENIZER"; }
  std::string_view operator()(const DropModel&) const { return "DROP MODEL"; }
  std::string_view operator()(const DropDataset&) const { return "DROP DATASET"; }
  std::string_view operator()(const DescribeModel&) const { return "DESCRIBE MODEL"; }
  std::string_view operator()(const DescribeDataset&) const { return "DESCRIBE DATASET"; }
  std::string_view operator()(const Show& show) const { return KindOfShow(show.what); }
  std::string_view operator()(const ShowCreate& show) const { return KindOfShowCreate(show.what); }
  std::string_view operator()(const Train&) const { return "TRAIN"; }
  std::string_view operator()(const Explain&) const { return "EXPLAIN"; }
  std::string_view operator()(const ExplainJob&) const { return "EXPLAIN JOB"; }
  std::string_view operator()(const Evaluate&) const { return "EVALUATE"; }
  std::string_view operator()(const Generate&) const { return "GENERATE"; }
  std::string_view operator()(const ImportModel&) const { return "IMPORT MODEL"; }
  std::string_view operator()(const ExportModel&) const { return "EXPORT MODEL"; }
  std::string_view operator()(const JobVerb& verb) const { return KindOfVerb(verb.verb); }
  std::string_view operator()(const AlterJob&) const { return "ALTER JOB"; }
  std::string_view operator()(const WaitForJob&) const { return "WAIT FOR JOB"; }
  std::string_view operator()(const Help&) const { return "HELP"; }
  std::string_view operator()(const Set&) const { return "SET"; }
  std::string_view operator()(const Reset&) const { return "RESET"; }
  std::string_view operator()(const Let&) const { return "LET"; }
  std::string_view operator()(const Assert&) const { return "ASSERT"; }
  std::string_view operator()(const Include&) const { return "INCLUDE"; }
  std::string_view operator()(const Select&) const { return "SELECT"; }
};

}  // namespace

std::string_view KindOf(const Statement& statement) {
  return std::visit(Kind(), statement);
}

const std::vector<StatementInfo>& AllStatements() {
  static const std::vector<StatementInfo> rows = {
#define S(kind, synopsis, summary, text, example) {kind, synopsis, summary, text, example},
#include "grammar/statements.def"
#undef S
  };
  return rows;
}

}  // namespace traind::grammar
