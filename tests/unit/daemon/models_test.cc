// CREATE, DROP, DESCRIBE, SHOW CREATE of models and data sets.
#include "tests/unit/daemon/statement_fixture.h"

namespace traind::daemon {
namespace {

using Fixture = testing::StatementFixture;

constexpr std::string_view kTiny =
    "CREATE MODEL tiny ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, num_attention_heads=4)";

void ModelsHaveDefaults(void**) {
  Fixture fixture;
  fixture.Do(kTiny);
  const Reply reply = fixture.Do("DESCRIBE MODEL tiny");
  assert_text(Fixture::Item(reply, "num_key_value_heads"), "4");
  assert_text(Fixture::Item(reply, "intermediate_size"), "192");  // 8/3 · 64 = 170.7, up to a multiple of 64
  assert_text(Fixture::Item(reply, "vocab_size"), "256");
  assert_text(Fixture::Item(reply, "max_position_embeddings"), "1024");
  assert_text(Fixture::Item(reply, "tie_word_embeddings"), "false");
  assert_text(Fixture::Item(reply, "newest_version"), "none");
  assert_text(fixture.Rows("SHOW MODELS"), "tiny|llama|" + Fixture::Item(reply, "parameters") + "|0");
}

void OptionsTakeEveryKindOfValue(void**) {
  Fixture fixture;
  fixture.Do(
      "CREATE MODEL a ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=1, num_attention_heads=4, "
      "tie_word_embeddings, max_position_embeddings=1Ki, rms_norm_eps=1e-6, tokenizer=bytes)");
  const Reply reply = fixture.Do("DESCRIBE MODEL a");
  assert_text(Fixture::Item(reply, "tie_word_embeddings"), "true");
  assert_text(Fixture::Item(reply, "rms_norm_eps"), "1e-06");
}

void BadOptionsPointAtThemselves(void**) {
  Fixture fixture;
  const std::string head = "CREATE MODEL x ARCHITECTURE llama WITH (";  // 40 characters
  assert_text(fixture.Error(head + "hiden_size=64)"), "UNKNOWN_OPTION 41");
  assert_true(fixture.Message(head + "hiden_size=64)").find("hidden_size") != std::string::npos);
  assert_text(fixture.Error(head + "hidden_size=65, num_attention_heads=4)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size=64, hidden_size=64)"), "DUPLICATE_OPTION 57");
  assert_text(fixture.Error(head + "hidden_size=64GiB)"), "WRONG_UNIT 53");
  assert_text(fixture.Error(head + "hidden_size=1.5)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size=wide)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size=0)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size=-64)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "tie_word_embeddings=maybe)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "vocab_size=100)"), "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "num_key_value_heads=3, num_attention_heads=4, hidden_size=64)"),
              "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size=1Mi, num_hidden_layers=64Ki, num_attention_heads=1, "
                                   "intermediate_size=16Mi, vocab_size=16Mi)"),
              "INVALID_OPTION 41");
  assert_text(fixture.Error(head + "hidden_size=64)"), "MISSING_OPTION 29");
  assert_text(fixture.Error("CREATE MODEL x ARCHITECTURE llama"), "MISSING_OPTION 29");
  assert_text(fixture.Error("CREATE MODEL x ARCHITECTURE resnet WITH (hidden_size=64)"),
              "UNKNOWN_ARCHITECTURE 29");
  assert_text(fixture.Error("CREATE MODEL x ARCHITECTURE gpt2 WITH (hidden_size=64)"), "MISSING_OPTION 29");
  const std::string gpt2 =
      "CREATE MODEL x ARCHITECTURE gpt2 WITH (hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ";
  assert_text(fixture.Error(gpt2 + "num_key_value_heads=4)"), "INVALID_OPTION 100");
  assert_text(fixture.Error(gpt2 + "rms_norm_eps=1e-6)"), "INVALID_OPTION 100");
  assert_text(fixture.Error(gpt2 + "rope_scaling=linear)"), "INVALID_OPTION 100");
  assert_text(fixture.Error(gpt2 + "layer_norm_epsilon=0)"), "INVALID_OPTION 100");
  const std::string whole = head + "hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ";
  assert_text(fixture.Error(whole + "layer_norm_epsilon=1e-6)"), "INVALID_OPTION 101");
  assert_text(fixture.Error(whole + "rope_scaling=dynamic)"), "INVALID_OPTION 101");
  assert_text(fixture.Error(whole + "rope_scaling=linear)"), "INVALID_OPTION 101");
  assert_text(fixture.Error(whole + "rope_scaling_factor=2)"), "INVALID_OPTION 101");
  assert_text(fixture.Error(whole + "rope_low_freq_factor=2, rope_scaling=linear, rope_scaling_factor=2)"),
              "INVALID_OPTION 101");
  assert_text(fixture.Error(whole + "rope_scaling=llama3, rope_high_freq_factor=1)"), "INVALID_OPTION 122");
  assert_text(fixture.Rows("SHOW MODELS"), "");
}

