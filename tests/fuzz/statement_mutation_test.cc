// Mutated statements never break the parser's promises, and large ones take no time.
//
// TRAIND_FUZZ_STATEMENTS says how many (100,000 without it).
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "grammar/parse.h"
#include "grammar/token.h"
#include "tests/fuzz/check_statements.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/test.h"

namespace traind::fuzzing {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr double kSlowness = 30;  // what instrumentation may cost
#else
constexpr double kSlowness = 1;
#endif
constexpr double kMostSeconds = 0.1;

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Each statement of a file and of the manual, and each whole line of the files.
std::vector<std::string> Corpus() {
  std::vector<std::string> corpus = ReadFolder("tests/fuzz/corpus/statements");
  for (const std::string& file : ReadFolder("tests/data/statements")) {
    for (size_t begin = 0; begin < file.size();) {
      const size_t end = std::min(file.find('\n', begin), file.size());
      corpus.push_back(file.substr(begin, end - begin));
      begin = end + 1;
    }
    for (const auto& parsed : grammar::Parse(file).statements) {
      corpus.push_back(
          file.substr(static_cast<size_t>(parsed.begin), static_cast<size_t>(parsed.end - parsed.begin)));
    }
  }
  for (const auto& row : grammar::AllStatements()) corpus.emplace_back(row.example);
  return corpus;
}

std::vector<std::string> Dictionary() {
  std::vector<std::string> words = {";",
                                    "'",
                                    "\"",
                                    "--",
                                    "/*",
                                    "*/",
                                    "(",
                                    ")",
                                    ",",
                                    "=",
                                    "<=",
                                    "<",
                                    "@",
                                    ":",
                                    "-",
                                    ".",
                                    "$a",
                                    "?",
                                    "?3",
                                    "$",
                                    "''",
                                    "\"\"",
                                    "'x'",
                                    "\"x\"",
                                    "1",
                                    "0.5",
                                    "24GiB",
                                    "1d12h",
                                    "10%",
                                    "600GB/s",
                                    "1e-3",
                                    "-1",
                                    "\n",
                                    "\t",
                                    "\r\n",
                                    "#!",
                                    "é",
                                    "日本",
                                    "\xF0\x9F\x98\x80",
                                    "\xEF\xBB\xBF",
                                    "\xC2\xA0",
                                    "\xFF",
                                    "\xC3",
                                    std::string(1, '\0'),
                                    "||",
                                    "->>",
                                    "0x1F",
                                    "x'00'",
                                    "a.b",
                                    "run-2.a",
                                    "99999999999999999999",
                                    "1e999",
                                    "?0",
                                    "[",
                                    "]",
                                    "~"};
  for (int code = 1; code < grammar::kTokenCodes; ++code) {
    if (const auto* keyword = grammar::KeywordOf(code)) words.emplace_back(keyword->word);
  }
  return words;
}

void MutatedStatements(void**) {
  Mutator mutator(Corpus(), Dictionary(), 20261203);
  for (int64_t left = CasesFromEnvironment("TRAIND_FUZZ_STATEMENTS", 100000); left > 0; --left) {
    const std::string text = mutator.Next();
    const double before = ThreadSeconds();
    CheckStatements(text);
    const double seconds = ThreadSeconds() - before;
    if (seconds > kMostSeconds * kSlowness) fail_msg("%.3f s for: %s", seconds, text.c_str());
  }
}

void CorpusItself(void**) {
  for (const std::string& text : Corpus()) CheckStatements(text);
}

// `text`, repeated up to the size of the largest script.
std::string Fill(std::string_view text, std::string_view head = "", std::string_view tail = "") {
  std::string all(head);
  while (all.size() + text.size() + tail.size() <= static_cast<size_t>(kMaxScriptBytes)) all += text;
  return all += tail;
}

// The best of three runs: a busy machine is no fault of the parser.
template <typename Work>
void AssertFast(std::string_view text, const Work& work) {
  double best = 1e9;
  for (int run = 0; run < 3 && best > kMostSeconds * kSlowness; ++run) {
    const double before = ThreadSeconds();
    work();
    best = std::min(best, ThreadSeconds() - before);
  }
  if (best > kMostSeconds * kSlowness) fail_msg("%.3f s for %.60s…", best, std::string(text).c_str());
}

void LargestScriptsAreFast(void**) {
  const std::vector<std::string> texts = {Fill("("),
                                          Fill(")"),
                                          Fill("(", "SELECT "),
                                          Fill("()", "SELECT "),
                                          Fill("((()))", "SELECT "),
                                          Fill("'"),
                                          Fill("\""),
                                          Fill("''", "SELECT '", "'"),
                                          Fill("\"\"", "SELECT \"", "\""),
                                          Fill(";"),
                                          Fill("; "),
                                          Fill("x;"),
                                          Fill("é"),
                                          Fill("/*"),
                                          Fill("/**/"),
                                          Fill("--\n"),
                                          Fill("-"),
                                          Fill("- ", "SELECT "),
                                          Fill("1 ", "SELECT "),
                                          Fill("1"),
                                          Fill("a"),
                                          Fill("a."),
                                          Fill("a.a-"),
                                          Fill("a ", "HELP "),
                                          Fill("a,", "SELECT "),
                                          Fill("*/"),
                                          Fill("RESET;"),
                                          Fill("SHOW JOBS;"),
                                          Fill("TRAIN MODEL m FROM d FOR 1 STEPS;"),
                                          Fill("WAIT ", "TRAIN MODEL m "),
                                          Fill("$a,", "SELECT "),
                                          Fill("?,", "SELECT "),
                                          Fill("?1,", "SELECT "),
                                          Fill("24GiB,", "SELECT "),
                                          Fill("a=1,", "TRAIN MODEL m FROM d USING ("),
                                          Fill("'d',", "TRAIN MODEL m FROM "),
                                          Fill("1,", "PAUSE JOB "),
                                          Fill("[", "SELECT "),
                                          Fill("/* * ", "SELECT "),
                                          Fill("\n"),
                                          Fill("\xFF"),
                                          Fill("a", "INCLUDE '", "'"),
                                          Fill("1e", "SELECT 1"),
                                          Fill("SHOW JOBS WHERE ("),
                                          Fill("WHERE a ", "SHOW JOBS "),
                                          Fill("ORDER BY a ", "SHOW JOBS ")};
  for (const std::string& text : texts) {
    AssertFast(text, [&] { (void)grammar::Parse(text); });
    AssertFast(text, [&] { (void)grammar::ExpectedAfter(text); });
  }
}

}  // namespace
}  // namespace traind::fuzzing

int main() {
  using namespace traind::fuzzing;
  const CMUnitTest tests[] = {
      cmocka_unit_test(CorpusItself),
      cmocka_unit_test(MutatedStatements),
      cmocka_unit_test(LargestScriptsAreFast),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
