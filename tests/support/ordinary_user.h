// Giving up root's rights for a while, so that tests of permissions hold wherever they run.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace traind::testing {

// While it lives, file accesses have no special rights: root acts as nobody.
class OrdinaryUser {
 public:
  OrdinaryUser() {
    constexpr uid_t kNobody = 65534;
    if (geteuid() != 0) return;
    if (seteuid(kNobody) != 0) std::abort();
    switched_ = true;
  }
  ~OrdinaryUser() {
    if (switched_ && seteuid(0) != 0) std::abort();
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  bool switched_ = false;
};

}  // namespace traind::testing
