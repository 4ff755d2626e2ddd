// Models of statements: specifications from options, and names and versions from the catalog.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/catalog/models.h"
#include "daemon/statement.h"
#include "engine/base/status.h"
#include "engine/spec/model.h"
#include "grammar/ast.h"

namespace traind::daemon {

// The specification that CREATE MODEL describes: from ARCHITECTURE and its options, or LIKE another
// model with some options changed. Looks up LIKE's model and the
// tokenizer.
Result<ModelSpec> BindModelSpec(const grammar::CreateModel& statement, const Context& context);

// The model of that name: NO_SUCH_MODEL at the name, with the nearest one. When a script is only checked,
// what it has made before counts.
Result<ModelRecord> FindModel(const grammar::Name& name, const Context& context);
// The same, where it may be missing.
Result<std::optional<ModelRecord>> FindModelIfAny(const std::string& name, const Context& context);

// The version that a run starts from: the one given (m@n), else the newest; 0 if there is none.
// NO_SUCH_VERSION at the number.
Result<int64_t> BindVersion(const grammar::ModelRef& ref, const ModelRecord& model, const Context& context);

// "hidden_size is 64, not 128; …": what `wanted` has otherwise than `existing`; empty if they are equal.
std::string ModelDifference(const ModelSpec& existing, const ModelSpec& wanted);

}  // namespace traind::daemon
