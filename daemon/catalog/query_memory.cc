// A bound on the memory of one query, from inside SQLite's allocator.
#include "daemon/catalog/query_memory.h"

#include <sqlite3.h>

namespace traind::daemon {
namespace {

// The query that runs on this thread; null on the writer's, and between queries.
thread_local QueryMemory* current_query = nullptr;

// SQLite's own methods, set once before any of ours can be called.
sqlite3_mem_methods standard;

void* Allocate(int bytes) {
  if (current_query != nullptr && !current_query->Take(bytes)) return nullptr;
  return standard.xMalloc(bytes);
}

void Free(void* memory) {
  if (current_query != nullptr && memory != nullptr) current_query->Give(standard.xSize(memory));
  standard.xFree(memory);
}

void* Reallocate(void* memory, int bytes) {
  if (current_query == nullptr) return standard.xRealloc(memory, bytes);
  const int before = memory == nullptr ? 0 : standard.xSize(memory);
  if (!current_query->Take(bytes - before)) return nullptr;
  return standard.xRealloc(memory, bytes);
}

bool InstallOnce() {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &standard) != SQLITE_OK) return false;
  sqlite3_mem_methods ours = standard;
  ours.xMalloc = &Allocate;
  ours.xFree = &Free;
  ours.xRealloc = &Reallocate;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) == SQLITE_OK;
}

}  // namespace

QueryMemory::QueryMemory(int64_t most_bytes, const std::atomic<bool>* interrupted)
    : most_bytes_(most_bytes), interrupted_(interrupted) {
  current_query = this;
}

QueryMemory::~QueryMemory() {
  current_query = nullptr;
}

void QueryMemory::Install() {
  static const bool installed = InstallOnce();
  (void)installed;
}

bool QueryMemory::Take(int64_t bytes) {
  if (bytes > 0 && interrupted_->load(std::memory_order_relaxed)) return false;
  if (bytes > 0 && used_ + bytes > most_bytes_) {
    exceeded_ = true;
    return false;
  }
  used_ += bytes;
  return true;
}

}  // namespace traind::daemon
