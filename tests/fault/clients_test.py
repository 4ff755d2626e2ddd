"""Clients that are many, slow, or send rubbish: the others do not notice, and the daemon stays within its limits."""

import json
import os
import socket
import struct
import threading
import time

from fault_support import PATIENCE, RANDOM, check, count, eventually, promise, run, traind, train


def memory_of(pid):
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return 0


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)]


def seconds_of_work(pid):
    """Processor time that the process takes within a while; an endless query takes all that it can get."""
    def used():
        with open("/proc/%d/stat" % pid) as file:
            return sum(map(int, file.read().split()[13:15])) / os.sysconf("SC_CLK_TCK")
    before = used()
    time.sleep(0.5)
    return used() - before


class Neighbour(threading.Thread):
    """A well-behaved client that measures what it has to wait."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.client, self.took, self.stop, self.failure = daemon.connect(), [], False, None

    def run(self):
        try:
            while not self.stop:
                began = time.monotonic()
                self.client.execute("SHOW JOBS")
                self.took.append(time.monotonic() - began)
                time.sleep(0.002)
        except (traind.Lost, traind.TraindError) as error:
            self.failure = error

    def finish(self):
        self.stop = True
        self.join(PATIENCE)
        check(self.failure is None, "the neighbour:", self.failure)
        return percentile(self.took, 0.99) * 1e3


BASES = [{"id": 1, "op": "hello", "protocol": 1, "directory": "/"}, {"id": 2, "op": "parse", "text": "SHOW JOBS; TRAIN"},
         {"id": 3, "op": "execute", "text": "SHOW JOBS", "parameters": {"a": 1, "b": {"quantity": "4h"}}, "token": "t"},
         {"id": 4, "op": "execute", "text": "SELECT * FROM sys_jobs WHERE id = $x", "parameters": {"x": None}},
         {"id": 5, "op": "interrupt", "target": 3}, {"id": 6, "op": "subscribe", "job": 1, "kinds": ["state"]},
         {"id": 7, "op": "unsubscribe", "target": 6}, {"id": 8, "op": "status"}, {"id": 9, "op": "shutdown"},
         {"id": 10, "op": "execute", "text": "WAIT FOR JOB 1 TIMEOUT 1s", "progress": True, "stop_on_paused": True}]
ATOMS = [None, True, 0, -1, 1 << 63, -(1 << 63), 1e308, -0.0, "", "\u0000", "x" * 300, "\ud800", [], {}, [[[[]]]],
         {"quantity": "9" * 50}, "SELECT 1;", "hello", "execute"]


def mutated():
    """The bytes of one message, more or less broken."""
    message = json.loads(json.dumps(RANDOM.choice(BASES)))
    kind = RANDOM.randrange(8)
    if kind < 3:
        key = RANDOM.choice(list(message))
        if RANDOM.randrange(3) == 0:
            del message[key]
        else:
            message[key] = RANDOM.choice(ATOMS)
    elif kind == 3:
        message[RANDOM.choice(["extra", "op", "id", "parameters"])] = RANDOM.choice(ATOMS)
    text = json.dumps(message).encode("utf-8", "surrogatepass")
    if kind in (4, 5):
        data = bytearray(text)
        for _ in range(RANDOM.randrange(1, 6)):
            at = RANDOM.randrange(len(data))
            data[at:at + RANDOM.randrange(0, 3)] = bytes(RANDOM.randrange(256) for _ in range(RANDOM.randrange(0, 3)))
        text = bytes(data)
    elif kind == 6:
        text = b"[" * RANDOM.randrange(1, 2000)
    length = len(text) if RANDOM.randrange(20) else RANDOM.choice([0, 1, len(text) + 5, 1 << 20, (1 << 20) + 1, 0xffffffff])
    return struct.pack("<I", length) + text


def fuzzed_frames():
    """100,000 messages, most of them broken somewhere: each connection gets an answer or its end, the rest nothing."""
    frames, sent, connections = count(100000), 0, 0
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        neighbour = Neighbour(daemon)
        neighbour.start()
        before = memory_of(client.info["pid"])
        hello = json.dumps(BASES[0]).encode()
        while sent < frames:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(daemon.socket_path)
            connections += 1
            batch = [mutated() for _ in range(RANDOM.randrange(1, 200))]
            data = b"".join(batch)
            if RANDOM.randrange(4):
                data = struct.pack("<I", len(hello)) + hello + data
            connection.settimeout(60)
            try:
                at = 0
                while at < len(data):  # cut anywhere
                    piece = data[at:at + RANDOM.choice([1, 3, 100, 10000, 1000000])]
                    connection.sendall(piece)
                    at += len(piece)
                if RANDOM.randrange(2):
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
            except (ConnectionError, socket.timeout):
                pass
            connection.close()
            sent += len(batch)
        p99 = neighbour.finish()
        check(daemon.process.poll() is None, "the daemon is gone")
        grown = memory_of(client.info["pid"]) - before
        check(grown < 64 << 20, "it grew by", grown >> 20, "MiB")
        lag = client.call("status")["loop"]
        promise(lag["max_ms"], 100, "ms that the loop stood still:")
        check(client.execute("SHOW MODELS").rows, "the catalog is gone")
        daemon.stop()
    return "%d messages over %d connections, neighbour's p99 %.1f ms, loop p99.9 %.1f ms, max %.1f ms" % (
        sent, connections, p99, lag["p999_ms"], lag["max_ms"])


def stalled_subscribers():
    """32 subscribers that read nothing while a job makes metrics: bounded memory, nobody else waits."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        stalled = []
        for _ in range(32):
            connection = daemon.connect()
            connection.call("subscribe")
            stalled.append(connection)
        neighbour = Neighbour(daemon)
        neighbour.start()
        before = memory_of(client.info["pid"])
        client.execute("TRAIN MODEL m AS j FROM d USING (sequence_length=64, batch_tokens=64) FOR %d STEPS" % count(6000))
        state = client.wait_state("j", ["SUCCEEDED", "FAILED"], 300)
        check(state == "SUCCEEDED", state)
        p99 = neighbour.finish()
        grown = memory_of(client.info["pid"]) - before
        check(grown <= 32 * (8 << 20), "it grew by", grown >> 20, "MiB")
        promise(p99, 50, "the neighbour's p99 in ms:")
        steps = client.cell("SELECT count(*) FROM sys_metrics")
        check(steps == client.cell("SELECT total_steps FROM sys_jobs"), "rows are missing from the catalog:", steps)
        daemon.stop()
    return "%d steps, grew by %d MiB, neighbour's p99 %.1f ms" % (steps, grown >> 20, p99)