void NamesAreUniqueAsWritten(void**) {
  Fixture fixture;
  fixture.Do(kTiny);
  assert_text(fixture.Error(kTiny), "MODEL_EXISTS 14");
  fixture.Do("CREATE MODEL Tiny LIKE tiny; CREATE MODEL \"my model\" LIKE tiny");
  assert_text(fixture.Rows("SELECT name FROM sys_models ORDER BY name"), "Tiny;my model;tiny");
  assert_text(fixture.Error("DESCRIBE MODEL TINY"), "NO_SUCH_MODEL 16");
  assert_true(fixture.Message("DESCRIBE MODEL TINY").find("did you mean") != std::string::npos);
}

void IfNotExistsShowsTheDifference(void**) {
  Fixture fixture;
  fixture.Do(kTiny);
  const Reply same = fixture.Do(
      "CREATE MODEL IF NOT EXISTS tiny ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, "
      "num_attention_heads=4, vocab_size=256)");
  assert_int_equal(same.notices.size(), 1);
  const std::string other =
      "CREATE MODEL IF NOT EXISTS tiny ARCHITECTURE llama WITH (hidden_size=128, num_hidden_layers=2, "
      "num_attention_heads=4)";
  assert_text(fixture.Error(other), "SPEC_DIFFERS 28");
  assert_true(fixture.Message(other).find("hidden_size is 64, not 128") != std::string::npos);
}

void LikeTakesChanges(void**) {
  Fixture fixture;
  fixture.Do(kTiny);
  fixture.Do("CREATE MODEL deeper LIKE tiny WITH (num_hidden_layers=4)");
  const Reply reply = fixture.Do("DESCRIBE MODEL deeper");
  assert_text(Fixture::Item(reply, "num_hidden_layers"), "4");
  assert_text(Fixture::Item(reply, "hidden_size"), "64");
  assert_text(fixture.Error("CREATE MODEL b LIKE tiny WITH (hidden_size=66)"), "INVALID_OPTION 32");
  assert_text(fixture.Error("CREATE MODEL b LIKE nobody WITH (hiden_size=66)"), "UNKNOWN_OPTION 34");
  assert_text(fixture.Error("CREATE MODEL b LIKE nobody"), "NO_SUCH_MODEL 21");
}

void FamiliesHaveTheirDefaults(void**) {
  Fixture fixture;
  const Reply created = fixture.Do(
      "CREATE MODEL g ARCHITECTURE gpt2 WITH (hidden_size=128, num_hidden_layers=4, num_attention_heads=4)");
  const Reply gpt2 = fixture.Do("DESCRIBE MODEL g");
  assert_text(Fixture::Item(gpt2, "intermediate_size"), "512");
  assert_text(Fixture::Item(gpt2, "tie_word_embeddings"), "true");
  assert_text(Fixture::Item(gpt2, "max_position_embeddings"), "1024");
  // wte 256·128 and wpe 1024·128; per layer 12·128² in matrices, 13·128 in biases and norms; ln_f.
  assert_text(Fixture::Item(gpt2, "parameters"),
              std::to_string((256 + 1024) * 128 + 4 * (12 * 128 * 128 + 13 * 128) + 2 * 128));
  fixture.Do("CREATE MODEL wider LIKE g WITH (hidden_size=256, num_attention_heads=8)");
  assert_text(Fixture::Item(fixture.Do("DESCRIBE MODEL wider"), "num_attention_heads"), "8");
  fixture.Do(
      "CREATE MODEL l ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, num_attention_heads=4, "
      "rope_scaling=llama3)");
  const Reply llama = fixture.Do("DESCRIBE MODEL l");
  assert_text(Fixture::Item(llama, "rope_scaling"), "llama3");
  assert_text(Fixture::Item(llama, "rope_scaling_factor"), "8.0");
  assert_text(Fixture::Item(llama, "rope_original_max_position_embeddings"), "8192");
}

