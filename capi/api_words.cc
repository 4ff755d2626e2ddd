// traind.h: what editors ask of a text. The daemon's answer is checked before it is used.
#include "capi/call.h"

using namespace traind;        // NOLINT(google-build-using-namespace)
using namespace traind::capi;  // NOLINT(google-build-using-namespace)

namespace {

Status Malformed(std::string_view operation) {
  return Status(ErrorCode::MALFORMED_FRAME,
                "the daemon's answer to " + std::string(operation) + " is not understood");
}

Result<Json> ListIn(const Json& answer, const char* name, std::string_view operation) {
  auto list = answer.find(name);
  if (list == answer.end() || !list->is_array()) return Malformed(operation);
  return *list;
}

bool IsPlace(const Word& word, std::string_view text) {
  return word.begin >= 0 && word.begin <= word.end && word.end <= static_cast<int64_t>(text.size());
}

Result<std::vector<Word>> Tokens(Client* client, std::string_view text) {
  TRAIND_ASSIGN(const Json answer, client->Call({{"op", "lex"}, {"text", text}}));
  TRAIND_ASSIGN(const Json list, ListIn(answer, "tokens", "lex"));
  std::vector<Word> words;
  for (const Json& token : list) {
    Word word;
    TRAIND_ASSIGN(word.begin, GetInt(token, "begin"));
    TRAIND_ASSIGN(word.end, GetInt(token, "end"));
    TRAIND_ASSIGN(word.kind, GetString(token, "kind"));
    if (!IsPlace(word, text)) return Malformed("lex");
    word.text = text.substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
    words.push_back(std::move(word));
  }
  return words;
}

Result<std::vector<Word>> Continuations(Client* client, std::string_view text) {
  TRAIND_ASSIGN(const Json answer, client->Call({{"op", "complete"}, {"text", text}}));
  TRAIND_ASSIGN(const Json list, ListIn(answer, "words", "complete"));
  TRAIND_ASSIGN(const int64_t begin, GetInt(answer, "begin"));
  std::vector<Word> words;
  for (const Json& continuation : list) {
    Word word;
    word.begin = begin;
    word.end = static_cast<int64_t>(text.size());
    TRAIND_ASSIGN(word.text, GetString(continuation, "text"));
    TRAIND_ASSIGN(word.kind, GetString(continuation, "kind"));
    if (!IsPlace(word, text)) return Malformed("complete");
    words.push_back(std::move(word));
  }
  return words;
}

int32_t Ask(traind_conn* conn, const char* text, int64_t length, traind_words** out,
            Result<std::vector<Word>> (*question)(Client*, std::string_view)) {
  if (out == nullptr) return TRAIND_MISUSE;
  *out = nullptr;
  return OnClient(conn, [&](ConnectionObject& connection) -> Status {
    std::string_view asked;
    if (!TakeText(text, length, &asked)) return Misuse("the text is NULL, or its length negative");
    auto object = std::make_unique<WordsObject>();
    TRAIND_ASSIGN(object->words, question(connection.client(), asked));
    return HandOut(Kind::kWords, std::move(object), out);
  });
}

// A part of word `index`; `fallback` if there is none.
template <typename Value, typename Body>
Value WordPart(const traind_words* words, int32_t index, Value fallback, Body&& body) {
  return Part<WordsObject, Kind::kWords>(words, fallback, [&](const WordsObject& object) {
    const bool inside = index >= 0 && static_cast<size_t>(index) < object.words.size();
    return inside ? body(object.words[static_cast<size_t>(index)]) : fallback;
  });
}

}  // namespace

extern "C" {

int32_t traind_lex(traind_conn* conn, const char* text, int64_t length, traind_words** out) {
  return Ask(conn, text, length, out, Tokens);
}

int32_t traind_complete(traind_conn* conn, const char* text, int64_t length, traind_words** out) {
  return Ask(conn, text, length, out, Continuations);
}

int32_t traind_words_count(const traind_words* words) {
  return Part<WordsObject, Kind::kWords>(
      words, int32_t{0}, [](const WordsObject& object) { return static_cast<int32_t>(object.words.size()); });
}

int32_t traind_words_place(const traind_words* words, int32_t index, int64_t* begin, int64_t* end) {
  return WordPart<int32_t>(words, index, TRAIND_MISUSE, [&](const Word& word) {
    if (begin != nullptr) *begin = word.begin;
    if (end != nullptr) *end = word.end;
    return TRAIND_OK;
  });
}

const char* traind_words_text(const traind_words* words, int32_t index) {
  return WordPart<const char*>(words, index, nullptr, [](const Word& word) { return word.text.c_str(); });
}

const char* traind_words_kind(const traind_words* words, int32_t index) {
  return WordPart<const char*>(words, index, nullptr, [](const Word& word) { return word.kind.c_str(); });
}

void traind_words_free(traind_words* words) {
  Release(Kind::kWords, words);
}

}  // extern "C"
