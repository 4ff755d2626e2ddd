/*
 * Lists the models of a state directory through the C interface, and what they were trained to.
 *
 *   cc -o models models.c -ltraind && ./models "$HOME/.local/state/traind-demo"
 */
#include <inttypes.h>
#include <stdio.h>

#include <traind.h>

static int list(traind_conn* conn) {
  traind_stmt* stmt = NULL;
  int32_t code = TRAIND_ROW;
  if (traind_prepare(conn, "SELECT name, parameters, versions FROM sys_models ORDER BY name", -1, &stmt,
                     NULL)) {
    return 1;
  }
  while ((code = traind_step(stmt)) == TRAIND_ROW) {
    const char* name = NULL; /* borrowed until the next step */
    int64_t parameters = 0, versions = 0;
    traind_column_text(stmt, 0, &name, NULL);
    traind_column_int64(stmt, 1, &parameters);
    traind_column_int64(stmt, 2, &versions);
    printf("%s: %" PRId64 " parameters, %" PRId64 " versions\n", name, parameters, versions);
  }
  traind_stmt_free(stmt);
  return code != TRAIND_DONE;
}

int main(int count, char** arguments) {
  char address[4096];
  traind_conn* conn = NULL;
  int failed = 0;
  if (count != 2) return 2;
  snprintf(address, sizeof address, "embed:%s", arguments[1]);
  failed = traind_open(address, NULL, &conn) != TRAIND_OK || list(conn);
  if (failed) fprintf(stderr, "%s\n", traind_errmsg(conn));
  traind_close(conn, NULL); /* of a handle that failed to open, too */
  return failed;
}
