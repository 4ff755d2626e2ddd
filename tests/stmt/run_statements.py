"""Runs a .test file against a real daemon: run_statements.py socket|embedded FILE.

A file is a list of records, separated by blank lines. # begins a comment line.

    statement ok                 the statement below succeeds
    statement error CODE         it fails with this error; CODE 3:17 also gives line and column
    statement notice TEXT        it succeeds with a notice that contains TEXT
    query                        it succeeds with the rows below ----, cells separated by |
    query sorted                 the same, the order of rows left open
    restart                      the daemon stops and is started again
    kill9                        the daemon is killed and is started again
    wait JOB STATE [SECONDS]     until the job named so is in that state
    session NAME                 the following statements are those of another client (socket mode only)
    param NAME=VALUE             a parameter of the next statement
    write FILE / TEXT            a file in ${DIR}, with the lines that follow

In statements ${DIR} is an empty directory of the test, ${TEXT} an English text, ${DATASETS} the folder of small files
of each data format. An expected cell may be *
(anything), NULL, /REGULAR EXPRESSION/, or ~NUMBER (within 1 %).
"""

import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import traind_daemon as traind  # noqa: E402


DATASETS = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/golden/datasets"))


class Failed(Exception):
    pass


class Record:
    def __init__(self, line, words, body):
        self.line, self.words, self.body = line, words, body

    def text(self):
        return "\n".join(self.body)

    def split(self):
        """The statement, and the expected lines below ----."""
        at = self.body.index("----")
        return "\n".join(self.body[:at]), self.body[at + 1:]


def records(path):
    block, first = [], 0
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n") + [""]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if line.strip():
            if not block:
                first = number
            block.append(line)
        elif block:
            yield Record(first, block[0].split(), block[1:])
            block = []


def matches(expected, cell):
    if expected == "*":
        return True
    if expected == "NULL" or cell is None:
        return expected == "NULL" and cell is None
    if len(expected) > 1 and expected.startswith("/") and expected.endswith("/"):
        return re.search(expected[1:-1], str(cell)) is not None
    if expected.startswith("~"):
        wanted = float(expected[1:])
        return abs(float(cell) - wanted) <= abs(wanted) * 0.01
    if isinstance(cell, float) and cell == int(cell):
        return expected in (str(cell), str(int(cell)))
    return expected == str(cell).strip()


class Runner:
    def __init__(self, mode, scratch):
        self.embedded = mode == "embedded"
        self.directory = scratch / "files"
        os.mkdir(self.directory)
        self.daemon = traind.Daemon(scratch / "state", embedded=self.embedded)
        self.sessions, self.name, self.parameters = {}, "main", {}
        self.open()

    def open(self):
        self.sessions = {"main": self.daemon.start()}
        self.name = "main"

    @property
    def client(self):
        if self.name not in self.sessions:
            self.sessions[self.name] = self.daemon.connect()
        return self.sessions[self.name]

    def substitute(self, text):
        return (text.replace("${DIR}", self.directory).replace("${TEXT}", traind.TEXT)
                .replace("${DATASETS}", DATASETS))

    def execute(self, text):
        parameters, self.parameters = self.parameters, {}
        return self.client.execute(self.substitute(text), parameters=parameters, stop_on_paused=True)

    def statement(self, record):
        wanted = record.words[1]
        if wanted == "error":
            try:
                self.execute(record.text())
            except traind.TraindError as error:
                self.check_error(record, error)
                return
            raise Failed("succeeded, expected %s" % record.words[2])
        result = self.execute(record.text())
        if wanted == "notice":
            text = " ".join(record.words[2:])
            if not any(text in notice for notice in result.notices):
                raise Failed("no notice contains %r: %r" % (text, result.notices))
        elif wanted != "ok":
            raise Failed("unknown kind of statement: %s" % wanted)

    @staticmethod
    def check_error(record, error):
        if error.name != record.words[2]:
            raise Failed("got %s, expected %s" % (error, record.words[2]))
        if len(record.words) > 3:
            place = "%s:%s" % (error.error.get("line"), error.error.get("column"))
            if place != record.words[3]:
                raise Failed("at %s, expected %s: %s" % (place, record.words[3], error))

    def query(self, record):
        text, expected = record.split()
        result = self.execute(text)
        rows = [[cell.strip() for cell in self.substitute(line).split("|")] for line in expected]
        got = result.rows
        if "sorted" in record.words:
            rows, got = sorted(rows), sorted(got, key=str)
        good = len(rows) == len(got) and all(
            len(row) == len(cells) and all(map(matches, row, cells)) for row, cells in zip(rows, got))
        if not good:
            shown = "\n".join("    " + " | ".join("NULL" if cell is None else str(cell) for cell in row) for row in got)
            raise Failed("got %d rows:\n%s" % (len(got), shown))

    def restart(self, _):
        code = self.daemon.stop(self.sessions["main"])
        if code != 0:
            raise Failed("the daemon left with %s" % code)
        self.open()

    def kill9(self, _):
        self.daemon.crash()
        self.open()

    def wait(self, record):
        timeout = float(record.words[3]) if len(record.words) > 3 else 300
        self.client.wait_state(record.words[1], [record.words[2]], timeout)

    def session(self, record):
        if self.embedded:
            raise Failed("a private daemon has one client")
        self.name = record.words[1]

    def param(self, record):
        name, value = " ".join(record.words[1:]).split("=", 1)
        self.parameters[name] = value

    def write(self, record):
        path = os.path.join(self.directory, record.words[1])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.substitute(record.text()) + "\n")

    def run(self, path):
        for record in records(path):
            try:
                handler = {"statement": self.statement, "query": self.query, "restart": self.restart,
                           "kill9": self.kill9, "wait": self.wait, "session": self.session,
                           "param": self.param, "write": self.write}.get(record.words[0])
                if handler is None:
                    raise Failed("unknown record: %s" % record.words[0])
                handler(record)
            except (Failed, traind.TraindError, traind.Lost, AssertionError, ValueError) as error:
                print("%s:%d: %s\n%s\n  %s" % (path, record.line, " ".join(record.words), record.text(), error))
                if isinstance(error, traind.Lost):
                    print(self.daemon.log()[-3000:])
                return False
        return True


def main():
    mode, path = sys.argv[1:3]
    if mode == "embedded" and any(record.words[0] == "session" for record in records(path)):
        print("skipped: it needs several clients")
        return 0
    began = time.monotonic()
    with traind.Scratch() as scratch:
        runner = Runner(mode, scratch)
        good = runner.run(path)
        code = runner.daemon.stop(runner.sessions["main"])
        if good and code != 0:
            print("the daemon left with %s" % code)
            good = False
    print("%s in %.1f s" % ("passed" if good else "FAILED", time.monotonic() - began))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