void PresetsArePublishedShapes(void**) {
  Fixture fixture;
  fixture.Do("CREATE MODEL p LIKE 'llama-3.2-1b'");
  const Reply preset = fixture.Do("DESCRIBE MODEL p");
  assert_text(Fixture::Item(preset, "parameters"), "1235814400");
  assert_text(Fixture::Item(preset, "rope_scaling"), "llama3");
  assert_text(Fixture::Item(preset, "tokenizer"), "bytes");
  fixture.Do("CREATE MODEL q LIKE 'gpt2-124m' WITH (vocab_size=256, num_hidden_layers=1)");
  assert_text(Fixture::Item(fixture.Do("DESCRIBE MODEL q"), "hidden_size"), "768");
  assert_text(fixture.Error("CREATE MODEL r LIKE 'gpt2-124'"), "NO_SUCH_MODEL 21");
  assert_true(fixture.Message("CREATE MODEL r LIKE 'gpt2-124'").find("gpt2-124m") != std::string::npos);
  assert_text(fixture.Error("CREATE MODEL r LIKE 'gpt2-124m' WITH (hidden_size=770)"), "INVALID_OPTION 39");
}

// What SHOW CREATE prints makes the same model again.
void ShowCreateOfEachFamily(void**) {
  Fixture fixture;
  const std::string sizes = "hidden_size=64, num_hidden_layers=2, num_attention_heads=4";
  for (const std::string& origin :
       {"gpt2 WITH (" + sizes + ", layer_norm_epsilon=1e-6)", "qwen2 WITH (" + sizes + ")",
        "llama WITH (" + sizes + ", rope_scaling=linear, rope_scaling_factor=2)"}) {
    fixture.Do("CREATE OR REPLACE MODEL m ARCHITECTURE " + origin);
    const std::string text = fixture.Rows("SHOW CREATE MODEL m");
    const std::string described = fixture.Rows("DESCRIBE MODEL m");
    fixture.Do("DROP MODEL m");
    fixture.Do(text);
    assert_text(fixture.Rows("DESCRIBE MODEL m"), described);
  }
}

void AddVersion(Fixture& fixture, const std::string& model) {
  fixture.Do("TRAIN MODEL " + model + " FROM lic FOR 1 STEPS");
  const int64_t id = std::stoll(fixture.Rows("SELECT max(id) FROM sys_jobs"));
  fixture.Start(id);
  assert_ok(fixture.Write([&](Transaction& t) -> Status {
    TRAIND_ASSIGN(const JobRecord job, LoadJob(t, id));
    TRAIND_TRY(AddVersion(t, job, 1, 100, 3.5, fixture.directory() + "/models/x", 1).status());
    return Apply(t, id, JobChange::kSucceed, "", 1).status();
  }));
}

void ReplacingVersionsNeedsTheWord(void**) {
  Fixture fixture;
  fixture.Make();
  AddVersion(fixture, "tiny");
  const std::string replace =
      "CREATE OR REPLACE MODEL tiny ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=3, "
      "num_attention_heads=4)";
  assert_text(fixture.Error(replace), "HAS_VERSIONS 25");
  assert_text(fixture.Error("DROP MODEL tiny"), "HAS_VERSIONS 12");
  std::filesystem::create_directories(fixture.directory() + "/models/1/1");
  fixture.Do(replace + " WITH VERSIONS");
  assert_false(std::filesystem::exists(fixture.directory() + "/models/1"));
  assert_text(fixture.Rows("SELECT versions FROM sys_models"), "0");
  assert_text(Fixture::Item(fixture.Do("DESCRIBE MODEL tiny"), "num_hidden_layers"), "3");
  AddVersion(fixture, "tiny");
  assert_text(fixture.Rows("SHOW VERSIONS OF tiny"),
              "tiny|1|2|1|100|3.500000|" + fixture.directory() + "/models/x");
  fixture.Do("DROP MODEL tiny WITH VERSIONS");
  assert_text(fixture.Rows("SHOW VERSIONS"), "");
}

void ABusyModelStays(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do("TRAIN MODEL tiny INTO other AS j FROM lic FOR 1 STEPS");
  assert_text(fixture.Error("DROP MODEL tiny"), "MODEL_BUSY 12");  // it starts from its versions
  assert_text(fixture.Error("DROP MODEL other"), "MODEL_BUSY 12");
  assert_text(fixture.Error("CREATE OR REPLACE MODEL other LIKE tiny"), "MODEL_BUSY 25");
  assert_true(fixture.Message("DROP MODEL other").find("job 1 (j) is QUEUED") != std::string::npos);
  fixture.Do("CANCEL JOB j; DROP MODEL other; DROP MODEL tiny");
  assert_text(fixture.Error("RESUME JOB j"), "NO_SUCH_MODEL 12");
}

