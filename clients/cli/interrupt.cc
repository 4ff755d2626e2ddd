// Handlers touch only atomics, and traind_interrupt, which allows it.
#include "clients/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace traind::cli {
namespace {

std::atomic<traind_conn*> interruptible{nullptr};
std::atomic<int> seen{0};
std::atomic<bool> must_leave{false};

void OnSignal(int number) {
  if (seen.exchange(number) != 0) _exit(TRAIND_EXIT_SIGNAL + number);
  if (number != SIGINT) must_leave.store(true);
  if (traind_conn* conn = interruptible.load()) traind_interrupt(conn);
}

}  // namespace

void CatchSignals() {
  struct sigaction action {};
  action.sa_handler = OnSignal;  // without SA_RESTART: reads and waits shall return
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
  signal(SIGPIPE, SIG_IGN);
}

void SetInterruptible(traind_conn* conn) {
  interruptible.store(conn);
}

int SignalSeen() {
  return seen.load();
}

void ForgetSignal() {
  seen.store(0);
}

bool MustLeave() {
  return must_leave.load();
}

}  // namespace traind::cli
