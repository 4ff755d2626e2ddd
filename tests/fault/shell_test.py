"""The shell at a real daemon: Ctrl-C anywhere, and state directories that others hold."""

import fcntl
import os
import signal
import subprocess

from fault_support import PATIENCE, check, eventually, run, traind, train

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def shell(*arguments, **environment):
    """trainql, with its streams in pipes."""
    return subprocess.Popen([os.path.join(traind.BIN, "trainql")] + list(arguments), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, **environment))


def finish(process):
    """Its exit code as a shell sees it, output and errors."""
    out, err = process.communicate(timeout=PATIENCE)
    code = process.returncode
    return (128 - code if code < 0 else code), out, err


def ctrl_c_ends_a_wait_and_not_the_job():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        process = shell("--socket", daemon.socket_path, "-c", train("j", 1000000, "WAIT") + "; CREATE MODEL n LIKE m")
        eventually(lambda: (client.cell("SELECT step FROM sys_jobs") or 0) > 0, "the job makes no steps")
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process)
        check(code == 130 and err.endswith("interrupted\n"), code, err)
        check(client.state("j") == "RUNNING", "the job is", client.state("j"))
        check(client.cell("SELECT count(*) FROM sys_models") == 1, "the script went on")
        daemon.stop()


def ctrl_c_ends_a_script():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        process = shell("--socket", daemon.socket_path, "-o", "csv", "-c", "CREATE MODEL n LIKE m; %s; CREATE MODEL o LIKE m" % ENDLESS)
        check(process.stdout.readline() == "name,architecture,parameters\n", "no answer to the first statement")
        process.send_signal(signal.SIGINT)  # the endless one runs, or is about to
        code, _, err = finish(process)
        check(code == 130, code, err)
        names = [name for (name,) in client.rows("SELECT name FROM sys_models ORDER BY name")]
        check(names == ["m", "n"], "the script went on:", names)
        daemon.stop()


def ctrl_c_while_the_daemon_starts():
    """A daemon that is slow to start: the shell leaves on SIGINT, and its private daemon does not stay."""
    with traind.Scratch() as scratch:
        directory = scratch / "bin"
        os.mkdir(directory)
        with open(directory + "/traind", "w") as file:
            file.write("#!/bin/sh\n: >%s\nsleep 1\nexec %s \"$@\"\n" % (scratch / "started", os.path.join(traind.BIN, "traind")))
        os.chmod(directory + "/traind", 0o700)
        process = shell("--embed", scratch / "state", "-c", "SELECT 1", TRAIND_BIN=directory)
        eventually(lambda: os.path.exists(scratch / "started"), "the daemon is not started")
        process.send_signal(signal.SIGINT)
        code, out, _ = finish(process)
        check(code == 130 and out == "", code, out)

        def free():  # the daemon has come and gone: it holds its lock while it lives
            if not os.path.exists(scratch / "state/catalog.db"):
                return False
            with open(scratch / "state/traind.lock") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                except OSError:
                    return False
        eventually(free, "the daemon stays")
        code, out, err = finish(shell("--embed", scratch / "state", "-o", "csv", "-c", "SELECT 1 AS x"))
        check(code == 0 and out == "x\n1\n", code, out, err)


def a_directory_that_a_program_holds():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state", embedded=True)
        client = daemon.start()
        code, out, err = finish(shell("--embed", scratch / "state", "-c", "SELECT 1"))
        check(code == 3 and out == "" and "STATE_IN_USE" in err, code, out, err)
        check("process %d, the private daemon of process %d" % (client.info["pid"], os.getpid()) in err, err)
        check(client.execute("SHOW JOBS").rows == [], "the first one is disturbed")
        daemon.stop(client)


def a_directory_that_a_daemon_leaves():
    """It is waited for, and the shell says so."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state", embedded=True)
        client = daemon.start()
        traind.set_up(client)
        client.execute(train("j", 1000000))
        eventually(lambda: (client.cell("SELECT step FROM sys_jobs") or 0) > 0, "the job makes no steps")
        worker = traind.worker_pids(scratch.path)[0]
        os.kill(worker, signal.SIGSTOP)  # so that leaving takes as long as we like
        client.close()
        with open(scratch / "state/traind.lock") as file:
            eventually(lambda: file.seek(0) == 0 and "which is leaving" in file.read(), "the daemon does not say that it leaves")
        process = shell("--embed", scratch / "state", "-o", "csv", "-c", "SELECT 1 AS x")
        check("note: waiting for process %d, which is leaving\n" % client.info["pid"] == process.stderr.readline(), "no note")
        os.kill(worker, signal.SIGCONT)
        code, out, err = finish(process)
        check(code == 0 and out == "x\n1\n", code, out, err)
        daemon.wait()


if __name__ == "__main__":
    run([ctrl_c_ends_a_wait_and_not_the_job, ctrl_c_ends_a_script, ctrl_c_while_the_daemon_starts,
         a_directory_that_a_program_holds, a_directory_that_a_daemon_leaves])
