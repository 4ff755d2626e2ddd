// The commands are one table: name, arguments, what .help says, what runs.
#include "clients/cli/dot_commands.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "clients/cli/history.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/plot_command.h"
#include "clients/cli/render.h"
#include "clients/cli/script_runner.h"
#include "clients/cli/script_text.h"
#include "clients/cli/text.h"

namespace traind::cli {
namespace {

using Words = std::vector<std::string>;

struct Command {
  const char* name;
  const char* arguments;
  size_t least, most;  // words behind the name
  const char* text;
  int (*run)(Session& session, const Words& words, const std::string& line);
};

constexpr size_t kAny = 1000;
constexpr double kLongestWatchSeconds = 86400;

void Print(Session& session, const std::string& text) {
  session.progress.Clear();
  session.out.Write(text);
  session.out.Flush();
}

int RunHelp(Session& session, const Words& words, const std::string& line);

int RunMode(Session& session, const Words& words, const std::string&) {
  const auto& names = FormatNames();
  if (words.size() == 1) {
    Print(session, session.format + "\n");
  } else if (std::find(names.begin(), names.end(), words[1]) != names.end()) {
    session.format = words[1];
  } else {
    std::string_view nearest = Nearest(words[1], names);
    return Complain(session, fmt::format("no mode '{}'{}: the modes are {}", words[1],
                                         nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest),
                                         fmt::join(names, ", ")));
  }
  return 0;
}

int RunOutput(Session& session, const Words& words, const std::string&) {
  bool standard = words.size() == 1 || words[1] == "stdout";
  std::string reason = session.out.Redirect(standard ? "" : words[1]);
  session.any_result = false;
  return reason.empty() ? 0 : Complain(session, fmt::format("cannot write {}: {}", words[1], reason));
}

int RunRead(Session& session, const Words& words, const std::string&) {
  SourceText source;
  std::string reason = ReadSource(words[1], &source);
  if (!reason.empty()) return Complain(session, reason);
  return RunScript(session, std::move(source), 1);
}

int RunTimer(Session& session, const Words& words, const std::string&) {
  if (words[1] != "on" && words[1] != "off") return Complain(session, ".timer takes on or off");
  session.timer = words[1] == "on";
  return 0;
}

// Waits; false when a signal came.
bool Sleep(double seconds) {
  poll(nullptr, 0, static_cast<int>(seconds * 1000));
  return SignalSeen() == 0;
}

int RunWatch(Session& session, const Words& words, const std::string& line) {
  double seconds = 0;
  std::string_view number = words[1];
  if (number.ends_with('s')) number.remove_suffix(1);
  auto read = std::from_chars(number.data(), number.data() + number.size(), seconds);
  if (read.ec != std::errc() || read.ptr != number.data() + number.size() ||
      !(seconds >= 0.1 && seconds <= kLongestWatchSeconds)) {
    return Complain(session, fmt::format(".watch takes seconds from 0.1 to {:.0f}, then a statement",
                                         kLongestWatchSeconds));
  }
  std::string statement = line.substr(line.find(words[1], words[0].size()) + words[1].size());
  while (true) {
    if (LookAt(session.out.descriptor()).is_terminal) Print(session, "\x1b[H\x1b[2J");
    session.any_result = false;
    int code = RunScript(session, {".watch", statement}, 1);
    if (code != 0) return code;
    if (!Sleep(seconds)) break;
  }
  if (MustLeave()) return TRAIND_EXIT_SIGNAL + SignalSeen();
  ForgetSignal();
  return 0;
}

int RunParam(Session& session, const Words& words, const std::string&) {
  if (words.size() == 1) {
    std::string text;
    for (const auto& [name, value] : session.parameters)
      text += fmt::format("${} = {}\n", name, Printable(value, false));
    Print(session, text);
    return 0;
  }
  std::string name = words[1].substr(0, words[1].find('='));
  bool joined = name.size() < words[1].size();
  if (name.starts_with('$')) name.erase(0, 1);
  if (name.empty()) return Complain(session, ".param takes NAME VALUE");
  if (!joined && words.size() == 2) {
    session.parameters.erase(name);
  } else {
    session.parameters[name] = joined ? words[1].substr(words[1].find('=') + 1) : words[2];
  }
  return 0;
}

int RunHistory(Session& session, const Words&, const std::string&) {
  Print(session, HistoryText());
  return 0;
}

int RunPlot(Session& session, const Words& words, const std::string&) {
  return PlotMetric(session, words[1], {words.begin() + 2, words.end()});
}

int RunQuit(Session& session, const Words&, const std::string&) {
  session.quit = true;
  return 0;
}

constexpr Command kCommands[] = {
    {".help", "", 0, kAny, "this list; HELP explains the language", RunHelp},
    {".history", "", 0, 0, "what was entered", RunHistory},
    {".mode", "[FORMAT]", 0, 1, "how results look: table, box, csv, tsv, json, jsonl, markdown, line",
     RunMode},
    {".output", "[FILE]", 0, 1, "results go to FILE; without it, to the screen again", RunOutput},
    {".param", "[NAME [VALUE]]", 0, 2, "list, take away or set the value of $NAME", RunParam},
    {".plot", "METRIC JOB [JOB ...]", 2, 7, "draw a job's loss, val_loss, learning_rate, ...", RunPlot},
    {".quit", "", 0, 0, "leave", RunQuit},
    {".read", "FILE", 1, 1, "run the statements in FILE", RunRead},
    {".timer", "on|off", 1, 1, "tell how long each statement takes", RunTimer},
    {".watch", "SECONDS STATEMENT", 2, kAny, "run the statement again and again, until Ctrl-C", RunWatch},
};

const Command* Find(std::string_view name) {
  if (name == ".exit") name = ".quit";
  const Command* found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                      [&](const Command& c) { return name == c.name; });
  return found == std::end(kCommands) ? nullptr : found;
}

int RunHelp(Session& session, const Words&, const std::string&) {
  std::string text;
  for (const Command& command : kCommands) {
    text += fmt::format("{:<28} {}\n", fmt::format("{} {}", command.name, command.arguments), command.text);
  }
  Print(session, text + "\nStatements end with ';'. HELP lists them, HELP TRAIN explains one.\n");
  return 0;
}

}  // namespace

std::vector<std::string> DotCommandNames() {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return names;
}

std::vector<DotCommandText> AllDotCommands() {
  std::vector<DotCommandText> rows;
  for (const Command& command : kCommands) rows.push_back({command.name, command.arguments, command.text});
  return rows;
}

std::string CheckDotCommand(const std::string& line) {
  Words words = SplitWords(line);
  const Command* command = words.empty() ? nullptr : Find(words[0]);
  if (command == nullptr) {
    std::vector<std::string_view> names;
    for (const Command& known : kCommands) names.emplace_back(known.name);
    std::string_view nearest = Nearest(words.empty() ? "" : words[0], names);
    return fmt::format("no command {}; {}", words.empty() ? line : words[0],
                       nearest.empty() ? ".help lists them" : fmt::format("did you mean {}?", nearest));
  }
  if (words.size() - 1 < command->least || words.size() - 1 > command->most) {
    return fmt::format("{} is written: {} {}", command->name, command->name, command->arguments);
  }
  return {};
}

int RunDotCommand(Session& session, const std::string& line) {
  std::string complaint = CheckDotCommand(line);
  if (!complaint.empty()) return Complain(session, complaint);
  Words words = SplitWords(line);
  int code = Find(words[0])->run(session, words, line);
  return code == 0 ? OutputTrouble(session) : code;
}

}  // namespace traind::cli
