// print_logits DIRECTORY TOKEN…: the logits that follow each token, a row of numbers for each, so that
// another program can compare them with its own.
#include <cstdio>
#include <cstdlib>

#include "tests/unit/train/hf_logits.h"

int main(int count, char** arguments) {
  if (count < 3) return std::fputs("usage: print_logits DIRECTORY TOKEN...\n", stderr), 2;
  std::vector<int32_t> tokens;
  for (int i = 2; i < count; ++i) tokens.push_back(std::atoi(arguments[i]));
  const auto rows = traind::testing::LogitsOf(arguments[1], tokens);
  if (!rows.ok()) return std::fprintf(stderr, "%s\n", rows.status().ToString().c_str()), 1;
  for (const auto& row : *rows) {
    for (const float logit : row) std::printf("%.9g ", static_cast<double>(logit));
    std::printf("\n");
  }
  return 0;
}
