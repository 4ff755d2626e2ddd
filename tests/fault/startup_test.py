"""What a user can get wrong around the daemon's start, and how it ends: two daemons, files in the way, signals."""

import os
import signal
import socket
import struct
import subprocess
import time

from fault_support import PATIENCE, check, eventually, promise, run, traind, train


def refused(daemon, name, *words):
    """The daemon must leave with exit code 3 and an error that says so."""
    daemon.spawn()
    code = daemon.process.wait(PATIENCE)
    text = daemon.errors()
    check(code == 3, "exit code", code, text)
    check(text.startswith("traind: %s: " % name), text)
    for word in words:
        check(word in text, word, "is missing in:", text)
    daemon.process.stdout.close()
    daemon.process.stderr.close()


def two_daemons():
    with traind.Scratch() as scratch:
        first = traind.Daemon(scratch / "state")
        client = first.start()
        pid = client.info["pid"]
        refused(traind.Daemon(scratch / "state"), "STATE_IN_USE", str(pid))
        check(client.execute("SHOW JOBS").rows == [], "the first one is disturbed")
        embedded = traind.Daemon(scratch / "state", embedded=True).spawn()
        try:
            traind.Client(embedded.pair)
            raise AssertionError("a second daemon serves")
        except traind.TraindError as error:
            check(error.name == "STATE_IN_USE" and str(pid) in str(error), error)
        embedded.wait()
        first.stop()


def stale_socket():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        daemon.start()
        daemon.crash()
        check(os.path.exists(daemon.socket_path), "no stale socket to test with")
        client = daemon.start()
        check(client.execute("SHOW JOBS").rows == [], "no answer")
        check(os.stat(daemon.socket_path).st_mode & 0o777 == 0o600, "the socket is not private")
        check(open(scratch / "state/traind.pid").read().strip() == str(client.info["pid"]), "wrong pid file")
        daemon.stop()
        check(not os.path.exists(daemon.socket_path), "the socket stays")
        check(not os.path.exists(scratch / "state/traind.pid"), "the pid file stays")


def files_in_the_way():
    with traind.Scratch() as scratch:
        state = scratch / "state"
        os.mkdir(state, 0o700)
        with open(state + "/traind.sock", "w") as file:
            file.write("mine")
        refused(traind.Daemon(state), "STATE_UNUSABLE", "traind.sock")
        check(open(state + "/traind.sock").read() == "mine", "a foreign file was touched")
        os.remove(state + "/traind.sock")
        os.symlink(scratch / "elsewhere.sock", state + "/traind.sock")
        refused(traind.Daemon(state), "STATE_UNUSABLE", "traind.sock")
        os.remove(state + "/traind.sock")
        os.mkdir(scratch / "open")
        os.chmod(scratch / "open", 0o777)
        refused(traind.Daemon(scratch / "open"), "STATE_UNUSABLE", "chmod")
        refused(traind.Daemon(scratch / "open/below"), "STATE_UNUSABLE", "chmod")
        refused(traind.Daemon(scratch / ("long/" * 30)), "STATE_UNUSABLE", "107")
        with open(scratch / "file", "w") as file:
            file.write("x")
        refused(traind.Daemon(scratch / "file"), "STATE_UNUSABLE")


def damaged_catalog():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        daemon.stop()
        path = scratch / "state/catalog.db"
        with open(path, "r+b") as file:
            file.seek(0)
            file.write(b"this is no database " * 100)
        before = open(path, "rb").read()
        daemon.spawn()
        code = daemon.process.wait(PATIENCE)
        text = daemon.errors()
        check(code == 3 and "catalog.db" in text, code, text)
        check(open(path, "rb").read() == before, "the damaged file was changed")


def wrong_arguments():
    for arguments in (["--nonsense"], ["--state"], ["--embedded"], ["--idle-exit", "soon"]):
        done = subprocess.run([os.path.join(traind.BIN, "traind")] + arguments, capture_output=True, text=True, timeout=PATIENCE)
        check(done.returncode == 2, arguments, done.returncode, done.stderr)
        check(arguments[0] in done.stderr, done.stderr)
    done = subprocess.run([os.path.join(traind.BIN, "traind"), "--version"], capture_output=True, text=True, timeout=PATIENCE)
    check(done.returncode == 0 and done.stdout.startswith("traind "), done)
    done = subprocess.run([os.path.join(traind.BIN, "traind"), "--help"], capture_output=True, text=True, timeout=PATIENCE)
    check(done.returncode == 0 and "--state" in done.stdout, done)


def another_user():
    if os.geteuid() != 0:
        return "skipped: needs root"
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        daemon.start()
        os.chmod(scratch.path, 0o711)  # as if the permissions were not there to keep him out
        os.chmod(scratch / "state", 0o711)
        os.chmod(daemon.socket_path, 0o666)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgid(12345)
            os.setuid(12345)
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(daemon.socket_path)
            os.write(writer, connection.recv(4096))
            os._exit(0)
        os.close(writer)
        answer = os.read(reader, 4096)
        os.waitpid(child, 0)
        check(b"PEER_REFUSED" in answer, answer)
        check(daemon.connect().execute("SHOW JOBS").rows == [], "its own user is refused too")
        daemon.stop()


