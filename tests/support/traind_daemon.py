"""A traind under test and a client that speaks its protocol, for the tests that drive the built programs."""

import glob
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("TRAIND_BIN", os.path.join(os.path.dirname(__file__), "../../build/release/bin"))
GUARDED = os.path.join(BIN, "../tests/guarded")
if "TRAIND_TEST_RUN" not in os.environ and os.path.exists(GUARDED):  # started by hand: no process outlives it either
    os.execv(GUARDED, [GUARDED] + sys.orig_argv)
TEXT = "/usr/share/common-licenses/GPL-3"


class TraindError(Exception):
    """An error that the daemon sent: its name is `name`, the whole object `error`."""

    def __init__(self, error):
        super().__init__("%s: %s" % (error.get("name"), error.get("message")))
        self.error = error
        self.name = error.get("name")


class Lost(Exception):
    """The connection ended before the answer."""


class Result:
    def __init__(self):
        self.columns, self.rows, self.kind, self.notices, self.progress = [], [], None, [], []

    def dicts(self):
        return [dict(zip(self.columns, row)) for row in self.rows]

    def cell(self):
        return self.rows[0][0] if self.rows else None


class Client:
    """Blocking; one request at a time unless `send` and `receive` are used by hand."""

    def __init__(self, connection, hello=True, timeout=300, directory="/"):
        self.socket, self.buffer, self.next_id = connection, b"", 0
        self.socket.settimeout(timeout)
        self.events = []
        self.info = self.call("hello", protocol=1, client="test", directory=directory) if hello else None

    def close(self):
        self.socket.close()

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            self.read_farewell()
            raise Lost(str(error))

    def read_farewell(self):
        """Raises what the daemon said before it closed, if it said why."""
        try:
            while True:
                message = self.receive()
                if message.get("id", 0) is None:
                    raise TraindError(message["error"])
        except Lost:
            return

    def send(self, message):
        text = json.dumps(message).encode()
        self.send_bytes(struct.pack("<I", len(text)) + text)

    def receive(self):
        while True:
            if len(self.buffer) >= 4:
                length = struct.unpack("<I", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + length:
                    text = self.buffer[4:4 + length]
                    self.buffer = self.buffer[4 + length:]
                    return json.loads(text)
            try:
                piece = self.socket.recv(1 << 20)
            except socket.timeout:
                raise
            except OSError as error:
                raise Lost(str(error))
            if not piece:
                raise Lost("the daemon closed the connection")
            self.buffer += piece

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def start(self, op, **fields):
        """Sends a request and returns its id."""
        request = self.new_id()
        self.send(dict(fields, id=request, op=op))
        return request

    def answer(self, request):
        """Messages of one request until its last; events are kept."""
        while True:
            message = self.receive()
            if "event" in message:
                self.events.append(message["event"])
            elif message.get("id") is None:
                raise TraindError(message["error"])
            elif message["id"] == request:
                yield message
                if "ok" in message or "done" in message or "error" in message:
                    return

    def call(self, op, **fields):
        for message in self.answer(self.start(op, **fields)):
            if "error" in message:
                raise TraindError(message["error"])
            if "ok" in message:
                return message["ok"]

    def finish(self, request):
        """The result of an execute that `start` has begun."""
        result = Result()
        for message in self.answer(request):
            if "error" in message:
                raise TraindError(message["error"])
            if "columns" in message:
                result.columns = [column["name"] for column in message["columns"]]
                result.types = [column["type"] for column in message["columns"]]
                result.kind = message["kind"]
                result.notices += message.get("notices", [])
            if "rows" in message:
                result.rows += message["rows"]
            if "progress" in message:
                result.progress.append(message["progress"])
            if "done" in message:
                result.kind = message["done"]["kind"]
                result.notices += message["done"].get("notices", [])
        return result

    def execute(self, text, **fields):
        return self.finish(self.start("execute", text=text, **fields))

    def rows(self, text):
        return self.execute(text).rows

    def cell(self, text):
        return self.execute(text).cell()

    def state(self, job):
        return self.cell("SELECT state FROM sys_jobs WHERE name = '%s'" % job)

    def wait_state(self, job, states, timeout=300):
        """Until the job named so is in one of the states; the state."""
        end = time.monotonic() + timeout
        while True:
            state = self.state(job)
            if state in states:
                return state
            if time.monotonic() > end:
                reason = self.cell("SELECT reason FROM sys_jobs WHERE name = '%s'" % job)
                raise AssertionError("job %s is %s (%s), not one of %s" % (job, state, reason, states))
            time.sleep(0.05)


class Daemon:
    """A traind on a state directory, as `embedded` or with a socket."""

    def __init__(self, directory, embedded=False, environment=None, arguments=(), binary=None):
        self.directory, self.embedded = directory, embedded
        self.environment, self.arguments = environment or {}, list(arguments)
        self.binary = binary or os.path.join(BIN, "traind")
        self.process, self.pair = None, None

    @property
    def socket_path(self):
        return os.path.join(self.directory, "traind.sock")

    def spawn(self):
        """Starts the process without waiting for it to be ready."""
        command = [self.binary, "--state", self.directory] + self.arguments
        passed = ()
        if self.embedded:
            ours, theirs = socket.socketpair(socket.AF_UNIX)
            os.set_inheritable(theirs.fileno(), True)
            passed = (theirs.fileno(),)
            command += ["--embedded", "--socket-fd", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=passed, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=dict(os.environ, **self.environment), start_new_session=True)
        if self.embedded:
            theirs.close()
            self.pair = ours
        return self

    def start(self, timeout=300):
        """Starts the process and returns a client."""
        self.spawn()
        if self.embedded:
            return Client(self.pair)
        return self.connect(timeout)

    def connect(self, timeout=300, **options):
        end = time.monotonic() + timeout
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(self.socket_path)
                return Client(connection, **options)
            except (OSError, Lost) as error:
                connection.close()
                if self.process and self.process.poll() is not None:
                    raise AssertionError("traind left with %s: %s" % (self.process.returncode, self.errors()))
                if time.monotonic() > end:
                    raise AssertionError("traind does not answer: %s" % error)
            time.sleep(0.01)

    def errors(self):
        return self.process.stderr.read().decode(errors="replace")

    def kill(self, number=signal.SIGKILL):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)

    def wait(self, timeout=300):
        code = self.process.wait(timeout)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def stop(self, client=None, timeout=300):
        """A graceful end; the exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            if self.embedded and client is not None:
                try:
                    client.call("shutdown")
                except (Lost, TraindError):
                    pass
                client.close()
            elif self.embedded:
                self.pair.close()
            else:
                self.kill(signal.SIGTERM)
        return self.wait(timeout)

    def crash(self):
        """kill -9, and wait for the end of it."""
        self.kill()
        self.wait()

    def log(self):
        try:
            with open(os.path.join(self.directory, "traind.log"), errors="replace") as file:
                return file.read()
        except OSError:
            return ""


class Scratch:
    """A directory for a state, removed at the end together with any process that still works in it."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="traind-test-")
        return self

    def __exit__(self, kind, *_):
        if kind is not None:  # what the daemon said goes with the directory
            for name in glob.glob(self.path + "/*/traind.log"):
                with open(name, errors="replace") as file:
                    print("    the end of %s:\n%s" % (name, file.read()[-2000:]), flush=True)
        for pid in worker_pids(self.path):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        shutil.rmtree(self.path, ignore_errors=True)

    def __truediv__(self, name):
        return os.path.join(self.path, name)


def worker_pids(directory):
    """The traind-worker processes whose job lies below this directory, by the lock that they hold."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/comm" % name) as file:
                if file.read().strip() != "traind-worker":
                    continue
            if os.readlink("/proc/%s/fd/4" % name).startswith(os.path.realpath(directory) + "/"):
                found.append(int(name))
        except OSError:
            continue
    return found


MODEL = ("CREATE MODEL m ARCHITECTURE llama WITH (hidden_size=64, num_hidden_layers=2, num_attention_heads=4, "
         "num_key_value_heads=2, intermediate_size=192, vocab_size=256, max_position_embeddings=64)")
DATASET = "CREATE DATASET d FROM '%s' FORMAT text" % TEXT
TRAIN = ("TRAIN MODEL m FROM d USING (learning_rate=3e-3, warmup_steps=5, sequence_length=64, batch_tokens=1Ki, "
         "seed=1)")


def set_up(client):
    client.execute(DATASET)
    client.execute(MODEL)
