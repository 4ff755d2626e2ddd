"""A full disk, on a small file system of its own: jobs stall and go on, statements are refused, nothing is lost."""

import os
import subprocess
import sys
import time

from fault_support import promise, check, check_jobs, check_same, golden, losses, run, traind, train

STEPS = 120


class FullDisk:
    """A tmpfs of a few megabytes, visible to this process and its children alone."""

    def __init__(self, megabytes):
        self.megabytes = megabytes

    def __enter__(self):
        self.scratch = traind.Scratch().__enter__()
        code = os.system("mount -t tmpfs -o size=%dm,mode=700 traind-test %s" % (self.megabytes, self.scratch.path))
        check(code == 0, "no tmpfs can be mounted")
        return self

    def __exit__(self, *_):
        for pid in traind.worker_pids(self.scratch.path):
            os.kill(pid, 9)
        os.system("umount -l %s" % self.scratch.path)
        os.rmdir(self.scratch.path)

    def fill(self, leave=0):
        """Takes all space but `leave` bytes."""
        with open(self.scratch / "ballast", "wb", buffering=0) as file:
            try:
                while True:
                    free = os.statvfs(self.scratch.path)
                    left = free.f_bavail * free.f_frsize - leave
                    if left <= 0:
                        break
                    file.write(b"\0" * min(left, 1 << 20))
            except OSError:
                pass

    def free(self):
        os.remove(self.scratch / "ballast")


def checkpoints_that_do_not_fit():
    """The job stalls with its reason, and goes on within 10 s after space has returned, with the same bits."""
    expected = golden(STEPS)
    with FullDisk(40) as disk:
        daemon = traind.Daemon(disk.scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        client.execute(train("j", STEPS))
        while not client.cell("SELECT count(*) FROM sys_checkpoints"):
            time.sleep(0.02)
        disk.fill(leave=1000000)  # a checkpoint has 1.5 MB; the catalog needs the rest
        state = client.wait_state("j", ["STALLED", "SUCCEEDED", "FAILED"])
        check(state == "STALLED", "it is", state, client.cell("SELECT reason FROM sys_jobs"))
        reason = client.cell("SELECT reason FROM sys_jobs")
        check(reason.startswith("DISK_FULL"), reason)
        disk.free()
        freed = time.monotonic()
        client.wait_state("j", ["PREPARING", "RUNNING", "SUCCEEDED"])
        again = time.monotonic() - freed
        client.wait_state("j", ["SUCCEEDED"])
        promise(again, 10, "it went on after s:")
        check_same(expected, losses(client), "the losses")
        check_jobs(client)
        check(client.cell("SELECT count(*) FROM sys_events WHERE kind = 'retry'") == 0, "a retry was used up")
        daemon.stop()
    return "went on after %.1f s" % again


def a_checkpoint_that_is_asked_for():
    """CHECKPOINT JOB while nothing fits: an event answers it and the request is closed; the run goes on, and the
    next one that is asked for, with space, is there."""
    with FullDisk(40) as disk:
        daemon = traind.Daemon(disk.scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        client.execute("%s AS j CHECKPOINT EVERY 1h FOR 100000 STEPS" % traind.TRAIN)
        client.wait_state("j", ["RUNNING"])
        while not client.cell("SELECT step FROM sys_jobs"):
            time.sleep(0.02)
        disk.fill(leave=600000)  # a checkpoint has 1.5 MB
        request = client.execute("CHECKPOINT JOB j").dicts()[0]["request"]
        check(request == "checkpoint", request)
        warnings = "SELECT detail FROM sys_events WHERE kind = 'warning'"
        end = time.monotonic() + 30
        while not client.rows(warnings):
            check(time.monotonic() < end, "nobody answers")
            time.sleep(0.02)
        detail = client.cell(warnings)
        check("that was asked for could not be written: DISK_FULL" in detail, detail)
        check(client.state("j") == "RUNNING", client.state("j"))
        disk.free()
        # It would not be taken up if the first request were still open.
        client.execute("CHECKPOINT JOB j")
        while not client.cell("SELECT count(*) FROM sys_checkpoints WHERE state = 'complete'"):
            check(time.monotonic() < end + 30, "no checkpoint with space")
            time.sleep(0.02)
        client.execute("CANCEL JOB j")
        client.wait_state("j", ["CANCELLED"])
        check_jobs(client)
        daemon.stop()


def statements_on_a_full_disk():
    """What cannot be kept is refused with DISK_FULL; what was acknowledged stays; reading goes on."""
    with FullDisk(24) as disk:
        daemon = traind.Daemon(disk.scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        disk.fill()
        refused, made = 0, []
        for i in range(3000):
            try:
                client.execute("CREATE MODEL full%d LIKE m" % i)
                made.append("full%d" % i)
            except traind.TraindError as error:
                check(error.name == "DISK_FULL", error)
                refused += 1
                if refused == 3:
                    break
        check(refused == 3, "nothing was refused;", len(made), "were made")
        check(client.rows("SHOW MODELS"), "reading does not work")
        disk.free()
        client.execute("CREATE MODEL after LIKE m")
        daemon.crash()
        client = daemon.start()
        names = {row[0] for row in client.rows("SELECT name FROM sys_models")}
        check(names.issuperset(made + ["m", "after"]), "lost:", set(made) - names)
        daemon.stop()
    return "%d made before the first refusal" % len(made)


def start_on_a_full_disk():
    """A new state directory where nothing fits: an error that says so; with space, the daemon starts."""
    with FullDisk(4) as disk:
        disk.fill()
        daemon = traind.Daemon(disk.scratch / "state").spawn()
        code = daemon.process.wait(300)
        text = daemon.errors()
        check(code == 3 and "DISK_FULL" in text, code, text)
        disk.free()
        client = traind.Daemon(disk.scratch / "state")
        check(client.start().rows("SHOW MODELS") == [], "it does not start afterwards")
        client.stop()


def submission_on_a_full_disk():
    """A job whose files cannot be written stalls at its start and goes on later."""
    with FullDisk(40) as disk:
        daemon = traind.Daemon(disk.scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        disk.fill(leave=1000000)
        client.execute(train("j", 60))
        client.wait_state("j", ["STALLED"])
        disk.free()
        client.wait_state("j", ["SUCCEEDED"])
        check_jobs(client)
        daemon.stop()


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: a file system of its own needs root")
        sys.exit(0)
    if os.environ.get("TRAIND_OWN_MOUNTS") is None:
        os.environ["TRAIND_OWN_MOUNTS"] = "1"
        for propagation in ["private", "unchanged"]:  # the root of a chroot is no mount that could be private
            own_mounts = ["unshare", "-m", "--propagation", propagation]
            if subprocess.run(own_mounts + ["true"], stderr=subprocess.DEVNULL).returncode == 0:
                os.execvp("unshare", own_mounts + [sys.executable] + sys.argv)
        print("skipped: no mounts of its own are allowed here")
        sys.exit(0)
    run([checkpoints_that_do_not_fit, a_checkpoint_that_is_asked_for, statements_on_a_full_disk, start_on_a_full_disk, submission_on_a_full_disk])
