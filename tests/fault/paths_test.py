"""Paths and names that are none of ours: whatever a statement is given, it answers, and writes nothing elsewhere."""

import os
import socket
import stat

from fault_support import check, run, traind

# Every statement that takes a path, with a % where it stands; those of other releases are left out by their error.
PATHS = ["CREATE DATASET x FROM %s FORMAT text", "CREATE OR REPLACE DATASET x FROM %s FORMAT text",
         "TRAIN MODEL m FROM %s FOR 1 STEPS", "TRAIN MODEL m FROM d VALIDATE FROM %s EVERY 5 STEPS FOR 1 STEPS",
         "EXPLAIN TRAIN MODEL m FROM %s FOR 1 STEPS", "EVALUATE MODEL trained FROM %s", "INCLUDE %s",
         "TRAIN MODEL m FROM d FOR 9 STEPS RESUME FROM CHECKPOINT %s", "IMPORT MODEL x FROM %s",
         "TRAIN TOKENIZER t FROM %s WITH (vocab_size=300)", "CREATE TOKENIZER t FROM %s"]
# Every statement that takes a name.
NAMES = ["CREATE MODEL %s LIKE m", "CREATE DATASET %s FROM '/usr/share/common-licenses/GPL-3' FORMAT text",
         "TRAIN MODEL m INTO %s FROM d USING (sequence_length=32, batch_tokens=64) FOR 1 STEPS WAIT",
         "TRAIN MODEL m AS %s FROM d USING (sequence_length=32, batch_tokens=64) FOR 1 STEPS WAIT",
         "SHOW JOB %s", "SHOW METRICS FOR JOB %s", "SHOW LOGS FOR JOB %s", "SHOW VERSIONS OF %s", "DESCRIBE MODEL %s",
         "DESCRIBE DATASET %s", "SHOW CREATE MODEL %s", "SHOW CREATE JOB %s", "PAUSE JOB %s", "WAIT FOR JOB %s",
         "GENERATE FROM MODEL %s PROMPT 'a'", "EVALUATE MODEL %s FROM d", "DROP DATASET %s", "DROP MODEL %s WITH VERSIONS"]
# An answer to any of these is one of these errors, or none.
ALLOWED = {"FILE_NOT_FOUND", "NOT_A_REGULAR_FILE", "FILE_NOT_READABLE", "INVALID_OPTION", "EMPTY_FILE", "DATA_TOO_SHORT",
           "NO_SUCH_CHECKPOINT", "NO_SUCH_MODEL", "NO_SUCH_DATASET", "NO_SUCH_JOB", "NO_SUCH_VERSION", "NAME_TOO_LONG",
           "FORBIDDEN_PATH", "INVALID_CHARACTER", "IO", "SYNTAX", "DAMAGED_FILE", "MODEL_BUSY", "MODEL_EXISTS",
           "DATASET_EXISTS", "WRONG_STATE", "INVALID_ENCODING", "FORBIDDEN_BYTE", "SPEC_DIFFERS", "JOB_EXISTS"}


def quoted(text, mark):
    return mark + text.replace(mark, mark + mark) + mark


def listing(directory):
    """Everything below but the state, with what it is."""
    found = {}
    for top, names, files in os.walk(directory):
        names[:] = [name for name in names if os.path.join(top, name) != os.path.join(directory, "state")]
        for name in names + files:
            info = os.lstat(os.path.join(top, name))
            found[os.path.join(top, name)] = (stat.S_IFMT(info.st_mode), info.st_size, info.st_mtime_ns)
    return found


def answers(client, text):
    """The statement's error's name, or None; never a hang, never the connection's end."""
    try:
        client.execute(text)
    except traind.TraindError as error:
        check(error.name in ALLOWED, text[:200], ":", error)
        return error.name
    return None


def files_that_are_none(directory):
    """Paths that name no file that can be read as one."""
    os.mkfifo(os.path.join(directory, "fifo"))
    os.mkdir(os.path.join(directory, "directory"))
    os.symlink("fifo", os.path.join(directory, "link-to-fifo"))
    os.symlink("loop", os.path.join(directory, "loop"))
    os.symlink("nowhere", os.path.join(directory, "dangling"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(directory, "socket"))
    names = ["fifo", "directory", "link-to-fifo", "loop", "dangling", "socket", ".", "..", "../..", "", "/", "//",
             "/dev/null", "/dev/zero", "/dev/stdin", "nothing*", "[", "~", "-",
             "a" * 255, "a" * 256, "a" * 4095, "a" * 4096, "/" + "a/" * 2047, "/" + "a/" * 2048, "../" * 1365,
             "\u202e", "a\nb", "a\tb", "'; DROP MODEL m", "$(reboot)", "%s%n", "\u00e9" * 2048]
    return names, listener


def paths():
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        daemon.start().close()
        names, listener = files_that_are_none(scratch.path)
        client = daemon.connect(directory=scratch.path)
        traind.set_up(client)
        client.execute("TRAIN MODEL m INTO trained FROM d USING (sequence_length=32, batch_tokens=64) FOR 1 STEPS WAIT")
        before = listing(scratch.path)
        asked = 0
        for statement in PATHS:
            for name in names:
                answer = answers(client, statement.replace("%s", quoted(name, "'")))
                check(answer is not None, "taken:", statement, name[:80])
                asked += 1
        check(listing(scratch.path) == before, "something was written")
        check(client.cell("SELECT count(*) FROM sys_datasets") == 1, "a data set was made")
        listener.close()
        check(daemon.stop() == 0, "no clean end")
    return "%d statements" % asked


def names():
    """Names that look like paths, or are long: they are names or errors, and never become paths."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        daemon.start().close()
        client = daemon.connect(directory=scratch.path)
        traind.set_up(client)
        client.execute("CREATE MODEL spare LIKE m")
        before, asked = listing(scratch.path), 0
        for name in ["../../evil", "/tmp/evil", "..", ".", "a/b", "a" * 64, "a" * 65, "a" * 4096, "\u00e9" * 64, "-", " ",
                     "%s%n", "a\nb", "CON", "sys_jobs", "_jobs", "'; DROP TABLE _jobs; --"]:
            for statement in NAMES:
                answers(client, statement.replace("%s", quoted(name, '"')))
                asked += 1
        check(listing(scratch.path) == before, "something was written")
        for top, directories, files in os.walk(scratch / "state"):
            for entry in directories + files:
                check("evil" not in entry and len(entry) < 64, "a name became a path:", os.path.join(top, entry))
        check(not os.path.exists("/tmp/evil") and client.cell("SELECT count(*) FROM sys_models WHERE name = 'm'") == 1, "m is gone")
        check(daemon.stop() == 0, "no clean end")
    return "%d statements" % asked


if __name__ == "__main__":
    run([paths, names])
