// The program's own operator new, which fails when told to, and counts what is not given back.
//
// Linking failing_new.cc replaces the allocation functions of the whole program. An allocation fails by
// throwing std::bad_alloc, as the real one does.
#pragma once

#include <cstdint>
#include <functional>

namespace traind::testing {

enum class Failed {
  kNot,   // the work makes fewer allocations
  kHeld,  // and gave everything back
  kLeaked
};
// Runs `work` with its `number`-th allocation failing. What it makes once and for all must be there already.
Failed RunFailing(const std::function<void()>& work, int64_t number);

// Runs `work` with its first allocation failing, then with its second, and so on, until it ends without
// having reached one that fails. bad_alloc may leave `work`; whatever it does, nothing may be left allocated:
// the number of the first failure after which something is, 0 if there is none. `work` frees what it makes.
// *count, if it is not null, becomes the number of allocations that `work` makes.
int64_t FirstLeakingFailure(const std::function<void()>& work, int64_t* count);

}  // namespace traind::testing
