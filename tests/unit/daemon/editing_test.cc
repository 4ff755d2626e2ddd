// What an editor asks: tokens of any text, and continuations with the names that exist.
#include "daemon/editing.h"

#include "daemon/catalog/models.h"
#include "engine/base/limits.h"
#include "tests/unit/daemon/temporary_state.h"

namespace traind::daemon {
namespace {

// "keyword:TRAIN name:m …"
std::string Tokens(const std::string& text) {
  const auto answer = LexText(text);
  assert_ok(answer);
  std::string list;
  size_t last = 0;
  for (const Json& token : (*answer)["tokens"]) {
    const auto begin = token["begin"].get<size_t>(), end = token["end"].get<size_t>();
    assert_true(begin >= last && begin < end && end <= text.size());
    last = end;
    list +=
        (list.empty() ? "" : " ") + token["kind"].get<std::string>() + ":" + text.substr(begin, end - begin);
  }
  return list;
}

class Fixture {
 public:
  Fixture() {
    assert_ok(state_.Open());
    ModelSpec spec;
    spec.hidden_size = 64;
    spec.num_hidden_layers = 1;
    spec.num_attention_heads = spec.num_key_value_heads = 4;
    assert_ok(state_.catalog().Write([&](Transaction& transaction) {
      for (const char* name : {"tiny", "Titan", "other"}) {
        TRAIND_TRY(InsertModel(transaction, name, spec, 0).status());
      }
      return Status();
    }));
    reader_ = state_.NewReader();
  }
  // "11: keyword:MODEL …"
  std::string After(const std::string& text) {
    const auto answer = CompleteText(text, *reader_);
    assert_ok(answer);
    std::string list = std::to_string((*answer)["begin"].get<int64_t>()) + ":";
    for (const Json& word : (*answer)["words"]) {
      list += " " + word["kind"].get<std::string>() + ":" + word["text"].get<std::string>();
    }
    return list;
  }

 private:
  testing::TemporaryState state_;
  std::unique_ptr<Reader> reader_;
};

void tokens_have_kinds(void**) {
  assert_text(Tokens("TRAIN model run-2.a FROM 'f' -- x\nFOR $n STEPS ? /* y */;"),
              "keyword:TRAIN keyword:model name:run-2.a keyword:FROM string:'f' comment:-- x keyword:FOR "
              "parameter:$n keyword:STEPS parameter:? comment:/* y */ punctuation:;");
  assert_text(
      Tokens("SHOW JOBS; SELECT a.b-1, 4GiB"),
      "keyword:SHOW keyword:JOBS punctuation:; keyword:SELECT name:a punctuation:. name:b punctuation:- "
      "number:1 punctuation:, number:4GiB");
  assert_text(Tokens("#!/usr/bin/trainql -f\nRESET"), "comment:#!/usr/bin/trainql -f keyword:RESET");
  assert_text(Tokens(""), "");
  assert_text(Tokens(" \n "), "");
}

void unfinished_and_foreign_texts_have_tokens_too(void**) {
  assert_text(Tokens("SET a = 'open"), "keyword:SET name:a punctuation:= invalid:'open");
  assert_text(Tokens("RESET /* open"), "keyword:RESET invalid:/* open");
  Tokens("SET a = \x01 \xff rest");
  Tokens(std::string(3, '\0'));
  assert_code(LexText(std::string(kMaxScriptBytes + 1, ' ')), ErrorCode::STATEMENT_TOO_LONG);
}

void words_complete_what_is_begun(void**) {
  Fixture fixture;
  assert_text(fixture.After("CREATE MO"), "7: keyword:MODEL");
  assert_text(fixture.After("create mo"), "7: keyword:MODEL");
  assert_text(fixture.After("CREATE "), "7: keyword:DATASET keyword:MODEL keyword:OR keyword:TOKENIZER");
  assert_text(fixture.After("SHOW JOBS; DROP MODEL ti"), "22: model:Titan model:tiny");
  assert_text(fixture.After("CREATE MODEL m LIKE o"), "20: model:other");
  assert_text(fixture.After("SELECT * FROM sys_jo"), "14: view:sys_job_settings view:sys_jobs");
  assert_text(fixture.After("CREATE MODEL m ARCHITECTURE llama WITH (a "),
              "42: punctuation:) punctuation:, punctuation:=");
  assert_text(fixture.After("TRAIN TRAIN MO"), "12:");
  assert_text(fixture.After("SET a = 'open MO"), "14:");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(tokens_have_kinds),
      cmocka_unit_test(unfinished_and_foreign_texts_have_tokens_too),
      cmocka_unit_test(words_complete_what_is_begun),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
