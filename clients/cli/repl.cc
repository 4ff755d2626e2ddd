// Lines are collected until the daemon's parser says that nothing is open; then they run as a script. While a
// line is edited, events of jobs are printed above it.
#include "clients/cli/repl.h"

#include <errno.h>
#include <fmt/format.h>
#include <histedit.h>
#include <poll.h>
#include <unistd.h>
#include <wchar.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "clients/cli/complete.h"
#include "clients/cli/dot_commands.h"
#include "clients/cli/history.h"
#include "clients/cli/interrupt.h"
#include "clients/cli/script_runner.h"

namespace traind::cli {
namespace {

// Ctrl-D. Typed while the terminal is still in line mode, it comes out of the kernel as a NUL once that has
// ended.
constexpr char kEndOfInput = 0x04;

// What the continuation prompt shows for what is open.
struct OpenPrompt {
  std::string_view open;
  const char* prompt;
};
constexpr OpenPrompt kPrompts[] = {
    {"nothing", "trainql> "}, {"statement", "     ...> "}, {"string", "       '> "},
    {"name", "       \"> "},  {"comment", "      /*> "},   {"parenthesis", "       (> "},
};

const char* PromptFor(std::string_view open) {
  for (const OpenPrompt& row : kPrompts) {
    if (row.open == open) return row.prompt;
  }
  return kPrompts[1].prompt;
}

class LineEditor {
 public:
  explicit LineEditor(Session& session) : session_(session) {
    const char* state = traind_conn_info(session.conn, "state_directory");
    History* lines = OpenHistory(state == nullptr ? "" : std::string(state) + "/trainql_history");
    edit_ = el_init("trainql", stdin, stdout, stderr);
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, Prompt);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, history, lines);
    el_set(edit_, EL_GETCFN, ReadCharacter);
    el_wset(edit_, EL_ADDFN, L"traind-complete", L"complete the word", Complete);  // el_set leaks the texts
    el_set(edit_, EL_BIND, "\t", "traind-complete", nullptr);
    el_source(edit_, nullptr);
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor() {
    el_end(edit_);
    CloseHistory();
  }

  // A line with its line feed; nothing at the end of input or when a signal came.
  // `before` is what was entered in earlier lines of the statement.
  std::optional<std::string> Read(const char* prompt, const std::string& before) {
    prompt_ = prompt;
    before_ = before;
    int count = 0;
    const char* line = el_gets(edit_, &count);
    if (line == nullptr || count <= 0) return std::nullopt;
    AddToHistory(line);
    return std::string(line, static_cast<size_t>(count));
  }

 private:
  static LineEditor* Self(EditLine* edit) {
    void* self = nullptr;
    el_get(edit, EL_CLIENTDATA, &self);
    return static_cast<LineEditor*>(self);
  }
  static char* Prompt(EditLine* edit) { return const_cast<char*>(Self(edit)->prompt_); }

