// One function per table.
#include "man/tables.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capi/traind.h"
#include "clients/cli/dot_commands.h"
#include "clients/cli/options.h"
#include "daemon/bind/option_table.h"
#include "daemon/catalog/views.h"
#include "daemon/jobs/jobs.h"
#include "daemon/options.h"
#include "engine/base/error.h"
#include "engine/base/limits.h"
#include "grammar/parse.h"
#include "grammar/token.h"
#include "man/c_interface.h"
#include "man/mdoc.h"

namespace traind::manual {
namespace {

using daemon::OptionInfo;
using daemon::OptionList;

std::string TagList(std::string_view width, std::string_view items) {
  return ".Bl -tag -width " + std::string(width) + "\n" + std::string(items) + ".El\n";
}

// Prose that ends with a full stop.
std::string Sentence(std::string_view text) {
  return Prose(text) + (text.ends_with('.') ? "\n" : ".\n");
}

std::string OptionItem(const OptionInfo& option) {
  std::string text(option.meaning);
  text += " Takes " + std::string(daemon::OptionTypeName(option.type)) + ". ";
  text +=
      option.default_text == "required" ? "Required." : "Default: " + std::string(option.default_text) + ".";
  return ".It Va " + Argument(option.name) + "\n" + Prose(text) + "\n";
}

std::string OptionItems(const std::vector<OptionInfo>& options) {
  std::string items;
  for (const OptionInfo& option : options) items += OptionItem(option);
  return items.empty() ? std::string() : TagList("num_hidden_layers", items);
}

std::string OptionsOfStatement(std::string_view kind) {
  static const std::map<std::string_view, OptionList> lists = {
      {"CREATE MODEL", OptionList::kModel},
      {"CREATE DATASET", OptionList::kDataset},
      {"TRAIN", OptionList::kTrain},
      {"EVALUATE", OptionList::kEvaluate},
      {"GENERATE", OptionList::kGenerate},
      {"EXPLAIN", OptionList::kExplain},
      {"CREATE TOKENIZER", OptionList::kCreateTokenizer},
      {"TRAIN TOKENIZER", OptionList::kTrainTokenizer},
  };
  const auto list = lists.find(kind);
  if (list == lists.end()) return {};
  const std::string items = OptionItems(daemon::OptionsOf(list->second));
  return items.empty() ? std::string() : ".Pp\nOptions:\n" + items;
}

std::string Statements() {
  std::string text;
  for (const grammar::StatementInfo& row : grammar::AllStatements()) {
    text += ".Ss " + Argument(row.kind) + "\n" + Prose(row.summary) + "\n" + Display(row.synopsis) + ".Pp\n" +
            Paragraphs(row.text) + OptionsOfStatement(row.kind) + ".Pp\nExample:\n" + Display(row.example);
  }
  return text;
}

std::string Settings() {
  std::vector<OptionInfo> settings;
  for (const OptionInfo& setting : daemon::AllSettings()) {
    if (daemon::FindOption(OptionList::kTrain, setting.name) == nullptr) settings.push_back(setting);
  }
  return OptionItems(settings);
}

bool IsStatement(std::string_view kind) {
  return std::ranges::find(grammar::AllStatements(), kind, &grammar::StatementInfo::kind) !=
         grammar::AllStatements().end();
}

std::string JobStates() {
  std::string items;
  for (const daemon::JobStateInfo& state : daemon::AllJobStates()) {
    items += ".It " + Argument(state.name) + "\n" + Sentence(state.meaning);
    if (state.terminal) items += "It has ended.\n";
    if (state.metered) items += "Its time counts against the budget.\n";
    const std::string verb = std::string(state.continue_with) + " JOB";
    if (IsStatement(verb)) items += "To go on:\n.Ic " + Argument(verb) + ".\n";
  }
  return TagList("BUDGET_EXCEEDED", items);
}

std::string Views() {
  std::string items;
  for (const daemon::View& view : daemon::AllViews()) {
    items += ".It Va " + Argument(view.name) + "\n" + Prose(view.columns) + "\n";
  }
  return TagList("sys_checkpoints", items);
}

std::string ReservedWords() {
  std::set<std::string_view> words;
  for (int code = 1; code < grammar::kTokenCodes; ++code) {
    const grammar::Keyword* keyword = grammar::KeywordOf(code);
    if (keyword != nullptr && keyword->use == grammar::KeywordUse::kReserved) words.insert(keyword->word);
  }
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return Prose(text) + ".\n";
}

std::string ErrorItem(const ErrorInfo& error) {
  const std::string number = std::to_string(static_cast<int32_t>(error.code));
  std::string text = std::string(error.text) + " Exit code " + std::to_string(error.exit_code);
  text += error.retryable ? "; the same statement may succeed later." : ".";
  return ".It " + Argument(std::string(error.name) + " (" + number + ")") + "\n" + Prose(text) + "\n";
}

// The table is sorted by number, and so by class.
std::string Errors() {
  std::string text;
  std::string_view last_class;
  for (const ErrorInfo& error : AllErrors()) {
    if (error.error_class != last_class) {
      text += last_class.empty() ? "" : ".El\n";
      text += ".Ss " + Argument("Class " + std::string(error.error_class)) + "\n.Bl -tag -width Ds\n";
      last_class = error.error_class;
    }
    text += ErrorItem(error);
  }
  return text + ".El\n";
}

std::string WithSeparators(int64_t value) {
  std::string digits = std::to_string(value);
  for (auto place = static_cast<int64_t>(digits.size()) - 3; place > 0; place -= 3) {
    digits.insert(static_cast<size_t>(place), ",");
  }
  return digits;
}

std::string Limits() {
  std::string items;
  for (const LimitInfo& limit : kLimits) {
    items += ".It " + Argument(WithSeparators(limit.value) + " " + std::string(limit.unit)) + "\n" +
             Sentence(limit.text);
  }
  return TagList("\"104,857,600 bytes\"", items);
}

std::string ShellOptions() {
  std::string items;
  for (const cli::OptionText& option : cli::AllOptions()) {
    items += std::string(".It Fl ") + option.letter +
             (option.argument.empty() ? "" : " Ar " + std::string(option.argument)) + " , Fl Fl " +
             std::string(option.name) +
             (option.argument.empty() ? "" : " Ar " + std::string(option.argument)) + "\n" +
             Sentence(option.text);
  }
  return TagList("Ds", items);
}

std::string DotCommands() {
  std::string items;
  for (const cli::DotCommandText& command : cli::AllDotCommands()) {
    const std::string written =
        std::string(command.name) + (command.arguments.empty() ? "" : " " + std::string(command.arguments));
    items += ".It Ic " + Argument(written) + "\n" + Sentence(command.text);
  }
  return TagList("Ds", items);
}

std::string DaemonOptions() {
  std::string items;
  for (const daemon::OptionText& option : daemon::AllOptions()) {
    items += ".It Fl " + std::string(option.name.substr(1)) +
             (option.argument.empty() ? "" : " Ar " + std::string(option.argument)) + "\n" +
             Sentence(option.text);
  }
  return TagList("Ds", items);
}

std::string ExitCodes() {
  constexpr std::pair<int, std::string_view> kCodes[] = {
      {TRAIND_EXIT_OK, "Everything succeeded."},
      {TRAIND_EXIT_FAILED, "A statement failed."},
      {TRAIND_EXIT_USAGE, "The options are wrong."},
      {TRAIND_EXIT_UNREACHABLE, "The daemon cannot be reached, or was lost."},
      {TRAIND_EXIT_SYNTAX, "A syntax error; nothing of the script was run."},
      {TRAIND_EXIT_JOB_FAILED, "A waited job is FAILED."},
      {TRAIND_EXIT_JOB_CANCELLED, "A waited job is CANCELLED."},
      {TRAIND_EXIT_BUDGET_EXCEEDED, "A waited job is BUDGET_EXCEEDED: its target was cut short."},
      {TRAIND_EXIT_NO_PLAN, "Nothing here can run the job, or not within its budget."},
      {TRAIND_EXIT_TIMED_OUT, "The TIMEOUT of a WAIT passed."},
      {TRAIND_EXIT_ASSERTION, "An ASSERT failed."},
      {TRAIND_EXIT_JOB_STOPPED,
       "A waited job is PAUSED, HELD or STALLED, and standard input is no terminal."},
  };
  std::string items;
  for (const auto& [code, text] : kCodes) items += ".It " + std::to_string(code) + "\n" + Prose(text) + "\n";
  items += ".It " + std::to_string(TRAIND_EXIT_SIGNAL) + "+n\nEnded by signal n; 130 after Ctrl-C.\n";
  return TagList("128+n", items);
}

std::string SourceText(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string CFunctions() {
  return FunctionsOf(SourceText(TRAIND_HEADER));
}

std::string CExample() {
  std::string text = SourceText(TRAIND_EXAMPLE);
  text.erase(text.find_last_not_of('\n') + 1);
  return Display(text);
}

}  // namespace

std::optional<std::string> TableOf(std::string_view name) {
  using Table = std::string (*)();
  static const std::map<std::string_view, Table> tables = {
      {"statements", Statements},
      {"settings", Settings},
      {"job_states", JobStates},
      {"views", Views},
      {"reserved", ReservedWords},
      {"errors", Errors},
      {"limits", Limits},
      {"shell_options", ShellOptions},
      {"dot_commands", DotCommands},
      {"daemon_options", DaemonOptions},
      {"exit_codes", ExitCodes},
      {"c_functions", CFunctions},
      {"c_example", CExample},
  };
  const auto table = tables.find(name);
  if (table == tables.end()) return std::nullopt;
  return table->second();
}

}  // namespace traind::manual
