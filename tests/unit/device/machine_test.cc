// What is read from /proc and the control groups, on made-up trees of files.
#include "engine/device/cpu/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/test.h"

namespace traind {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A root directory for Machine that is gone with the object.
class Root {
 public:
  Root() {
    char name[] = "/tmp/traind-machine-XXXXXX";
    path_ = mkdtemp(name);
    Write("/proc/meminfo", "MemTotal:       8192 kB\nMemFree:   1 kB\nMemAvailable:   4096 kB\n");
  }
  ~Root() { std::filesystem::remove_all(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + file).parent_path());
    std::ofstream(path_ + file) << text;
  }
  Machine machine() const { return Machine(path_); }

 private:
  std::string path_;
};

void WithoutControlGroups(void**) {
  const Root root;
  assert_int_equal(root.machine().InstalledMemoryBytes(), 8 * kMiB);
  assert_int_equal(root.machine().FreeMemoryBytes(), 4 * kMiB);
  assert_int_equal(root.machine().AllowedThreads(), Machine::AffinityProcessors());
  assert_true(!root.machine().CpuModelName().empty());
  assert_text(root.machine().MachineId(), "");
}

void NamesOfTheMachine(void**) {
  const Root root;
  root.Write("/proc/cpuinfo", "processor : 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n");
  root.Write("/etc/machine-id", "0123abcd\n");
  assert_text(root.machine().CpuModelName(), "Some CPU @ 2 GHz");
  assert_text(root.machine().MachineId(), "0123abcd");
}

void Version2LimitsOfParentsCount(void**) {
  const Root root;
  root.Write("/proc/self/cgroup", "0::/user/job\n");
  root.Write("/sys/fs/cgroup/user/memory.max", "3145728\n");
  root.Write("/sys/fs/cgroup/user/memory.current", "2097152\n");
  root.Write("/sys/fs/cgroup/user/memory.stat", "anon 1\nactive_file 524288\ninactive_file 524288\n");
  root.Write("/sys/fs/cgroup/user/job/memory.max", "max\n");
  assert_int_equal(root.machine().InstalledMemoryBytes(), 3 * kMiB);
  assert_int_equal(root.machine().FreeMemoryBytes(), 2 * kMiB);
}

void Version2QuotaIsRoundedUp(void**) {
  const Root root;
  root.Write("/proc/self/cgroup", "0::/a\n");
  root.Write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  assert_int_equal(root.machine().AllowedThreads(), Machine::AffinityProcessors());
  root.Write("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
  assert_int_equal(root.machine().AllowedThreads(), 1);
  root.Write("/sys/fs/cgroup/a/cpu.max", "10000 100000\n");
  assert_int_equal(root.machine().AllowedThreads(), 1);
  root.Write("/sys/fs/cgroup/a/cpu.max", "110000 100000\n");
  assert_int_equal(root.machine().AllowedThreads(), Machine::AffinityProcessors() < 2 ? 1 : 2);
}

void Version1(void**) {
  const Root root;
  root.Write("/proc/self/cgroup", "4:memory:/box\n3:cpu,cpuacct:/box\n1:name=systemd:/\n");
  root.Write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2097152\n");
  root.Write("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1572864\n");
  root.Write("/sys/fs/cgroup/memory/box/memory.stat", "total_active_file 0\ntotal_inactive_file 524288\n");
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  root.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  assert_int_equal(root.machine().InstalledMemoryBytes(), 2 * kMiB);
  assert_int_equal(root.machine().FreeMemoryBytes(), kMiB);
  assert_int_equal(root.machine().AllowedThreads(), Machine::AffinityProcessors());
  root.Write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n");
  assert_int_equal(root.machine().AllowedThreads(), 1);
}

void DamagedFilesLimitNothing(void**) {
  const Root root;
  root.Write("/proc/self/cgroup", "nonsense\n0::\n0::/a\n");
  root.Write("/sys/fs/cgroup/a/memory.max", "lots\n");
  root.Write("/sys/fs/cgroup/a/cpu.max", "\n");
  assert_int_equal(root.machine().InstalledMemoryBytes(), 8 * kMiB);
  assert_int_equal(root.machine().AllowedThreads(), Machine::AffinityProcessors());
}

void ThisMachine(void**) {
  const Machine machine;
  assert_true(machine.InstalledMemoryBytes() > 64 * kMiB);
  assert_true(machine.FreeMemoryBytes() > 0 && machine.FreeMemoryBytes() <= machine.InstalledMemoryBytes());
  assert_true(machine.ResidentBytes() > kMiB && machine.ResidentBytes() <= machine.PeakResidentBytes());
}

}  // namespace
}  // namespace traind

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(traind::WithoutControlGroups),
      cmocka_unit_test(traind::NamesOfTheMachine),
      cmocka_unit_test(traind::Version2LimitsOfParentsCount),
      cmocka_unit_test(traind::Version2QuotaIsRoundedUp),
      cmocka_unit_test(traind::Version1),
      cmocka_unit_test(traind::DamagedFilesLimitNothing),
      cmocka_unit_test(traind::ThisMachine),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