void DropSaysWhatIsMissing(void**) {
  Fixture fixture;
  assert_text(fixture.Error("DROP MODEL nobody"), "NO_SUCH_MODEL 12");
  assert_text(fixture.Error("DROP DATASET nobody"), "NO_SUCH_DATASET 14");
  assert_int_equal(fixture.Do("DROP MODEL IF EXISTS nobody").notices.size(), 1);
  assert_int_equal(fixture.Do("DROP DATASET IF EXISTS nobody").notices.size(), 1);
}

void ShowCreateMakesItAgain(void**) {
  Fixture fixture;
  fixture.Make();
  fixture.Do(
      "CREATE MODEL \"my model\" ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=1, "
      "num_attention_heads=4, tie_word_embeddings, rope_theta=50000, initializer_range=0.015)");
  for (const std::string name : {"tiny", "\"my model\""}) {
    const std::string create = fixture.Rows("SHOW CREATE MODEL " + name);
    const std::string before = fixture.Rows("DESCRIBE MODEL " + name);
    fixture.Do("DROP MODEL " + name + ";" + create);
    assert_text(fixture.Rows("DESCRIBE MODEL " + name), before);
  }
  const std::string create = fixture.Rows("SHOW CREATE DATASET lic");
  assert_text(create, "CREATE DATASET lic FROM '" + fixture.directory() + "/data.txt' FORMAT text");
  fixture.Do("DROP DATASET lic;" + create);
}

void DatasetsLookAtTheirFiles(void**) {
  Fixture fixture;
  const Reply made = fixture.Do("CREATE DATASET d FROM '*.txt', 'data.txt' FORMAT text");
  assert_text(Fixture::TextOf(made), "d|3|14400");
  assert_text(fixture.Rows("SHOW DATASETS"), "d|-|3|14400");
  assert_text(fixture.Error("CREATE DATASET d FROM 'data.txt' FORMAT text"), "DATASET_EXISTS 16");
  assert_text(fixture.Error("CREATE DATASET IF NOT EXISTS d FROM 'data.txt' FORMAT text"), "SPEC_DIFFERS 30");
  assert_int_equal(
      fixture.Do("CREATE DATASET IF NOT EXISTS d FROM '*.txt', 'data.txt' FORMAT text").notices.size(), 1);
  fixture.Do("CREATE OR REPLACE DATASET d FROM 'data.txt' FORMAT text");
  assert_text(fixture.Rows("SELECT documents FROM sys_datasets"), "1");
  const Reply described = fixture.Do("DESCRIBE DATASET d");
  assert_text(Fixture::Item(described, "pattern"), fixture.directory() + "/data.txt");
  assert_text(Fixture::Item(described, "files now"), "1");
}

void BadFilesPointAtThemselves(void**) {
  Fixture fixture;
  const std::string head = "CREATE DATASET d FROM 'data.txt', ";  // 34 characters
  std::filesystem::create_directory(fixture.directory() + "/folder");
  assert_int_equal(std::system(("mkfifo " + fixture.directory() + "/fifo").c_str()), 0);
  assert_text(fixture.Error(head + "'missing.txt' FORMAT text"), "FILE_NOT_FOUND 35");
  assert_text(fixture.Error(head + "'*.none' FORMAT text"), "FILE_NOT_FOUND 35");
  assert_text(fixture.Error(head + "'folder' FORMAT text"), "NOT_A_REGULAR_FILE 35");
  assert_text(fixture.Error(head + "'fifo' FORMAT text"), "NOT_A_REGULAR_FILE 35");
  assert_text(fixture.Error(head + "'/dev/zero' FORMAT text"), "NOT_A_REGULAR_FILE 35");
  assert_text(fixture.Error(head + "'' FORMAT text"), "INVALID_OPTION 35");
  assert_text(fixture.Error(head + "'" + std::string(4200, 'a') + "' FORMAT text"), "INVALID_OPTION 35");
  assert_text(fixture.Error("CREATE DATASET web FROM 'data.txt' FORMAT parquet"), "UNKNOWN_FORMAT 43");
  assert_text(fixture.Error("CREATE DATASET web FROM 'data.txt' FORMAT text WITH (text_field='a')"),
              "INVALID_OPTION 54");
}

