// Makes a manual page: copies a template and puts a table in the place of each line `@name`.
//
// make_manual TEMPLATE PAGE
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "man/tables.h"

namespace traind::manual {
namespace {

int Make(const char* template_path, const char* page_path) {
  std::ifstream in(template_path);
  if (!in) {
    std::cerr << "make_manual: cannot read " << template_path << "\n";
    return 1;
  }
  std::string page;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.starts_with('@')) {
      page += line + "\n";
      continue;
    }
    const auto table = TableOf(line.substr(1));
    if (!table) {
      std::cerr << template_path << ":" << number << ": no table " << line << "\n";
      return 1;
    }
    page += *table;
  }
  std::ofstream out(page_path);
  out << page;
  out.close();
  if (out) return 0;
  std::cerr << "make_manual: cannot write " << page_path << "\n";
  return 1;
}

}  // namespace
}  // namespace traind::manual

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: make_manual TEMPLATE PAGE\n";
    return 2;
  }
  return traind::manual::Make(argv[1], argv[2]);
}
