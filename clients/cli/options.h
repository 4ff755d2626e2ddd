// The command line of trainql.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace traind::cli {

struct ScriptOption {
  bool is_file = false;  // -f: `text` is its name ("-": stdin)
  std::string text;
};

struct Options {
  std::vector<ScriptOption> scripts;  // in the order given
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string address;  // as traind_open takes it
  std::string format;   // empty: table
  bool wait = false;
  bool follow = false;
  bool check = false;
  bool version = false;
  bool help = false;
};

// Reads the arguments into `options`; the complaint if they are wrong, else "".
std::string ReadOptions(int count, char** arguments, Options* options);

// What --help prints.
std::string HelpText();

// The options as rows, for the manual.
struct OptionText {
  char letter;
  std::string_view name;
  std::string_view argument;  // empty: takes none
  std::string_view text;
};
std::vector<OptionText> AllOptions();

}  // namespace traind::cli
