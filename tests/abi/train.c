/*
 * Trains a model from a plain C program: opens a private daemon, trains, reads the losses, generates.
 * Argument: the traind program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traind.h"

static const char kSetUp[] =
    "CREATE DATASET d FROM '/usr/share/common-licenses/GPL-3' FORMAT text;"
    "CREATE MODEL m ARCHITECTURE llama WITH (hidden_size=32, num_hidden_layers=1, num_attention_heads=2,"
    " intermediate_size=64, vocab_size=256, max_position_embeddings=64);";
static const char kTrain[] =
    "TRAIN MODEL m FROM d USING (learning_rate=3e-3, sequence_length=64, batch_tokens=512, seed=$seed)"
    " FOR $steps STEPS WAIT";

static int complain(traind_conn* conn, const char* what) {
  fprintf(stderr, "%s: %s\n", what, traind_errmsg(conn));
  return 1;
}

static int train(traind_conn* conn) {
  traind_stmt* stmt = NULL;
  int32_t code = TRAIND_ROW;
  if (traind_prepare(conn, kTrain, -1, &stmt, NULL) != TRAIND_OK) return complain(conn, "prepare");
  if (traind_bind_int64(stmt, traind_parameter_index(stmt, "$steps"), 20) != TRAIND_OK ||
      traind_bind_int64(stmt, traind_parameter_index(stmt, "$seed"), 7) != TRAIND_OK) {
    return complain(conn, "bind");
  }
  while (code == TRAIND_ROW) code = traind_step(stmt);
  if (code != TRAIND_DONE) return complain(conn, "train");
  traind_stmt_free(stmt);
  return 0;
}

static int check_losses(traind_conn* conn) {
  traind_stmt* stmt = NULL;
  double first = 0, last = 0;
  int rows = 0;
  if (traind_prepare(conn, "SELECT loss FROM sys_metrics ORDER BY step", -1, &stmt, NULL) != TRAIND_OK) {
    return complain(conn, "prepare");
  }
  while (traind_step(stmt) == TRAIND_ROW) {
    traind_column_double(stmt, 0, &last);
    if (rows++ == 0) first = last;
  }
  traind_stmt_free(stmt);
  printf("%d steps, loss %.3f to %.3f\n", rows, first, last);
  return rows == 20 && last < first ? 0 : 1;
}

static int complete(traind_conn* conn) {
  traind_words* words = NULL;
  int failed = 0;
  if (traind_complete(conn, "GENERATE FROM MODEL ", -1, &words) != TRAIND_OK)
    return complain(conn, "complete");
  failed = traind_words_count(words) < 1 ||
           strcmp(traind_words_text(words, traind_words_count(words) - 1), "m") != 0;
  traind_words_free(words);
  if (traind_lex(conn, "GENERATE FROM MODEL m", -1, &words) != TRAIND_OK) return complain(conn, "lex");
  failed = failed || traind_words_count(words) != 4 || strcmp(traind_words_kind(words, 3), "name") != 0;
  traind_words_free(words);
  return failed;
}

static int generate(traind_conn* conn) {
  traind_result* result = NULL;
  int failed = 0;
  if (traind_execute(conn, "GENERATE FROM MODEL m PROMPT 'This License' USING (max_tokens=16, seed=1)", -1,
                     NULL, &result) != TRAIND_OK) {
    return complain(conn, "generate");
  }
  printf("%s\n", traind_result_json(result, NULL));
  failed = strstr(traind_result_json(result, NULL), "\"rows\":[[") == NULL;
  traind_result_free(result);
  return failed;
}

int main(int count, char** arguments) {
  char state[] = "/tmp/traind-train-XXXXXX";
  char text[64];
  traind_config* config = NULL;
  traind_conn* conn = NULL;
  traind_result* result = NULL;
  int failed = 0;
  if (count != 2 || mkdtemp(state) == NULL) return 2;
  snprintf(text, sizeof text, "embed:%s", state);
  traind_config_new(&config);
  traind_config_set(config, "traind", arguments[1]);
  failed = traind_open(text, config, &conn) != TRAIND_OK && complain(conn, "open");
  traind_config_free(config);
  if (!failed)
    failed = traind_execute(conn, kSetUp, -1, NULL, &result) != TRAIND_OK && complain(conn, "set up");
  traind_result_free(result);
  failed = failed || train(conn) || check_losses(conn) || complete(conn) || generate(conn);
  traind_close(conn, NULL);
  snprintf(text, sizeof text, "rm -rf %s", state);
  return system(text) != 0 || failed ? 1 : 0;
}
