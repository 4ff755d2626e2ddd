// trainql: the shell. Reads options and scripts, opens the connection, runs, closes, and gives the exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "capi/traind.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/options.h"
#include "clients/cli/repl.h"
#include "clients/cli/script_runner.h"
#include "clients/cli/session.h"

namespace traind::cli {
namespace {

// Kept for the prompt, which may have to connect again.
Options options;

// A private daemon that is leaving the directory is waited for: that may take as long as a checkpoint.
void TellOfLeavingDaemon(Session& session) {
  const std::string_view mode = "embed:";
  if (!options.address.starts_with(mode)) return;
  std::string holder;
  std::getline(std::ifstream(options.address.substr(mode.size()) + "/traind.lock"), holder);
  const auto pid = static_cast<pid_t>(strtol(holder.c_str(), nullptr, 10));
  if (holder.find("leaving") == std::string::npos || pid <= 0 || kill(pid, 0) != 0) return;
  Note(session, fmt::format("waiting for process {}", holder));
}

int Open(Session& session) {
  traind_config* config = nullptr;
  traind_config_new(&config);
  traind_config_set(config, "client", fmt::format("trainql {}", traind_version_string()).c_str());
  traind_config_set(config, "autostart", "on");
  traind_config_set(config, "progress", "on");
  traind_config_set(config, "stop_on_paused", isatty(STDIN_FILENO) == 1 ? "off" : "on");
  traind_config_set(config, "check", options.check ? "on" : "off");
  traind_conn* before = session.conn;
  SetInterruptible(nullptr);
  traind_close(before, nullptr);
  TellOfLeavingDaemon(session);
  int32_t code = traind_open(options.address.c_str(), config, &session.conn);
  traind_config_free(config);
  if (code != TRAIND_OK) return Report(session, LastDiagnostic(session.conn), {"trainql", ""});
  if (session.interactive) traind_subscribe(session.conn, 0, "state,budget", nullptr);
  SetInterruptible(session.conn);
  return 0;
}

int Close(Session& session, int exit_code) {
  char* message = nullptr;
  traind_close(session.conn, &message);
  if (message != nullptr) Note(session, message);
  traind_free(message);
  int signal = SignalSeen();
  return exit_code == 0 && signal != 0 ? TRAIND_EXIT_SIGNAL + signal : exit_code;
}

// The texts of all scripts, before anything is started; false (and told) if one cannot be read.
bool ReadScripts(Session& session, std::vector<SourceText>* sources) {
  for (const ScriptOption& script : options.scripts) {
    sources->push_back({"-c", script.text});
    if (!script.is_file) continue;
    sources->back() = {};
    std::string reason = ReadSource(script.text, &sources->back());
    if (reason.empty()) continue;
    Complain(session, reason);
    return false;
  }
  return true;
}

// All scripts are checked before the first one runs.
int RunSources(Session& session, std::vector<SourceText> sources) {
  std::vector<std::unique_ptr<Script>> scripts;
  int exit_code = 0;
  for (SourceText& source : sources) {
    std::unique_ptr<Script> script;
    int code = Script::Check(session, std::move(source), &script);
    if (exit_code == 0) exit_code = code;
    scripts.push_back(std::move(script));
  }
  for (size_t i = 0; i < scripts.size() && exit_code == 0 && !session.quit; ++i)
    exit_code = scripts[i]->Run(session);
  return exit_code;
}

void TellUnusedParameters(Session& session) {
  for (const auto& [name, value] : session.parameters) {
    if (!session.used_parameters.contains(name))
      Note(session, fmt::format("no statement has a parameter ${}", name));
  }
}

int Run(Session& session) {
  bool prompt = options.scripts.empty() && isatty(STDIN_FILENO) == 1;
  if (options.scripts.empty() && !prompt) options.scripts.push_back({true, "-"});
  std::vector<SourceText> sources;
  if (!ReadScripts(session, &sources)) return TRAIND_EXIT_USAGE;
  session.interactive = prompt;
  if (int code = Open(session); code != 0) return code;
  CatchSignals();
  if (prompt) return Close(session, RunPrompt(session, Open));
  int exit_code = RunSources(session, std::move(sources));
  if (exit_code == 0) TellUnusedParameters(session);
  return Close(session, exit_code);
}

// A standard stream that is closed must not become some other file: it gets a place where writing fails.
void HoldStandardStreams() {
  for (int descriptor = open("/dev/null", O_RDONLY); descriptor >= 0;
       descriptor = open("/dev/null", O_RDONLY)) {
    if (descriptor <= STDERR_FILENO) continue;
    close(descriptor);
    return;
  }
}

int Main(int count, char** arguments) {
  HoldStandardStreams();
  setlocale(LC_CTYPE, "");
  Session session;
  if (std::string complaint = ReadOptions(count, arguments, &options); !complaint.empty()) {
    return Complain(session, complaint + "\ntrainql --help explains the options", TRAIND_EXIT_USAGE);
  }
  if (options.help || options.version) {
    session.out.Write(options.help ? HelpText() : fmt::format("trainql {}\n", traind_version_string()));
    session.out.Flush();
    return OutputTrouble(session);
  }
  if (!options.format.empty()) session.format = options.format;
  for (const auto& [name, value] : options.parameters) session.parameters[name] = value;
  session.wait = options.wait;
  session.follow = options.follow;
  session.check = options.check;
  return Run(session);
}

}  // namespace
}  // namespace traind::cli

int main(int count, char** arguments) {
  return traind::cli::Main(count, arguments);
}
