// A scratch state directory and connections to the fake daemon.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "capi/traind.h"
#include "tests/support/test.h"

struct Fixture {
  std::string directory;
  traind_config* config = nullptr;
  traind_conn* conn = nullptr;

  Fixture() {
    std::string pattern = (std::filesystem::temp_directory_path() / "traind-capi-XXXXXX").string();
    directory = mkdtemp(pattern.data());
    setenv("XDG_STATE_HOME", directory.c_str(), 1);
    assert_int_equal(traind_config_new(&config), TRAIND_OK);
    assert_int_equal(traind_config_set(config, "traind", FAKE_DAEMON), TRAIND_OK);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() {
    traind_close(conn, nullptr);
    traind_config_free(config);
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }

  std::string embed() const { return "embed:" + directory + "/state"; }
  void Open() { OpenAt(embed()); }
  void OpenAt(const std::string& address) {
    int32_t code = traind_open(address.c_str(), config, &conn);
    if (code != TRAIND_OK) fprintf(stderr, "open: %s\n", traind_errmsg(conn));
    assert_int_equal(code, TRAIND_OK);
  }
  traind_stmt* Prepare(const char* text) {
    traind_stmt* stmt = nullptr;
    int32_t code = traind_prepare(conn, text, -1, &stmt, nullptr);
    if (code != TRAIND_OK) fprintf(stderr, "prepare: %s\n", traind_errmsg(conn));
    assert_int_equal(code, TRAIND_OK);
    return stmt;
  }
  // Runs a statement that gives no rows, or whose rows do not matter; the last code.
  int32_t Run(const char* text) {
    traind_stmt* stmt = Prepare(text);
    int32_t code = TRAIND_ROW;
    while (code == TRAIND_ROW) code = traind_step(stmt);
    traind_stmt_free(stmt);
    return code;
  }
};

inline std::string Text(traind_stmt* stmt, int32_t column) {
  const char* text = nullptr;
  int64_t length = 0;
  assert_int_equal(traind_column_text(stmt, column, &text, &length), TRAIND_OK);
  return text == nullptr ? "NULL" : std::string(text, static_cast<size_t>(length));
}
