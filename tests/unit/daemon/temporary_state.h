// A state directory of its own for a test, removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "daemon/catalog/catalog.h"
#include "tests/support/test.h"

namespace traind::testing {

class TemporaryState {
 public:
  TemporaryState() {
    const char* root = std::getenv("TMPDIR");
    std::string pattern = std::string(root ? root : "/tmp") + "/traind-state-XXXXXX";
    const char* made = mkdtemp(pattern.data());
    if (made == nullptr) std::abort();
    path_ = made;
  }
  ~TemporaryState() {
    catalog_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryState(const TemporaryState&) = delete;
  TemporaryState& operator=(const TemporaryState&) = delete;

  const std::string& path() const { return path_; }
  Status Open() {
    catalog_.reset();
    TRAIND_ASSIGN(catalog_, daemon::Catalog::Open(path_));
    return {};
  }
  void Close() { catalog_.reset(); }
  daemon::Catalog& catalog() { return *catalog_; }
  std::unique_ptr<daemon::Reader> NewReader() {
    auto reader = catalog_->OpenReader();
    if (!reader.ok()) std::abort();
    return *std::move(reader);
  }

 private:
  std::string path_;
  std::unique_ptr<daemon::Catalog> catalog_;
};

}  // namespace traind::testing
