"""What the fault tests share: counts by tier, a golden run, and the invariants that hold after any crash."""

import functools
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import traind_daemon as traind  # noqa: E402

# How long things take is held on a quiet machine only (TRAIND_FAULT_TIMES=1); a commit's tests pass at any speed.
TIMES = os.environ.get("TRAIND_FAULT_TIMES") == "1"
PATIENCE = 300  # seconds until a test gives up waiting for what must come
# Every commit runs a tier that takes seconds; TRAIND_FAULT_SCALE=10 is the nightly one, and so on.
SCALE = float(os.environ.get("TRAIND_FAULT_SCALE", "1"))
SEED = int(os.environ.get("TRAIND_FAULT_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 30)
RANDOM = random.Random(SEED)


def count(small):
    return max(int(small * SCALE), 1)


def train(name, steps, more="", batch="1Ki"):
    return "%s AS %s CHECKPOINT EVERY 25 STEPS FOR %d STEPS %s" % (
        traind.TRAIN.replace("1Ki", batch), name, steps, more)


def losses(client, job="j"):
    return client.rows("SELECT m.step, m.loss, m.grad_norm FROM sys_metrics m JOIN sys_jobs j ON j.id = m.job "
                       "WHERE j.name = '%s' ORDER BY m.step" % job)


@functools.lru_cache(None)
def golden(steps, batch="1Ki"):
    """The losses of an undisturbed run."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        client.execute(train("j", steps, "WAIT", batch))
        rows = losses(client)
        daemon.stop()
        assert len(rows) == steps, len(rows)
        return rows


def check(condition, *words):
    if not condition:
        raise AssertionError(" ".join(str(word) for word in words))


def promise(took, most, what):
    """A promise about time, in seconds or milliseconds."""
    check(not TIMES or took <= most, what, took, "; promised is", most)


def eventually(condition, what, pause=0.02):
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(pause)


def check_same(expected, got, what):
    check(len(expected) == len(got), what, "has", len(got), "rows, not", len(expected))
    for one, other in zip(expected, got):
        check(one == other, what, "differs at step", one[0], ":", other, "instead of", one)


def check_jobs(client):
    """Invariants of the catalog that hold at any time."""
    twice = client.rows("SELECT a.job, a.attempt, b.attempt FROM sys_attempts a JOIN sys_attempts b ON a.job = b.job "
                        "AND a.attempt < b.attempt AND b.started_at < coalesce(a.ended_at, 1e18)")
    check(not twice, "attempts overlap:", twice)
    gaps = client.rows("SELECT job, count(*), max(step) FROM sys_metrics GROUP BY job HAVING count(*) <> max(step)")
    check(not gaps, "metrics have gaps:", gaps)
    versions = client.rows("SELECT path FROM sys_versions")
    for (path,) in versions:
        check(os.path.isfile(path + "/config.json"), "a version is no model directory:", path)
        check(os.path.isfile(path + "/model.safetensors"), "a version has no weights:", path)


def run(tests):
    """Runs the test functions named on the command line, or all; exit code 1 if one fails."""
    chosen = [test for test in tests if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    failed = 0
    print("seed %d, scale %g" % (SEED, SCALE), flush=True)
    for test in chosen:
        began = time.monotonic()
        try:
            said = test()
            print("ok    %s (%.1f s)%s" % (test.__name__, time.monotonic() - began, ": " + said if said else ""),
                  flush=True)
        except Exception as error:  # the other tests still run
            failed += 1
            print("FAIL  %s (%.1f s): %s: %s" % (test.__name__, time.monotonic() - began, type(error).__name__, error),
                  flush=True)
            if os.environ.get("TRAIND_FAULT_TRACE"):
                import traceback
                traceback.print_exc()
    sys.exit(1 if failed else 0)
