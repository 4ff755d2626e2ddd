// guarded COMMAND…: runs a test that is a script, so that no process outlives it; and ends it with its
// starter.
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char** arguments) {
  if (count < 2) {
    fputs("usage: guarded COMMAND...\n", stderr);
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execvp(arguments[1], arguments + 1);
  perror(arguments[1]);
  return 127;
}