  static unsigned char Complete(EditLine* edit, int) {
    LineEditor* self = Self(edit);
    const LineInfo* line = el_line(edit);
    Completion completion =
        CompleteWord(self->session_.conn, self->before_ + std::string(line->buffer, line->cursor));
    if (!completion.insert.empty()) {
      return el_insertstr(edit, completion.insert.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    }
    if (completion.choices.empty()) return CC_ERROR;
    WriteError("\n" + completion.choices + "\n");
    return CC_REDISPLAY;
  }

  // libedit's way to get a character: 1, 0 at the end, -1 on an error.
  static int ReadCharacter(EditLine* edit, wchar_t* out) {
    LineEditor* self = Self(edit);
    mbstate_t state{};
    while (true) {
      if (!self->WaitForKey(edit)) return -1;
      char byte = 0;
      ssize_t got = read(STDIN_FILENO, &byte, 1);
      if (got == 0) return 0;
      if (got < 0) return -1;
      if (byte == '\0') byte = kEndOfInput;
      size_t used = mbrtowc(out, &byte, 1, &state);
      if (used == static_cast<size_t>(-2)) continue;
      if (used == static_cast<size_t>(-1)) *out = L'?';
      return 1;
    }
  }

  // Serves the connection while no key is pressed; false when a signal came.
  bool WaitForKey(EditLine* edit) {
    while (SignalSeen() == 0) {
      pollfd entries[2] = {{STDIN_FILENO, POLLIN, 0}, {traind_fd(session_.conn), POLLIN, 0}};
      if (poll(entries, 2, -1) < 0) continue;
      if (entries[1].revents != 0) PrintEvents(edit);
      if (entries[0].revents != 0) return true;
    }
    return false;
  }

  void PrintEvents(EditLine* edit) {
    traind_process(session_.conn);
    WriteError("\r\x1b[K");
    TakeEvents(session_);
    el_set(edit, EL_REFRESH);
  }

  Session& session_;
  EditLine* edit_ = nullptr;
  const char* prompt_ = "";
  std::string before_;
};

// "nothing", "statement", … ; empty if the connection is lost.
std::string OpenAt(Session& session, const std::string& text) {
  traind_script* script = nullptr;
  if (traind_check(session.conn, text.data(), static_cast<int64_t>(text.size()), &script) != TRAIND_OK)
    return "";
  std::string open = traind_script_open(script);
  traind_script_free(script);
  return open;
}

bool IsDotCommand(const std::string& text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '.';
}

class Prompt {
 public:
  Prompt(Session& session, int (*reopen)(Session&)) : session_(session), reopen_(reopen), editor_(session) {}

  int Run() {
    while (!session_.quit) {
      std::optional<std::string> line = editor_.Read(PromptFor(open_), text_);
      if (MustLeave()) return TRAIND_EXIT_SIGNAL + SignalSeen();
      if (SignalSeen() != 0) {
        Discard();
      } else if (!line.has_value()) {
        WriteError("\n");
        return TRAIND_EXIT_OK;
      } else {
        Take(*line);
      }
      if (MustLeave()) return TRAIND_EXIT_SIGNAL + SignalSeen();
    }
    return TRAIND_EXIT_OK;
  }

 private:
  // Ctrl-C at the prompt: what was entered so far is dropped.
  void Discard() {
    ForgetSignal();
    WriteError("^C\n");
    text_.clear();
    open_ = "nothing";
  }

  void Take(const std::string& line) {
    text_ += line;
    if (open_ == "nothing" && IsDotCommand(text_)) {
      std::string command = std::exchange(text_, {});
      command.erase(command.find_last_not_of(" \t\r\n;") + 1);
      command.erase(0, command.find_first_not_of(" \t"));
      RunDotCommand(session_, command);
      AfterRun();
      return;
    }
    open_ = OpenAt(session_, text_);
    if (open_ == "nothing" || open_.empty()) {
      open_ = "nothing";
      session_.any_result = false;
      RunScript(session_, {"", std::exchange(text_, {})});
      AfterRun();
    }
  }

  void AfterRun() {
    if (!MustLeave()) ForgetSignal();
    if (traind_fd(session_.conn) < 0) {
      WriteError("connecting again (variables and settings of this session are gone)\n");
      reopen_(session_);
    }
  }

  Session& session_;
  int (*reopen_)(Session&);
  LineEditor editor_;
  std::string text_;
  std::string open_ = "nothing";
};

}  // namespace

int RunPrompt(Session& session, int (*reopen)(Session&)) {
  session.interactive = true;
  Terminal terminal = LookAt(STDOUT_FILENO);
  if (terminal.is_terminal) {
    const char* state = traind_conn_info(session.conn, "state_directory");
    WriteError(fmt::format(
        "trainql {}, state in {}\nHELP explains the language, .help the shell; statements end with ';'.\n",
        traind_version_string(), state == nullptr ? "?" : state));
  }
  return Prompt(session, reopen).Run();
}

}  // namespace traind::cli
