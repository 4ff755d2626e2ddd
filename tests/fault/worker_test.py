"""Workers that die, hang or fail: at random steps, at every fault point, at once and every time."""

import glob
import os
import re
import signal
import time

from fault_support import (RANDOM, check, check_jobs, check_same, count, eventually, golden, losses, promise, run,
                           traind, train)

STEPS = 200
BATCH = "4Ki"  # steps long enough that something can happen between the first and the last


def worker_of(scratch):
    eventually(lambda: traind.worker_pids(scratch.path), "no worker came", 0.005)
    return traind.worker_pids(scratch.path)[0]


def kill_at_random_steps():
    """SIGKILL, twice in each job: noticed in 1 s, started again in 5 s, the same bits as without."""
    expected, noticed, restarted = golden(STEPS, BATCH), [], []
    for _ in range(count(2)):
        with traind.Scratch() as scratch:
            daemon = traind.Daemon(scratch / "state")
            client = daemon.start()
            traind.set_up(client)
            client.execute(train("j", STEPS, batch=BATCH))
            for attempt in (1, 2):
                pid, step = worker_of(scratch), RANDOM.randrange(0, STEPS // 3 * attempt)
                eventually(lambda: client.cell("SELECT step FROM sys_jobs") >= step, "no steps come", 0.005)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    break  # it was done already
                killed = time.monotonic()
                outcome = "SELECT outcome FROM sys_attempts WHERE attempt = %d" % attempt
                eventually(lambda: client.cell(outcome) is not None, "the death is not noticed", 0.01)
                if client.cell(outcome) != "WORKER_DIED":
                    break  # it was done already
                noticed.append(time.monotonic() - killed)
                eventually(lambda: client.cell("SELECT count(*) FROM sys_attempts") > attempt, "no further attempt", 0.01)
                restarted.append(time.monotonic() - killed)
            client.wait_state("j", ["SUCCEEDED"])
            check_same(expected, losses(client), "the losses")
            check_jobs(client)
            daemon.stop()
    check(noticed, "no worker was killed while it ran")
    promise(max(noticed), 1, "noticed after s:")
    promise(max(restarted), 5, "started again after s:")
    return "%d kills, noticed in %.2f s, again in %.2f s at most" % (len(noticed), max(noticed), max(restarted))


def every_fault_point():
    """Each point of a worker, killed there once: the job ends well, with the same bits."""
    steps = 60
    expected = golden(steps)
    table = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../engine/base/fault.def")
    with open(table) as file:
        points = re.findall(r"^F\((\w+), \"(.*)\"\)", file.read(), re.M)
    in_workers = [name for name, text in points if not text.startswith(("the daemon", "the writer"))]
    check(len(in_workers) >= 7, in_workers)
    for point in in_workers:
        with traind.Scratch() as scratch:
            once = scratch / "once"
            passes = RANDOM.randrange(1, 40) if point == "worker_step" else 1
            daemon = traind.Daemon(scratch / "state", environment={
                "TRAIND_FAULT": "%s:%d=kill" % (point, passes), "TRAIND_FAULT_ONCE": once})
            # The daemon publishes too (its pid file): it is started without the variable, its workers get it.
            client = start_with_worker_fault(daemon, scratch)
            traind.set_up(client)
            client.execute(train("j", steps))
            client.wait_state("j", ["SUCCEEDED"])
            check(os.path.exists(once), point, "was not passed")
            check_same(expected, losses(client), "the losses after " + point)
            check_jobs(client)
            daemon.stop()
            left = glob.glob(scratch / "state/cache/.tmp-*")
            check(not left, "temporaries of a dead worker stay:", left)
    return ", ".join(in_workers)


def start_with_worker_fault(daemon, scratch):
    """A daemon whose workers alone have its environment: a script stands for traind-worker."""
    directory = scratch / "bin"
    os.mkdir(directory)
    os.link(os.path.join(traind.BIN, "traind"), directory + "/traind") if same_device(directory) else copy(directory)
    variables = " ".join("%s=%s" % (key, value) for key, value in daemon.environment.items())
    with open(directory + "/traind-worker", "w") as file:
        file.write("#!/bin/sh\n[ \"$1\" = --probe ] || export %s\nexec %s \"$@\"\n"
                   % (variables, os.path.join(traind.BIN, "traind-worker")))
    os.chmod(directory + "/traind-worker", 0o700)
    daemon.binary, daemon.environment = directory + "/traind", {}
    return daemon.start()


def same_device(directory):
    return os.stat(directory).st_dev == os.stat(traind.BIN).st_dev


def copy(directory):
    import shutil
    shutil.copy(os.path.join(traind.BIN, "traind"), directory + "/traind")


def stopped_worker_is_hung():
    """SIGSTOP: noticed within its deadline and a second, killed by group, started again, the same bits."""
    expected = golden(STEPS, BATCH)
    scale = 0.05  # deadlines of at least 1.5 s instead of 30 s
    said = []
    for _ in range(count(1)):
        with traind.Scratch() as scratch:
            daemon = traind.Daemon(scratch / "state", environment={"TRAIND_DEADLINE_SCALE": str(scale)})
            client = daemon.start()
            traind.set_up(client)
            client.execute(train("j", STEPS, batch=BATCH))
            client.wait_state("j", ["RUNNING"])
            # Its second heartbeat, a second after its start, has the deadlines of its steps.
            time.sleep(RANDOM.uniform(1.2, 2.0))
            pid = worker_of(scratch)
            os.kill(pid, signal.SIGSTOP)
            stopped = time.monotonic()
            of_first = "SELECT outcome FROM sys_attempts WHERE attempt = 1"
            eventually(lambda: client.cell(of_first) is not None, "the hang is not noticed")
            outcome = client.cell(of_first)
            said.append(time.monotonic() - stopped)
            check(outcome == "WORKER_HUNG", outcome)
            detail = client.cell("SELECT detail FROM sys_events WHERE kind = 'retry'")
            check("rank 0" in detail and '"' in detail, "the report names neither rank nor operation:", detail)
            client.wait_state("j", ["SUCCEEDED"])
            check_same(expected, losses(client), "the losses")
            daemon.stop()
    # A step's deadline is 30 s × 4 for the first of its kind; files have 120 s.
    promise(max(said), 120 * scale + 2, "noticed after s:")
    return "noticed in %.1f s at most" % max(said)


def failing_at_once_uses_its_retries():
    """A worker that dies at its start, every time: exactly the retries, over the daemon's restarts too."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state", environment={"TRAIND_FAULT": "worker_start=kill"})
        client = start_with_worker_fault(daemon, scratch)
        traind.set_up(client)
        client.execute(train("j", 50, "RETRY 2 TIMES"))
        while client.cell("SELECT count(*) FROM sys_events WHERE kind = 'retry'") < 1:
            time.sleep(0.02)
        daemon.crash()
        client = daemon.start()
        client.wait_state("j", ["FAILED"])
        reason = client.cell("SELECT reason FROM sys_jobs")
        check(reason.startswith("WORKER_DIED") and "2 retries" in reason, reason)
        died = client.cell("SELECT count(*) FROM sys_attempts WHERE outcome = 'WORKER_DIED'")
        check(died == 3, died, "attempts died")
        client.execute("RETRY JOB j")  # the user's own: a fresh count
        client.wait_state("j", ["FAILED"])
        check(client.cell("SELECT count(*) FROM sys_attempts WHERE outcome = 'WORKER_DIED'") == 6, "not 6 attempts")
        daemon.stop()


def errors_at_fault_points():
    """Each point of a worker fails once with an I/O error: a retry, then success with the same bits."""
    steps = 60
    expected = golden(steps)
    for point in ["publish_before_rename", "publish_after_rename", "checkpoint_shard", "checkpoint_manifest",
                  "worker_start", "worker_step"]:
        with traind.Scratch() as scratch:
            daemon = traind.Daemon(scratch / "state", environment={
                "TRAIND_FAULT": point + "=error", "TRAIND_FAULT_ONCE": scratch / "once"})
            client = start_with_worker_fault(daemon, scratch)
            traind.set_up(client)
            client.execute(train("j", steps))
            client.wait_state("j", ["SUCCEEDED"])
            check(os.path.exists(scratch / "once"), point, "was not passed")
            check_same(expected, losses(client), "the losses after " + point)
            daemon.stop()


def a_loud_worker_is_cut_short():
    """Its output goes to a file of bounded size; nothing waits for a reader."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        directory = scratch / "bin"
        os.mkdir(directory)
        copy(directory)
        with open(directory + "/traind-worker", "w") as file:
            file.write("#!/bin/sh\nif [ \"$1\" != --probe ]; then (timeout 3 yes 'a line of output that nobody reads' >&2; "
                       "echo last >&2) 3>&- & fi\nexec %s \"$@\"\n" % os.path.join(traind.BIN, "traind-worker"))
        os.chmod(directory + "/traind-worker", 0o700)
        daemon.binary = directory + "/traind"
        client = daemon.start()
        traind.set_up(client)
        client.execute(train("j", 3000))
        path = scratch / "state/jobs/1/worker.log"
        largest, end = 0, time.monotonic() + 4
        while time.monotonic() < end:
            if os.path.exists(path):
                largest = max(largest, os.path.getsize(path))
            time.sleep(0.05)
        time.sleep(2.5)
        size = os.path.getsize(path)
        check(size <= 17 << 20, "worker.log has", size, "bytes")
        check(client.state("j") in ("RUNNING", "SUCCEEDED"), client.state("j"))
        client.execute("CANCEL JOB j")
        client.wait_state("j", ["CANCELLED"])
        daemon.stop()
        return "at most %d MiB, then %d MiB" % (largest >> 20, size >> 20)


if __name__ == "__main__":
    run([kill_at_random_steps, every_fault_point, stopped_worker_is_hung, failing_at_once_uses_its_retries,
         errors_at_fault_points, a_loud_worker_is_cut_short])
