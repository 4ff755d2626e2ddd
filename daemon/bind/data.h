// Data of statements: data sets by name, files by pattern; paths made absolute and looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/catalog/datasets.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/spec/data.h"
#include "grammar/ast.h"

namespace traind::daemon {

struct BoundData {
  DataSpec spec;
  int64_t files = 0;
  int64_t bytes = 0;
  std::optional<int64_t> tokens;  // of a data set that a job has prepared
  SourcePosition position;

  // What files of that size hold at most, and the count if it is known.
  int64_t MostOfFiles() const { return traind::MostTokens(spec.format, files, bytes); }
  int64_t MostTokens() const { return tokens.value_or(MostOfFiles()); }
};

// One or more sources with their weights.
struct BoundMixture {
  std::vector<BoundData> sources;
  std::vector<double> weights;  // of the sources, or empty

  MixtureSpec spec() const;
  bool TokensAreKnown() const;
  int64_t MostTokens() const;
};

// Absolute patterns, each of which matches readable regular files: FILE_NOT_FOUND, NOT_A_REGULAR_FILE,
// FILE_NOT_READABLE, INVALID_OPTION (empty, too long, too many files) at the pattern. Those of Megatron data
// name its .idx files; each must have its .bin, and its bytes are both files'. Adds up `files` and `bytes`,
// each real file once per pattern.
Result<std::vector<std::string>> BindPatterns(const std::vector<grammar::Value>& sources, DataFormat format,
                                              const Context& context, int64_t* files, int64_t* bytes);

// A source of TRAIN, VALIDATE or EVALUATE. A bare word is a data set (NO_SUCH_DATASET); a string a pattern of
// files whose format its ending says (FormatOfName), or, when it came as a parameter, the data set of that
// name if there is one. EMPTY_FILE names a file that holds nothing.
Result<BoundData> BindSource(const grammar::Source& source, const Context& context);
Result<BoundMixture> BindSources(const std::vector<grammar::Source>& sources, const Context& context);
// The weights of a FROM clause, or none. INVALID_OPTION for one that is not above 0, and where some sources
// have one and others not.
Result<std::vector<double>> BindWeights(const std::vector<grammar::Source>& sources);

// The data set of that name: NO_SUCH_DATASET at the name, with the nearest one.
Result<DatasetRecord> FindDataset(const grammar::Name& name, const Context& context);
Result<std::optional<DatasetRecord>> FindDatasetIfAny(const std::string& name, const Context& context);

// What `wanted` has otherwise than `existing`; empty if they are equal.
std::string DataDifference(const DataSpec& existing, const DataSpec& wanted);

}  // namespace traind::daemon