def many_clients():
    """64 clients with mixed statements: unique ids, their own writes seen, SHOW answered in time."""
    seconds = min(4 * count(1), 60)
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        shows, failures, ids, lock = [], [], [], threading.Lock()
        end = time.monotonic() + seconds

        def work(number):
            try:
                own = daemon.connect()
                turn = 0
                while time.monotonic() < end:
                    turn += 1
                    name = "c%d_%d" % (number, turn)
                    own.execute("CREATE MODEL %s LIKE m" % name)
                    check(own.cell("SELECT count(*) FROM sys_models WHERE name = '%s'" % name) == 1, "its own write is missing")
                    job = own.execute("TRAIN MODEL %s AS %s FROM d FOR 1 STEPS" % (name, name)).dicts()[0]["id"]
                    own.execute("CANCEL JOB %d" % job)
                    began = time.monotonic()
                    own.execute("SHOW JOBS LIMIT 5")
                    took = time.monotonic() - began
                    with lock:
                        shows.append(took)
                        ids.append(job)
                    time.sleep(0.2)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        check(not failures, failures[:3])
        check(len(set(ids)) == len(ids), "a job id came twice")
        lag = client.call("status")["loop"]
        promise(lag["max_ms"], 100, "ms that the loop stood still:")
        daemon.stop()
    # The clients themselves take most of the processors; the figure on a quiet machine is traind-bench's.
    return "%d jobs, SHOW p50 %.1f ms, p99 %.1f ms, loop p99.9 %.1f ms" % (
        len(ids), percentile(shows, 0.5) * 1e3, percentile(shows, 0.99) * 1e3, lag["p999_ms"])


def the_limit_of_connections():
    """1,024 are served, the next is told why not, and served when one has gone."""
    limit = 1024
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        first = daemon.start()
        sockets = []
        for _ in range(limit - 1):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(daemon.socket_path)
            sockets.append(connection)
        check(first.execute("SHOW JOBS").rows == [], "no answer at the limit")
        extra = socket.socket(socket.AF_UNIX)
        extra.connect(daemon.socket_path)
        extra.settimeout(120)
        answer = extra.recv(4096)
        check(b"TOO_MANY" in answer and b"1024" in answer, answer)
        sockets.pop().close()

        def served():  # once the daemon has noticed
            try:
                return daemon.connect().execute("SHOW JOBS").rows == []
            except traind.TraindError as error:
                check(error.name == "TOO_MANY", error)
                return False
        eventually(served, "no answer below the limit")
        daemon.stop()


def endless_statements():
    """SELECTs that would run for ever on more connections than there are threads: interrupted, or held beside."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        held = [daemon.connect() for _ in range(8)]
        requests = [(one, one.start("execute", text=endless)) for one in held]
        time.sleep(0.2)
        began = time.monotonic()
        client.execute("SHOW JOBS")
        waited = time.monotonic() - began
        promise(waited, 3, "SHOW waits for s:")
        for one, request in requests[:4]:
            began = time.monotonic()
            one.start("interrupt", target=request)
            try:
                one.finish(request)
                raise AssertionError("it ended")
            except traind.TraindError as error:
                check(error.name == "INTERRUPTED", error)
            promise(time.monotonic() - began, 1, "interrupted after s:")
        for one, _ in requests[4:]:
            one.close()
        eventually(lambda: seconds_of_work(client.info["pid"]) < 0.1, "queries of clients that have gone run on")
        check(daemon.stop() == 0, "no clean end")
    return "SHOW waited %.2f s" % waited


if __name__ == "__main__":
    run([fuzzed_frames, stalled_subscribers, many_clients, the_limit_of_connections, endless_statements])