def graceful_stop():
    """SIGTERM and SIGINT: the job is saved and queued again, exit code 0; the next daemon goes on."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with traind.Scratch() as scratch:
            daemon = traind.Daemon(scratch / "state")
            client = daemon.start()
            traind.set_up(client)
            client.execute(train("j", 1000000))
            client.wait_state("j", ["RUNNING"])
            eventually(lambda: (client.cell("SELECT step FROM sys_jobs") or 0) >= 30, "no 30 steps come")
            began = time.monotonic()
            daemon.kill(number)
            code = daemon.wait()
            took = time.monotonic() - began
            check(code == 0, "exit code", code)
            promise(took, 10, "left after s:")
            check(not traind.worker_pids(scratch.path), "a worker lives on")
            client = daemon.start()
            check(client.cell("SELECT outcome FROM sys_attempts WHERE attempt = 1") == "shutdown", "no clean end")
            saved = client.cell("SELECT max(step) FROM sys_checkpoints")
            check(saved and saved >= 30, "saved at", saved)
            client.wait_state("j", ["RUNNING"])
            detail = client.rows("SELECT detail FROM sys_events WHERE detail LIKE 'RUNNING%'")[-1][0]
            check("from step %d" % saved in detail, detail)
            check(client.cell("SELECT count(*) FROM sys_events WHERE kind = 'retry'") == 0, "a retry was used up")
            daemon.stop()


def two_signals():
    """The second signal ends the daemon at once; its worker leaves by itself."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        client.execute(train("j", 1000000))
        client.wait_state("j", ["RUNNING"])
        time.sleep(0.5)
        pid = traind.worker_pids(scratch.path)[0]
        os.kill(pid, signal.SIGSTOP)  # it cannot answer the first
        daemon.kill(signal.SIGTERM)
        time.sleep(0.5)
        check(daemon.process.poll() is None, "the first signal did not wait for the worker")
        began = time.monotonic()
        daemon.kill(signal.SIGTERM)
        code = daemon.wait()
        check(code == 0, code)
        promise(time.monotonic() - began, 2, "left after s:")
        os.kill(pid, signal.SIGCONT)
        eventually(lambda: not traind.worker_pids(scratch.path), "the worker stays")
        client = daemon.start()
        client.wait_state("j", ["RUNNING"])
        daemon.stop()


def idle_exit():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state", arguments=["--idle-exit", "1"])
        client = daemon.start()
        traind.set_up(client)
        time.sleep(2.5)
        check(daemon.process.poll() is None, "it left with a client")
        client.execute(train("j", 60))
        client.close()
        check(daemon.wait(PATIENCE) == 0, "exit code")
        client = daemon.start()
        check(client.state("j") == "SUCCEEDED", "it left before the job had ended:", client.state("j"))
        daemon.stop()


def embedded_ends_with_its_host():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state", embedded=True)
        client = daemon.start()
        traind.set_up(client)
        client.execute(train("j", 1000000))
        eventually(lambda: (client.cell("SELECT step FROM sys_jobs") or 0) >= 3, "no steps come")
        check(open(scratch / "state/traind.pid").read().strip() == str(client.info["pid"]), "wrong pid file")
        check(not os.path.exists(daemon.socket_path), "a private daemon listens")
        client.close()  # as if the host had died
        code = daemon.wait(PATIENCE)
        check(code == 0 and not traind.worker_pids(scratch.path), code)
        # The next one tells what it stops, and when it goes on.
        began = time.monotonic()
        client = daemon.start()
        state = client.state("j")
        check(state == "QUEUED" or time.monotonic() - began >= 1, "it goes on at once, not a second later:", state)
        client.wait_state("j", ["RUNNING"])
        stopped = client.call("shutdown")["stopped"]
        check(len(stopped) == 1 and stopped[0]["job"] == 1 and stopped[0]["step"] > 0, stopped)
        client.close()
        check(daemon.wait(PATIENCE) == 0, "exit code")


def descriptors_and_environment():
    """No descriptor of the parent's reaches the daemon or a worker."""
    with traind.Scratch() as scratch:
        leaked = os.open(scratch / "leaked", os.O_CREAT | os.O_RDWR)
        daemon = traind.Daemon(scratch / "state")
        command = [daemon.binary, "--state", daemon.directory]
        daemon.process = subprocess.Popen(command, pass_fds=(leaked,), stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        client = daemon.connect()
        traind.set_up(client)
        client.execute(train("j", 1000000))
        client.wait_state("j", ["RUNNING"])
        worker = traind.worker_pids(scratch.path)[0]
        for pid in (client.info["pid"], worker):
            targets = []
            for number in os.listdir("/proc/%d/fd" % pid):
                try:
                    targets.append(os.readlink("/proc/%d/fd/%s" % (pid, number)))
                except OSError:
                    pass
            check(not any("leaked" in target for target in targets), "process", pid, "holds", targets)
            if pid == worker:
                check(not any(target.endswith((".db", ".sock", "traind.lock")) for target in targets), targets)
        os.close(leaked)
        daemon.stop()


if __name__ == "__main__":
    run([two_daemons, stale_socket, files_in_the_way, damaged_catalog, wrong_arguments, another_user, graceful_stop,
         two_signals, idle_exit, embedded_ends_with_its_host, descriptors_and_environment])
