// Parameters of a statement, replaced by their values.
#include "daemon/bind/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "daemon/bind/values.h"
#include "engine/base/limits.h"

namespace traind::daemon {
namespace {

using namespace grammar;  // NOLINT(google-build-using-namespace): one overload per struct of the tree

std::string Written(const Parameter& parameter) {
  return parameter.positional ? "?" + parameter.name : "$" + parameter.name;
}

int64_t CountCharacters(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// One overload per part of the tree; each replaces in place.
class Replacer {
 public:
  explicit Replacer(const Context& context) : context_(context) {}

  Status Any(Value& value) {
    if (value.kind != Value::Kind::kParameter) return {};
    const Position position = value.position;
    Parameter parameter = value.parameter;
    TRAIND_ASSIGN(value, ValueOf(parameter, context_));
    value.position = position;
    value.parameter = std::move(parameter);
    return {};
  }
  // Where only a quantity can stand.
  Status Number(Value& value) {
    if (value.kind != Value::Kind::kParameter) return {};
    TRAIND_TRY(Any(value));
    if (value.kind != Value::Kind::kString) return {};
    const auto quantity = ParseQuantity(value.text);
    if (!quantity.ok()) return {};  // the binder says what was wanted
    value.kind = Value::Kind::kQuantity;
    value.quantity = *quantity;
    value.text.clear();
    return {};
  }
  Status Any(std::optional<Value>& value) { return value ? Any(*value) : Status(); }
  Status Number(std::optional<Value>& value) { return value ? Number(*value) : Status(); }

  Status operator()(Name& name) {
    if (!name.parameter) return {};
    const Parameter parameter = *name.parameter;
    TRAIND_ASSIGN(const Value value, ValueOf(parameter, context_));
    if (value.kind == Value::Kind::kQuantity) {
      return Status(ErrorCode::INVALID_OPTION,
                    fmt::format("{} must be a name, not {}", Written(parameter), DescribeValue(value)))
          .At(parameter.position);
    }
    const int64_t characters = CountCharacters(value.text);
    if (characters < 1 || characters > kMaxNameCharacters) {
      return Status(ErrorCode::NAME_TOO_LONG, fmt::format("{} has {} characters; a name has 1 to {}",
                                                          Written(parameter), characters, kMaxNameCharacters))
          .At(parameter.position);
    }
    name.text = value.text;
    name.parameter.reset();
    return {};
  }
  Status operator()(std::optional<Name>& name) { return name ? (*this)(*name) : Status(); }
  Status operator()(Option& option) { return Any(option.value); }
  Status operator()(Source& source) {
    TRAIND_TRY(Any(source.value));
    return Number(source.weight);
  }
  Status operator()(JobRef& job) { return Any(job.value); }
  Status operator()(std::optional<JobRef>& job) { return job ? (*this)(*job) : Status(); }
  Status operator()(ModelRef& model) {
    TRAIND_TRY((*this)(model.name));
    return Number(model.version);
  }
  template <typename T>
  Status operator()(std::vector<T>& parts) {
    for (T& part : parts) TRAIND_TRY((*this)(part));
    return {};
  }
  Status operator()(BudgetTerm& term) {
    const bool is_deadline = term.term && term.term->text == kDeadlineTerm;
    return is_deadline ? Any(term.limit) : Number(term.limit);
  }
  Status operator()(DeviceRef& device) {
    TRAIND_TRY((*this)(device.node));
    return Number(device.index);
  }

  Status operator()(CreateModel& s) {
    TRAIND_TRY((*this)(s.name));
    TRAIND_TRY((*this)(s.architecture));
    TRAIND_TRY((*this)(s.like));
    return (*this)(s.options);
  }
  Status operator()(CreateDataset& s) {
    TRAIND_TRY((*this)(s.name));
    for (Value& source : s.sources) TRAIND_TRY(Any(source));
    TRAIND_TRY((*this)(s.format));
    return (*this)(s.options);
  }
  Status operator()(CreateTokenizer& s) {
    TRAIND_TRY((*this)(s.name));
    TRAIND_TRY(Any(s.file));
    return (*this)(s.options);
  }
  Status operator()(TrainTokenizer& s) {
    TRAIND_TRY((*this)(s.name));
    TRAIND_TRY((*this)(s.sources));
    return (*this)(s.using_options);
  }
  Status operator()(DropTokenizer& s) { return (*this)(s.name); }
  Status operator()(DescribeTokenizer& s) { return (*this)(s.name); }
  Status operator()(DropModel& s) { return (*this)(s.name); }
  Status operator()(DropDataset& s) { return (*this)(s.name); }
  Status operator()(DescribeModel& s) { return (*this)(s.name); }
  Status operator()(DescribeDataset& s) { return (*this)(s.name); }
  Status operator()(Show& s) {
    TRAIND_TRY((*this)(s.of));
    TRAIND_TRY((*this)(s.job));
    return Number(s.limit);
  }
  Status operator()(ShowCreate& s) {
    TRAIND_TRY((*this)(s.name));
    return (*this)(s.job);
  }
  Status operator()(Train& s) {
    TRAIND_TRY((*this)(s.model));
    TRAIND_TRY((*this)(s.into));
    TRAIND_TRY((*this)(s.job_name));
    TRAIND_TRY((*this)(s.sources));
    TRAIND_TRY((*this)(s.using_options));
    TRAIND_TRY((*this)(s.labels));
    TRAIND_TRY(Number(s.retry));
    return Clauses(s);
  }
  Status operator()(Explain& s) {
    TRAIND_TRY((*this)(s.options));
    return (*this)(s.train);
  }
  Status operator()(ExplainJob& s) { return (*this)(s.job); }
  Status operator()(Evaluate& s) {
    TRAIND_TRY((*this)(s.model));
    TRAIND_TRY((*this)(s.source));
    return (*this)(s.using_options);
  }
  Status operator()(Generate& s) {
    TRAIND_TRY((*this)(s.model));
    TRAIND_TRY(Any(s.prompt));
    return (*this)(s.using_options);
  }
  Status operator()(ImportModel& s) {
    TRAIND_TRY((*this)(s.name));
    return Any(s.directory);
  }
  Status operator()(ExportModel& s) {
    TRAIND_TRY((*this)(s.model));
    TRAIND_TRY(Any(s.directory));
    return (*this)(s.format);
  }
  Status operator()(JobVerb& s) { return (*this)(s.jobs); }
  Status operator()(AlterJob& s) {
    TRAIND_TRY((*this)(s.job));
    return (*this)(s.budget.terms);
  }
  Status operator()(WaitForJob& s) {
    TRAIND_TRY((*this)(s.jobs));
    return Number(s.timeout);
  }
  Status operator()(Help&) { return {}; }
  Status operator()(Set& s) {
    TRAIND_TRY((*this)(s.name));
    return Any(s.value);
  }
  Status operator()(Reset& s) { return (*this)(s.name); }
  Status operator()(Let& s) { return Any(s.value); }
  Status operator()(Assert& s) { return Any(s.message); }
  Status operator()(Include& s) { return Any(s.file); }
  Status operator()(Select&) { return {}; }

 private:
  Status Clauses(Train& s) {
    if (s.validate) {
      TRAIND_TRY((*this)(s.validate->sources));
      TRAIND_TRY(Number(s.validate->every_steps));
    }
    if (s.target) TRAIND_TRY(Number(s.target->amount));
    if (s.until) TRAIND_TRY(Number(s.until->below));
    if (s.on) TRAIND_TRY((*this)(s.on->devices));
    if (s.budget) TRAIND_TRY((*this)(s.budget->terms));
    if (s.checkpoint) {
      TRAIND_TRY(Number(s.checkpoint->every));
      TRAIND_TRY(Number(s.checkpoint->keep));
    }
    if (s.resume) TRAIND_TRY(Any(s.resume->checkpoint));
    if (s.wait) TRAIND_TRY(Number(s.wait->timeout));
    return {};
  }

  const Context& context_;
};

}  // namespace

Result<grammar::Value> ValueOf(const grammar::Parameter& parameter, const Context& context) {
  const auto* values = &context.parameters;
  auto found = values->find(parameter.name);
  if (found == values->end()) {
    values = &context.session.variables;
    found = values->find(parameter.name);
  }
  if (found == values->end()) {
    return Status(ErrorCode::UNBOUND_PARAMETER,
                  fmt::format("the parameter {} has no value", Written(parameter)),
                  parameter.positional
                      ? "bind a value to it"
                      : fmt::format("give it with --param {0}=… or LET ${0} = …", parameter.name))
        .At(parameter.position);
  }
  if (IsNull(found->second)) {
    return Status(ErrorCode::INVALID_OPTION,
                  fmt::format("the parameter {} is null, where a value must stand", Written(parameter)))
        .At(parameter.position);
  }
  grammar::Value value = found->second;
  if (value.kind == Value::Kind::kQuantity && value.quantity.dimension == Dimension::kNumber) {
    if (!value.quantity.integral) value.quantity = NumberQuantity(value.quantity.value);
  }
  return value;
}

Result<grammar::Statement> ReplaceParameters(const grammar::Statement& statement, const Context& context) {
  grammar::Statement replaced = statement;
  TRAIND_TRY(std::visit(Replacer(context), replaced));
  return replaced;
}

}  // namespace traind::daemon