void CheckingChangesNothing(void**) {
  Fixture fixture;
  for (const char* text : {
           "CREATE MODEL m ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, "
           "num_attention_heads=4)",
           "CREATE DATASET d FROM 'data.txt' FORMAT text",
           "TRAIN MODEL m FROM d FOR 10 STEPS",
           "EXPLAIN TRAIN MODEL m FROM d FOR 10 STEPS",
           "DROP DATASET d",
           "SELECT * FROM sys_jobs",
           "DROP MODEL m WITH VERSIONS",
       }) {
    assert_ok(fixture.Run(text, true));
  }
  assert_code(fixture.Run("TRAIN MODEL m FROM 'data.txt' FOR 10 STEPS", true), ErrorCode::NO_SUCH_MODEL);
  assert_code(fixture.Run("SELECT nothing FROM sys_jobs", true), ErrorCode::SQL);
  fixture.session.checked_models.clear();
  assert_text(fixture.Rows("SHOW MODELS"), "");
  assert_text(fixture.Rows("SHOW DATASETS"), "");
  assert_text(fixture.Rows("SHOW JOBS"), "");
}

// Later statements of a script that is only checked may name what earlier ones would have made.
void CheckingKnowsWhatTheScriptMakes(void**) {
  Fixture fixture;
  fixture.Make();
  for (const char* text : {
           "CREATE MODEL m LIKE tiny",
           "TRAIN MODEL m INTO m2 AS first FROM lic FOR 10 STEPS",
           "WAIT FOR JOB first",
           "WAIT FOR JOB 1",
           "SHOW LOGS FOR JOB first WHERE line LIKE 'a%'",
           "SHOW METRICS FOR JOB first",
           "SHOW CREATE JOB first",
           "EXPLAIN JOB first",
           "ALTER JOB first SET BUDGET (wall_clock <= 1h)",
           "CANCEL JOB first",
           "DESCRIBE MODEL m2",
           "SHOW VERSIONS OF m2",
           "EVALUATE MODEL m2 FROM lic",
           "GENERATE FROM MODEL m2@1 PROMPT 'a'",
           "TRAIN MODEL m2 FROM lic FOR 10 STEPS",
           "GENERATE FROM MODEL m2@2 PROMPT 'a'",
           "TRAIN MODEL m2 FROM lic FOR 20 STEPS RESUME FROM LATEST",
       }) {
    const auto outcome = fixture.Run(text, true);
    if (!outcome.ok()) fail_msg("%s: %s", text, outcome.status().ToString().c_str());
  }
  assert_code(fixture.Run("WAIT FOR JOB 4", true), ErrorCode::NO_SUCH_JOB);
  assert_code(fixture.Run("WAIT FOR JOB second", true), ErrorCode::NO_SUCH_JOB);
  assert_code(fixture.Run("GENERATE FROM MODEL m2@4 PROMPT 'a'", true), ErrorCode::NO_SUCH_VERSION);
  assert_code(fixture.Run("GENERATE FROM MODEL m PROMPT 'a'", true), ErrorCode::NO_SUCH_VERSION);
  assert_code(fixture.Run("DROP MODEL m2", true), ErrorCode::HAS_VERSIONS);
  assert_ok(fixture.Run("DROP MODEL m2 WITH VERSIONS", true));
  assert_code(fixture.Run("GENERATE FROM MODEL m2 PROMPT 'a'", true), ErrorCode::NO_SUCH_MODEL);
  assert_code(fixture.Run("WAIT FOR JOB first"), ErrorCode::NO_SUCH_JOB);
  assert_text(fixture.Rows("SHOW JOBS"), "");
}

}  // namespace
}  // namespace traind::daemon

int main() {
  using namespace traind::daemon;
  const CMUnitTest tests[] = {
      cmocka_unit_test(ModelsHaveDefaults),
      cmocka_unit_test(OptionsTakeEveryKindOfValue),
      cmocka_unit_test(BadOptionsPointAtThemselves),
      cmocka_unit_test(NamesAreUniqueAsWritten),
      cmocka_unit_test(IfNotExistsShowsTheDifference),
      cmocka_unit_test(LikeTakesChanges),
      cmocka_unit_test(FamiliesHaveTheirDefaults),
      cmocka_unit_test(PresetsArePublishedShapes),
      cmocka_unit_test(ShowCreateOfEachFamily),
      cmocka_unit_test(ReplacingVersionsNeedsTheWord),
      cmocka_unit_test(ABusyModelStays),
      cmocka_unit_test(DropSaysWhatIsMissing),
      cmocka_unit_test(ShowCreateMakesItAgain),
      cmocka_unit_test(DatasetsLookAtTheirFiles),
      cmocka_unit_test(BadFilesPointAtThemselves),
      cmocka_unit_test(CheckingChangesNothing),
      cmocka_unit_test(CheckingKnowsWhatTheScriptMakes),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
