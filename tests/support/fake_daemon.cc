// A daemon for the tests of libtraind and trainql: it speaks the protocol and does nothing.
//
// It is started as traind is, as a private daemon (--embedded --socket-fd 3 --state DIR) or on a socket
// (--state DIR). What a statement does is its first word, a table below. Statements end at ';' outside
// quotes.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "engine/base/frame.h"
#include "engine/base/json.h"
#include "engine/base/status.h"

namespace traind {
namespace {

struct Peer {
  int socket = -1;
  std::string state;
  bool embedded = false;
  Json hanging;  // the execute request that waits for an interrupt, or null
  int64_t subscription = 0;
  int progress_step = 0;
  bool deaf = false;  // an interrupt is not obeyed
  int later = 0;      // turns of 20 ms until an event is sent
};

void Send(const Peer& peer, const Json& message) {
  std::string frame;
  AppendFrame(message, &frame);
  for (size_t sent = 0; sent < frame.size();) {
    ssize_t count = send(peer.socket, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

void Done(const Peer& peer, const Json& id, int64_t rows, Json notices = Json::array()) {
  Send(peer, {{"id", id}, {"done", {{"kind", "FAKE"}, {"rows", rows}, {"notices", std::move(notices)}}}});
}

void Fail(const Peer& peer, const Json& id, const Status& status) {
  Send(peer, {{"id", id}, {"error", StatusToJson(status)}});
}

void Columns(const Peer& peer, const Json& id,
             const std::vector<std::pair<const char*, const char*>>& columns) {
  Json list = Json::array();
  for (const auto& [name, type] : columns) list.push_back({{"name", name}, {"type", type}});
  Send(peer, {{"id", id}, {"columns", list}, {"kind", "FAKE"}, {"notices", Json::array()}});
}

std::string Argument(const Json& request) {
  std::string text = request["text"];
  size_t blank = text.find(' ');
  return blank == std::string::npos ? "" : text.substr(blank + 1);
}

SourcePosition PositionOf(const Json& request) {
  return {request["offset"], request["line"], request["column"]};
}

// ROWS n: n rows with a column of each type.
void Rows(Peer& peer, const Json& request) {
  Columns(peer, request["id"],
          {{"id", "integer"},
           {"name", "text"},
           {"loss", "real"},
           {"size", "bytes"},
           {"age", "seconds"},
           {"note", "text"}});
  int64_t count = atoll(Argument(request).c_str());
  for (int64_t i = 1; i <= count; ++i) {
    Json row = {i,      "row " + std::to_string(i), static_cast<double>(i) + 0.5, i * 1536 * 1024, i * 75,
                nullptr};
    Send(peer, {{"id", request["id"]}, {"rows", Json::array({row})}});
  }
  Done(peer, request["id"], count);
}

// ECHO: what arrived, a row each.
void Echo(Peer& peer, const Json& request) {
  Columns(peer, request["id"], {{"name", "text"}, {"value", "json"}});
  Json rows = Json::array();
  for (const auto& [name, value] : request["parameters"].items())
    rows.push_back({"$" + name, DumpJson(value)});
  for (const char* key : {"text", "offset", "line", "column", "check", "progress", "stop_on_paused"}) {
    rows.push_back({key, DumpJson(request[key])});
  }
  rows.push_back({"token", std::to_string(request["token"].get<std::string>().size())});
  Send(peer, {{"id", request["id"]}, {"rows", rows}});
  Done(peer, request["id"], static_cast<int64_t>(rows.size()), {"a notice"});
}

// TEXTS: what is hard to print.
void Texts(Peer& peer, const Json& request) {
  Columns(peer, request["id"], {{"text", "text"}, {"plan", "json"}, {"plan", "text"}});
  Json rows = {{"a,b", "{\"k\": [1, 2]}", ""},
               {"c\"d", "no json", "two\nlines"},
               {"tab\tand \x1b[31m", nullptr, "größer 日本"},
               {"a|b\\", "1", "\xf0\x9f\x98\x80"}};
  Send(peer, {{"id", request["id"]}, {"rows", rows}});
  Done(peer, request["id"], 4);
}

// SELECT: a job of .plot, then its curve.
void Select(Peer& peer, const Json& request) {
  if (request["text"].get<std::string>().find("sys_jobs") != std::string::npos) {
    Json job = request["parameters"]["job"];
    Columns(peer, request["id"], {{"id", "integer"}, {"name", "text"}, {"step", "integer"}});
    Json row = job.is_string() ? Json{8, job, 100} : Json{job, nullptr, 100};
    Json rows = job == 404 ? Json::array() : Json::array({row});
    Send(peer, {{"id", request["id"]}, {"rows", rows}});
    return Done(peer, request["id"], 1);
  }
  Columns(peer, request["id"], {{"step", "integer"}, {"value", "real"}});
  double floor = request["text"].get<std::string>().find("job = 8") == std::string::npos ? 2 : 4;
  Json rows = Json::array();
  for (int step = 1; step <= 100; ++step) rows.push_back({step, floor + 300.0 / (step + 99)});
  Send(peer, {{"id", request["id"]}, {"rows", rows}});
  Done(peer, request["id"], 100);
}

void FailAtRun(Peer& peer, const Json& request) {
  const ErrorInfo* info = FindError(Argument(request));
  ErrorCode code = info == nullptr ? ErrorCode::NO_SUCH_MODEL : info->code;
  Fail(peer, request["id"], Status(code, "it went wrong", "do better").At(PositionOf(request)));
}

// HANG: progress until it is interrupted.
void Hang(Peer& peer, const Json& request) {
  Columns(peer, request["id"], {{"id", "integer"}});
  Send(peer, {{"id", request["id"]}, {"rows", Json::array({Json::array({7})})}});
  peer.hanging = request;
}

// JOB: progress to the end.
void Job(Peer& peer, const Json& request) {
  Columns(peer, request["id"], {{"id", "integer"}});
  Send(peer, {{"id", request["id"]}, {"rows", Json::array({Json::array({7})})}});
  for (int step = 0; step <= 4; ++step) {
    const char* state = step == 0 ? "PREPARING" : step == 4 ? "SUCCEEDED" : "RUNNING";
    Send(peer, {{"id", request["id"]},
                {"progress",
                 {{"job", 7},
                  {"state", state},
                  {"step", step * 25},
                  {"total_steps", 100},
                  {"loss", 5.0 - step},
                  {"tokens_per_second", 12345.0},
                  {"eta_seconds", 100.0 - step}}}});
    usleep(20000);
  }
  Done(peer, request["id"], 1);
}

void Include(Peer& peer, const Json& request) {
  std::ifstream file(Argument(request));
  std::string script((std::istreambuf_iterator<char>(file)), {});
  Columns(peer, request["id"], {{"file", "text"}, {"script", "text"}});
  Send(peer, {{"id", request["id"]}, {"rows", Json::array({Json::array({Argument(request), script})})}});
  Done(peer, request["id"], 1);
}

void Die(Peer&, const Json&) {
  _exit(9);
}

void Garbage(Peer& peer, const Json&) {
  (void)!write(peer.socket, "\x05\x00\x00\x00hello", 9);
}

void Misfit(Peer& peer, const Json& request) {
  Columns(peer, request["id"], {{"id", "integer"}});
  Send(peer, {{"id", request["id"]}, {"rows", Json::array({Json::array({1, 2})})}});
}

void SendState(const Peer& peer) {
  if (peer.subscription == 0) return;
  Json event = {
      {"subscription", peer.subscription}, {"kind", "state"}, {"job", 7}, {"state", "RUNNING"}, {"step", 3}};
  Send(peer, {{"event", std::move(event)}});
}

void Deaf(Peer& peer, const Json& request) {
  peer.deaf = true;
  peer.hanging = request;
}

// EVENT: one at once.
void Event(Peer& peer, const Json& request) {
  SendState(peer);
  Done(peer, request["id"], 0);
}

// LATER: an event comes a while after the statement has ended.
void Later(Peer& peer, const Json& request) {
  peer.later = 20;
  Done(peer, request["id"], 0);
}

// TRAIN, and what --wait makes of it.
void Train(Peer& peer, const Json& request) {
  Columns(peer, request["id"], {{"id", "integer"}});
  Send(peer, {{"id", request["id"]}, {"rows", Json::array({Json::array({7})})}});
  Done(peer, request["id"], 1);
}

void WaitFor(Peer& peer, const Json& request) {
  Fail(peer, request["id"],
       Status(ErrorCode::JOB_CANCELLED, "job " + Argument(request).substr(8) + " was cancelled"));
}

void Nothing(Peer& peer, const Json& request) {
  Done(peer, request["id"], 0);
}

const std::map<std::string, std::function<void(Peer&, const Json&)>> kVerbs = {
    {"ROWS", Rows},   {"ECHO", Echo},     {"TEXTS", Texts},     {"SELECT", Select},   {"FAIL", FailAtRun},
    {"HANG", Hang},   {"JOB", Job},       {"DIE", Die},         {"INCLUDE", Include}, {"GARBAGE", Garbage},
    {"EVENT", Event}, {"MISFIT", Misfit}, {"NOTHING", Nothing}, {"SET", Nothing},     {"DEAF", Deaf},
    {"LATER", Later}, {"TRAIN", Train},   {"WAIT", WaitFor},
};

std::string FirstWord(const std::string& text) {
  return text.substr(0, text.find_first_of(" \n$?"));
}

Json ParametersIn(const std::string& text) {
  Json names = Json::array();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '?') names.push_back(std::to_string(names.size() + 1));
    if (text[i] != '$') continue;
    size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", i + 1);
    names.push_back(text.substr(i + 1, end == std::string::npos ? end : end - i - 1));
  }
  return names;
}

SourcePosition PlaceOf(const std::string& text, size_t offset) {
  SourcePosition place{static_cast<int64_t>(offset), 1, 1};
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n')
      place = {place.offset, place.line + 1, 1};
    else if ((text[i] & 0xC0) != 0x80)
      ++place.column;
  }
  return place;
}

// Comments and a first line "#!" become blanks.
std::string WithoutComments(std::string text) {
  for (size_t begin = text.starts_with("#!") ? 0 : text.find("--"); begin != std::string::npos;
       begin = text.find("--", begin)) {
    size_t end = std::min(text.find('\n', begin), text.size());
    text.replace(begin, end - begin, end - begin, ' ');
  }
  return text;
}

Json Parse(const std::string& original) {
  const std::string text = WithoutComments(original);
  Json statements = Json::array(), errors = Json::array();
  const char* open = "nothing";
  for (size_t begin = 0; begin < text.size();) {
    begin = text.find_first_not_of(" \n\t;", begin);
    if (begin == std::string::npos) break;
    bool quoted = false;
    size_t end = begin;
    while (end < text.size() && (quoted || text[end] != ';')) quoted ^= text[end++] == '\'';
    if (end == text.size()) open = quoted ? "string" : "statement";
    std::string statement = text.substr(begin, end - begin);
    while (statement.ends_with('\n') || statement.ends_with(' ')) statement.pop_back();
    SourcePosition place = PlaceOf(text, begin);
    statements.push_back({{"begin", begin},
                          {"end", begin + statement.size()},
                          {"line", place.line},
                          {"column", place.column},
                          {"kind", FirstWord(statement)},
                          {"parameters", ParametersIn(statement)}});
    if (!kVerbs.contains(FirstWord(statement))) {
      errors.push_back(
          StatusToJson(Status(ErrorCode::SYNTAX, "unexpected " + FirstWord(statement), "see HELP")
                           .At(place)
                           .Expecting({"ROWS", "ECHO"})));
    }
    begin = end + 1;
  }
  return {{"statements", statements}, {"errors", errors}, {"open", open}};
}

// Words cut at blanks; what completes the last one: the verbs, and two names of models.
Json Lex(const std::string& text) {
  Json tokens = Json::array();
  for (size_t begin = text.find_first_not_of(" \n"); begin != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const bool verb = kVerbs.contains(text.substr(begin, end - begin));
    tokens.push_back({{"begin", begin}, {"end", end}, {"kind", verb ? "keyword" : "name"}});
    begin = text.find_first_not_of(" \n", end);
  }
  return {{"tokens", tokens}};
}

Json Complete(const std::string& text) {
  const size_t begin = text.find_last_of(" \n") == std::string::npos ? 0 : text.find_last_of(" \n") + 1;
  const bool model = text.substr(0, begin).ends_with("MODEL ");
  Json words = Json::array();
  const auto add = [&](const std::string& word, const char* kind) {
    if (word.starts_with(text.substr(begin))) words.push_back({{"text", word}, {"kind", kind}});
  };
  for (const auto& [verb, run] : kVerbs) add(verb, "keyword");
  for (const char* name : {"nightly", "small"}) {
    if (model) add(name, "model");
  }
  return {{"begin", begin}, {"words", words}};
}

void Interrupt(Peer& peer, const Json& request) {
  Send(peer, {{"id", request["id"]}, {"ok", Json::object()}});
  if (peer.deaf || peer.hanging.is_null() || peer.hanging["id"] != request["target"]) return;
  Fail(peer, peer.hanging["id"], Status(ErrorCode::INTERRUPTED, "the statement was interrupted"));
  peer.hanging = nullptr;
}

void Hello(Peer& peer, const Json& request) {
  int protocol = std::getenv("FAKE_PROTOCOL") == nullptr ? 1 : atoi(std::getenv("FAKE_PROTOCOL"));
  if (protocol != request["protocol"]) {
    Fail(peer, request["id"],
         Status(ErrorCode::PROTOCOL_MISMATCH, "the daemon speaks protocol " + std::to_string(protocol)));
    return;
  }
  Send(peer, {{"id", request["id"]},
              {"ok",
               {{"protocol", 1},
                {"version", "0.0.1"},
                {"pid", getpid()},
                {"state_directory", peer.state},
                {"embedded", peer.embedded}}}});
}

// False when the daemon shall leave.
bool Answer(Peer& peer, const Json& request) {
  std::string operation = request["op"];
  if (operation == "hello") Hello(peer, request);
  if (operation == "parse") Send(peer, {{"id", request["id"]}, {"ok", Parse(request["text"])}});
  if (operation == "lex") Send(peer, {{"id", request["id"]}, {"ok", Lex(request["text"])}});
  if (operation == "complete") Send(peer, {{"id", request["id"]}, {"ok", Complete(request["text"])}});
  if (operation == "interrupt") Interrupt(peer, request);
  if (operation == "subscribe") peer.subscription = request["id"];
  if (operation == "unsubscribe") peer.subscription = 0;
  if (operation.ends_with("subscribe")) Send(peer, {{"id", request["id"]}, {"ok", Json::object()}});
  if (operation == "execute") kVerbs.at(FirstWord(request["text"]))(peer, request);
  if (operation != "shutdown") return true;
  Json stopped = Json::array();
  if (std::getenv("FAKE_LIVE_JOB") != nullptr) stopped.push_back({{"job", 1}, {"step", 40}});
  Send(peer, {{"id", request["id"]}, {"ok", {{"stopped", stopped}}}});
  return false;
}

void Progress(Peer& peer) {
  if (peer.later > 0 && --peer.later == 0) SendState(peer);
  if (peer.hanging.is_null()) return;
  Send(peer, {{"id", peer.hanging["id"]},
              {"progress",
               {{"job", 7},
                {"state", "RUNNING"},
                {"step", ++peer.progress_step},
                {"total_steps", 100},
                {"loss", 2.5}}}});
}

// Serves one client to its end. False when the daemon shall leave.
bool Serve(Peer& peer) {
  FrameReader reader(kMaxFrameBytes);
  char buffer[65536];
  while (true) {
    pollfd entry{peer.socket, POLLIN, 0};
    if (poll(&entry, 1, 20) == 0) {
      Progress(peer);
      continue;
    }
    ssize_t count = read(peer.socket, buffer, sizeof buffer);
    if (count <= 0) return !peer.embedded;
    reader.Feed({buffer, static_cast<size_t>(count)});
    for (auto message = reader.Next(); message.ok() && message->has_value(); message = reader.Next()) {
      if (!Answer(peer, **message)) return false;
    }
  }
}

int Listen(const std::string& path) {
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  unlink(path.c_str());
  if (bind(listener, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 || listen(listener, 16) != 0)
    _exit(1);
  return listener;
}

int Run(Peer peer) {
  mkdir(peer.state.c_str(), 0700);
  std::ofstream(peer.state + "/traind.pid") << getpid() << "\n";
  int lock = open((peer.state + "/traind.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  bool held = flock(lock, LOCK_EX | LOCK_NB) == 0;
  if (!peer.embedded && !held) {
    fprintf(stderr, "traind: the state directory is in use\n");
    return 3;
  }
  if (peer.embedded && !held) {
    Send(peer,
         {{"id", nullptr}, {"error", StatusToJson(Status(ErrorCode::STATE_IN_USE, "in use by process 1"))}});
    return 3;
  }
  if (peer.embedded) {
    Serve(peer);
    return 0;
  }
  int listener = Listen(peer.state + "/traind.sock");
  bool stay = true;
  while (stay) {
    peer.socket = accept(listener, nullptr, nullptr);
    stay = Serve(peer);
    close(peer.socket);
  }
  return 0;
}

}  // namespace
}  // namespace traind

int main(int count, char** arguments) {
  traind::Peer peer;
  for (int i = 1; i < count; ++i) {
    std::string option = arguments[i];
    if (option == "--embedded") peer.embedded = true;
    if (option == "--socket-fd") peer.socket = atoi(arguments[++i]);
    if (option == "--state") peer.state = arguments[++i];
  }
  if (const char* complaint = std::getenv("FAKE_COMPLAINT")) {
    fprintf(stderr, "%s\n", complaint);
    return 3;
  }
  if (const char* delay = std::getenv("FAKE_DELAY_MS")) usleep(static_cast<useconds_t>(atoi(delay)) * 1000);
  return traind::Run(peer);
}
