// The Tab key: words that may stand at the cursor.
#pragma once

#include <string>

#include "capi/traind.h"

namespace traind::cli {

struct Completion {
  std::string insert;   // what is to be put in at the cursor
  std::string choices;  // if that is nothing: a list to show, or ""
};

// `text` is the statement so far, up to the cursor: keywords that the daemon's parser would take there, or
// the names of dot commands.
Completion CompleteWord(traind_conn* conn, const std::string& text);

}  // namespace traind::cli
