// The options are one table, from which the reader and the help text are made.
#include "clients/cli/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <string_view>

#include "clients/cli/render.h"
#include "clients/cli/text.h"

namespace traind::cli {
namespace {

struct OptionRow {
  char letter;           // '\0': none
  const char* name;      // nullptr: none
  const char* argument;  // nullptr: takes none
  const char* text;
};

constexpr OptionRow kOptions[] = {
    {'c', "command", "SCRIPT", "run SCRIPT; may be given several times"},
    {'f', "file", "FILE", "run the statements in FILE; - is standard input"},
    {'p', "param", "NAME=VALUE",
     "the value of $NAME; a number where it reads as one, else a text ('7' in quotes is a text)"},
    {'s', "socket", "PATH", "the daemon that listens at PATH; it is never started"},
    {'e', "embed", "DIR", "a private daemon on the state directory DIR, which ends with trainql"},
    {'o', "output", "FORMAT", "table, box, csv, tsv, json, jsonl, markdown or line"},
    {'w', "wait", nullptr, "wait for each job that is submitted, as TRAIN ... WAIT does"},
    {'F', "follow", nullptr, "the same, and print the jobs' events and log lines"},
    {'n', "check", nullptr, "check and plan the statements; change nothing"},
    {'V', "version", nullptr, "print the version"},
    {'h', "help", nullptr, "print this"},
};

const OptionRow* RowOf(int letter) {
  const OptionRow* row = std::find_if(std::begin(kOptions), std::end(kOptions),
                                      [&](const OptionRow& r) { return r.letter == letter; });
  return row == std::end(kOptions) ? nullptr : row;
}

std::string Once(std::string* target, std::string value, const char* what) {
  if (!target->empty()) return fmt::format("{} may be given once", what);
  *target = std::move(value);
  return {};
}

std::string TakeParameter(std::string_view text, Options* options) {
  if (text.starts_with('$')) text.remove_prefix(1);
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fmt::format("--param takes NAME=VALUE, not '{}'", text);
  }
  options->parameters.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return {};
}

std::string TakeFormat(std::string format, Options* options) {
  const auto& names = FormatNames();
  if (std::find(names.begin(), names.end(), format) != names.end()) {
    options->format = std::move(format);
    return {};
  }
  std::string_view nearest = Nearest(format, names);
  return fmt::format("no output format '{}'{}: the formats are {}", format,
                     nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest),
                     fmt::join(names, ", "));
}

std::string TakeAddress(std::string_view mode, std::string_view path, Options* options) {
  if (path.empty()) return "--socket and --embed need a path";
  return Once(&options->address, fmt::format("{}{}", mode, path), "one of --socket and --embed");
}

std::string TakeOption(int letter, const char* value, Options* options) {
  switch (letter) {
    case 'c':
      options->scripts.push_back({false, value});
      return {};
    case 'f':
      options->scripts.push_back({true, value});
      return {};
    case 'p':
      return TakeParameter(value, options);
    case 's':
      return TakeAddress("unix:", value, options);
    case 'e':
      return TakeAddress("embed:", value, options);
    case 'o':
      return TakeFormat(value, options);
    case 'w':
      options->wait = true;
      return {};
    case 'F':
      options->wait = options->follow = true;
      return {};
    case 'n':
      options->check = true;
      return {};
    case 'V':
      options->version = true;
      return {};
    default:
      options->help = true;
      return {};
  }
}

std::string UnknownOption(const char* argument) {
  std::string_view text(argument == nullptr ? "" : argument);
  std::vector<std::string_view> names;
  for (const OptionRow& row : kOptions) names.emplace_back(row.name);
  std::string_view name = text.substr(0, text.find('='));
  while (name.starts_with('-')) name.remove_prefix(1);
  std::string_view nearest = text.starts_with("--") ? Nearest(name, names) : std::string_view();
  return fmt::format("unknown option {}{}", text,
                     nearest.empty() ? "" : fmt::format("; did you mean --{}?", nearest));
}

}  // namespace

std::string ReadOptions(int count, char** arguments, Options* options) {
  std::string letters = ":";
  std::vector<option> names;
  for (const OptionRow& row : kOptions) {
    letters += row.letter;
    if (row.argument != nullptr) letters += ':';
    names.push_back(
        {row.name, row.argument == nullptr ? no_argument : required_argument, nullptr, row.letter});
  }
  names.push_back({nullptr, 0, nullptr, 0});
  optind = 0;
  opterr = 0;
  while (true) {
    int at = optind == 0 ? 1 : optind;
    int letter = getopt_long(count, arguments, letters.c_str(), names.data(), nullptr);
    if (letter == -1) break;
    if (letter == '?') return UnknownOption(arguments[at]);
    if (letter == ':')
      return fmt::format("{} needs {}", arguments[at],
                         RowOf(optopt) == nullptr ? "a value" : RowOf(optopt)->argument);
    if (std::string complaint = TakeOption(letter, optarg, options); !complaint.empty()) return complaint;
  }
  if (optind < count) {
    return fmt::format("unexpected argument '{}'; statements are given with -c, files with -f",
                       arguments[optind]);
  }
  return {};
}

std::vector<OptionText> AllOptions() {
  std::vector<OptionText> rows;
  for (const OptionRow& row : kOptions) {
    rows.push_back({row.letter, row.name, row.argument == nullptr ? "" : row.argument, row.text});
  }
  return rows;
}

std::string HelpText() {
  std::string text =
      "usage: trainql [options]\n\n"
      "Runs TrainQL statements: those of -c and -f in the order given, else those of standard\n"
      "input; on a terminal it asks for them. Results go to standard output, all else to\n"
      "standard error.\n\n";
  for (const OptionRow& row : kOptions) {
    std::string names = fmt::format("  -{}, --{}{}", row.letter, row.name,
                                    row.argument == nullptr ? "" : fmt::format(" {}", row.argument));
    std::vector<std::string> lines = WrapText(row.text, 52);
    for (size_t i = 0; i < lines.size(); ++i)
      text += fmt::format("{:<26} {}\n", i == 0 ? names : "", lines[i]);
  }
  return text +
         "\nWithout --socket and --embed it uses your own daemon, and starts it if need be; its state\n"
         "lies in $XDG_STATE_HOME/traind, else in ~/.local/state/traind.\n\n"
         "Exit codes: 0 ok, 1 a statement failed, 2 usage, 3 daemon unreachable or lost, 4 syntax\n"
         "error, 5 a waited job FAILED, 6 CANCELLED, 7 BUDGET_EXCEEDED, 8 no feasible plan, 9 WAIT\n"
         "timed out, 10 ASSERT failed, 11 a waited job is PAUSED, HELD or STALLED and standard\n"
         "input is no terminal, 128+n signal n.\n\n"
         "First steps: trainql -c HELP; the language is described in trainql(7).\n";
}

}  // namespace traind::cli
