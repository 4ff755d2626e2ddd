// Arena: an anonymous mapping aligned to huge pages, asked to be of them, and touched once.
//
// Without that, the first touch of each 4 KiB page is a fault in the middle of a step.
#include "engine/device/cpu/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/device/cpu/machine.h"
#include "engine/tensor/tensor.h"

namespace traind {

namespace {

class HugeArena : public Arena {
 public:
  HugeArena(std::byte* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  ~HugeArena() override { munmap(data_, static_cast<size_t>(bytes_)); }
  HugeArena(const HugeArena&) = delete;
  HugeArena& operator=(const HugeArena&) = delete;

  std::byte* data() override { return data_; }
  int64_t bytes() const override { return bytes_; }

 private:
  std::byte* data_;
  int64_t bytes_;
};

Status OutOfMemory(int64_t bytes, const std::string& why) {
  return Status(ErrorCode::OUT_OF_MEMORY, "the arena needs " + std::to_string(bytes) + " bytes; " + why,
                "Free memory on this machine, or train a smaller model or batch.");
}

// A mapping of `bytes` that begins at a multiple of kArenaGranularity, or null.
std::byte* MapAligned(int64_t bytes) {
  const auto wanted = static_cast<size_t>(bytes), slack = static_cast<size_t>(kArenaGranularity);
  void* mapped = mmap(nullptr, wanted + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const size_t skipped = (slack - reinterpret_cast<uintptr_t>(begin) % slack) % slack;
  if (skipped > 0) munmap(begin, skipped);
  if (skipped < slack) munmap(begin + skipped + wanted, slack - skipped);
  return begin + skipped;
}

void Touch(std::byte* data, int64_t bytes, int threads) {
  constexpr int64_t kSmallestPage = 4096;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t offset = 0; offset < bytes; offset += kSmallestPage) {
    *static_cast<volatile std::byte*>(data + offset) = std::byte{0};
  }
}

}  // namespace

Result<std::unique_ptr<Arena>> AllocateHugeArena(int64_t bytes, int threads) {
  if (bytes < 1 || bytes > INT64_MAX / 2) {
    return Status(ErrorCode::INTERNAL, "an arena of " + std::to_string(bytes) + " bytes is asked for");
  }
  const int64_t rounded = AlignUp(bytes, kArenaGranularity);
  const int64_t free_bytes = Machine().FreeMemoryBytes();
  if (rounded > free_bytes) {
    return OutOfMemory(rounded, std::to_string(free_bytes) + " are free");
  }
  std::byte* data = MapAligned(rounded);
  if (data == nullptr) return OutOfMemory(rounded, std::string("mmap: ") + std::strerror(errno));
  // Advice: where huge pages are off, small ones serve.
  madvise(data, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  Touch(data, rounded, threads);
  return std::unique_ptr<Arena>(new HugeArena(data, rounded));
}

}  // namespace traind
