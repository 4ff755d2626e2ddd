// A step allocates nothing of size: everything lies in the arena. Hooks on the allocators and on mmap count.
#include <dlfcn.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "tests/support/test.h"
#include "tests/unit/model/model_fixture.h"

namespace {

constexpr size_t kLarge = 64 << 10;

std::atomic<bool> counting = false;
std::atomic<long> large_allocations = 0;
std::atomic<size_t> largest = 0;

void Note(size_t bytes) {
  if (!counting || bytes <= kLarge) return;
  ++large_allocations;
  size_t known = largest;
  while (bytes > known && !largest.compare_exchange_weak(known, bytes)) {
  }
}

}  // namespace

// glibc's own names under its hooks; everything else, operator new and oneDNN included, goes through these.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

__attribute__((visibility("default"))) void* malloc(size_t bytes) {
  Note(bytes);
  return __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t bytes) {
  Note(count * bytes);
  return __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* old, size_t bytes) {
  Note(bytes);
  return __libc_realloc(old, bytes);
}
__attribute__((visibility("default"))) void* memalign(size_t alignment, size_t bytes) {
  Note(bytes);
  return __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) {
  Note(bytes);
  return __libc_memalign(alignment, bytes);
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment, size_t bytes) {
  Note(bytes);
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
__attribute__((visibility("default"))) void* mmap(void* address, size_t bytes, int protection, int flags,
                                                  int file, off_t offset) {
  static const auto real = reinterpret_cast<decltype(&mmap)>(dlsym(RTLD_NEXT, "mmap"));
  Note(bytes);
  return real(address, bytes, protection, flags, file, offset);
}
}

namespace traind::model {
namespace {

void HooksSeeAllocations(void**) {
  counting = true;
  void* volatile block = std::malloc(kLarge + 1);
  std::free(block);
  counting = false;
  assert_int_equal(large_allocations, 1);
  large_allocations = 0;
  largest = 0;
}

// From the very first step on, whose matrix products are still to be prepared.
void StepsAllocateNothingLarge(void**) {
  struct Case {
    ModelSpec model;
    plan::Strategy strategy;
    int64_t sequence_length;
  };
  ModelSpec wide = SmallLlama();
  wide.hidden_size = 256;
  wide.num_attention_heads = 8;
  wide.intermediate_size = 704;
  wide.vocab_size = 4000;
  ModelSpec tied = SmallLlama();
  tied.tie_word_embeddings = true;
  ModelSpec wide_gpt2 = SmallGpt2();
  wide_gpt2.hidden_size = 256;
  wide_gpt2.num_attention_heads = wide_gpt2.num_key_value_heads = 8;
  wide_gpt2.intermediate_size = 1024;
  wide_gpt2.vocab_size = 4000;
  wide_gpt2.max_position_embeddings = 128;
  const Case cases[] = {{SmallLlama(), {1, 4}, 32}, {SmallLlama(), {4, 1}, 64}, {wide, {2, 2}, 128},
                        {tied, {3, 1}, 17},         {SmallGpt2(), {2, 2}, 64},  {SmallQwen2(), {3, 1}, 17},
                        {wide_gpt2, {2, 2}, 128}};
  for (const Case& c : cases) {
    ModelFixture fixture(c.model, c.strategy, {.sequence_length = c.sequence_length});
    fixture.model->Initialize(1);
    counting = true;
    for (int64_t step = 1; step <= 3; ++step) {
      (void)fixture.Step(step, 1e-3, step);
      fixture.Fill(7, 0);
      (void)fixture.model->Run({plan::InstructionKind::kValidate});
    }
    counting = false;
    if (large_allocations != 0) {
      std::fprintf(stderr, "%ld allocations above %zu bytes, the largest %zu\n", large_allocations.load(),
                   kLarge, largest.load());
      fail();
    }
  }
}

}  // namespace
}  // namespace traind::model

int main() {
  using namespace traind::model;
  const CMUnitTest tests[] = {
      cmocka_unit_test(HooksSeeAllocations),
      cmocka_unit_test(StepsAllocateNothingLarge),
  };
  return cmocka_run_group_tests_name("allocation", tests, nullptr, nullptr);
}
