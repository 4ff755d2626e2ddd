// HELP: statements, options, settings, views and errors, from the tables that make the manual.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "daemon/bind/option_table.h"
#include "daemon/catalog/catalog.h"
#include "daemon/statements/statements.h"
#include "engine/base/error.h"
#include "engine/base/nearest.h"
#include "grammar/parse.h"

namespace traind::daemon {
namespace {

using grammar::StatementInfo;

struct ListName {
  OptionList list;
  std::string_view kind;    // the statement it belongs to
  std::string_view clause;  // for messages
};
constexpr ListName kLists[] = {
    {OptionList::kModel, "CREATE MODEL", "WITH (…) of CREATE MODEL"},
    {OptionList::kCreateTokenizer, "CREATE TOKENIZER", "WITH (…) of CREATE TOKENIZER"},
    {OptionList::kTrainTokenizer, "TRAIN TOKENIZER", "USING (…) of TRAIN TOKENIZER"},
    {OptionList::kTrain, "TRAIN", "USING (…) of TRAIN"},
    {OptionList::kEvaluate, "EVALUATE", "USING (…) of EVALUATE"},
    {OptionList::kGenerate, "GENERATE", "USING (…) of GENERATE"},
    {OptionList::kExplain, "EXPLAIN", "EXPLAIN (…)"},
};

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return upper;
}

class HelpReply {
 public:
  void Add(std::string_view topic, std::string text) {
    reply_.rows.push_back({std::string(topic), std::move(text)});
  }
  bool empty() const { return reply_.rows.empty(); }
  Reply Take() { return std::move(reply_); }

  void AddStatement(const StatementInfo& info) {
    Add(info.kind, std::string(info.summary));
    Add("synopsis", std::string(info.synopsis));
    Add("text", std::string(info.text));
    Add("example", std::string(info.example));
    for (const ListName& list : kLists) {
      if (list.kind != info.kind) continue;
      for (const OptionInfo& option : OptionsOf(list.list)) AddOption(option, "");
    }
  }
  void AddOption(const OptionInfo& option, std::string_view where) {
    Add(option.name, fmt::format("{}{}{} Default: {}.", where, where.empty() ? "" : ": ", option.meaning,
                                 option.default_text));
  }

 private:
  Reply reply_{{{"topic", "text"}, {"text", "text"}}, {}, {}, {}};
};

void AddMatchingStatements(const std::string& word, HelpReply* reply) {
  std::vector<const StatementInfo*> partial;
  for (const StatementInfo& info : grammar::AllStatements()) {
    if (info.kind == word) {
      reply->AddStatement(info);
      return;
    }
    const std::string kind = " " + std::string(info.kind) + " ";
    if (kind.find(" " + word + " ") != std::string::npos) partial.push_back(&info);
  }
  // One that is meant is shown whole, several as a list.
  if (partial.size() == 1) return reply->AddStatement(*partial.front());
  for (const StatementInfo* info : partial) reply->Add(info->kind, std::string(info->summary));
}

void AddMatchingOptions(const std::string& word, HelpReply* reply) {
  for (const ListName& list : kLists) {
    for (const OptionInfo& option : OptionsOf(list.list)) {
      if (Upper(option.name) == word) reply->AddOption(option, list.clause);
    }
  }
  for (const OptionInfo& setting : AllSettings()) {
    if (Upper(setting.name) == word && FindOption(OptionList::kTrain, setting.name) == nullptr) {
      reply->AddOption(setting, "setting of the session");
    }
  }
}

void AddMatchingErrors(const std::string& word, HelpReply* reply) {
  for (const ErrorInfo& error : AllErrors()) {
    if (error.name != word && std::to_string(static_cast<int32_t>(error.code)) != word) continue;
    reply->Add(error.name, fmt::format("Error {}, class {}, exit code {}{}. {}",
                                       static_cast<int32_t>(error.code), error.error_class, error.exit_code,
                                       error.retryable ? ", may be tried again" : "", error.text));
  }
}

std::vector<std::string> AllTopics() {
  std::vector<std::string> topics;
  for (const StatementInfo& info : grammar::AllStatements()) topics.emplace_back(info.kind);
  for (const ListName& list : kLists) {
    for (const OptionInfo& option : OptionsOf(list.list)) topics.push_back(Upper(option.name));
  }
  for (const OptionInfo& setting : AllSettings()) topics.push_back(Upper(setting.name));
  for (const ErrorInfo& error : AllErrors()) topics.emplace_back(error.name);
  for (const std::string& view : ViewNames()) topics.push_back(Upper(view));
  return topics;
}

Status NoSuchTopic(const grammar::Help& statement) {
  const std::vector<std::string> topics = AllTopics();
  const std::string nearest =
      NearestWord(statement.word, std::vector<std::string_view>(topics.begin(), topics.end()));
  return Status(ErrorCode::NO_SUCH_TOPIC, fmt::format("there is no help on {}", statement.word),
                nearest.empty() ? "HELP lists the statements" : fmt::format("did you mean HELP {}?", nearest))
      .At(statement.position);
}

// A view's columns, from the view itself.
Status AddMatchingView(const std::string& word, const Context& context, HelpReply* reply) {
  for (const std::string& view : ViewNames()) {
    if (Upper(view) != word) continue;
    TRAIND_ASSIGN(const auto columns, context.reader.CheckUserQuery("SELECT * FROM " + view));
    std::string list;
    for (const std::string& column : columns) list += (list.empty() ? "" : ", ") + column;
    reply->Add(view, "columns: " + list);
  }
  return {};
}

}  // namespace

Result<Outcome> Run(const grammar::Help& statement, const Context& context) {
  HelpReply reply;
  if (statement.word.empty()) {
    for (const StatementInfo& info : grammar::AllStatements())
      reply.Add(info.kind, std::string(info.summary));
    return Done(reply.Take());
  }
  const std::string word = Upper(statement.word);
  AddMatchingStatements(word, &reply);
  AddMatchingOptions(word, &reply);
  AddMatchingErrors(word, &reply);
  TRAIND_TRY(AddMatchingView(word, context, &reply));
  if (reply.empty()) return NoSuchTopic(statement);
  return Done(reply.Take());
}

}  // namespace traind::daemon
