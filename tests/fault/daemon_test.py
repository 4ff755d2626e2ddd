"""The daemon killed: under clients at random instants, with a job running, at every one of its fault points."""

import os
import re
import signal
import threading
import time

from fault_support import (PATIENCE, RANDOM, check, check_jobs, check_same, count, eventually, golden, losses,
                           promise, run, traind, train)

STEPS = 200
BATCH = "4Ki"  # steps long enough that the job outlives some daemons


class Writer(threading.Thread):
    """A client that makes models and jobs until the daemon dies, and knows what was acknowledged."""

    def __init__(self, daemon, name):
        super().__init__(daemon=True)
        self.traind, self.name, self.number = daemon, name, 0
        self.models, self.jobs, self.pending, self.failure = [], {}, None, None

    def run(self):
        try:
            client = self.traind.connect()
            if self.pending:
                self.submit(client, *self.pending)
            while True:
                self.number += 1
                model = "%s_%d" % (self.name, self.number)
                client.execute("CREATE MODEL %s LIKE m" % model)
                self.models.append(model)
                self.pending = (model, "token-" + model)
                self.submit(client, *self.pending)
                if self.number % 3 == 0:
                    client.execute("CANCEL JOB j_%s" % model)
                own = client.cell("SELECT count(*) FROM sys_jobs WHERE name = 'j_%s'" % model)
                check(own == 1, "own job j_%s seen" % model, own, "times")
        except (traind.Lost, AssertionError) as error:
            if isinstance(error, AssertionError) and "does not answer" not in str(error) and "left with" not in str(error):
                self.failure = error
        except traind.TraindError as error:
            self.failure = error

    def submit(self, client, model, token):
        result = client.execute("TRAIN MODEL %s AS j_%s FROM d USING (sequence_length=64, batch_tokens=64) FOR 2 STEPS"
                                % (model, model), token=token)
        self.jobs[model] = result.dicts()[0]["id"]
        self.pending = None

    def again(self):
        """The same writer after a restart: first it tries again what was not answered."""
        other = Writer(self.traind, self.name)
        other.number, other.models, other.jobs = self.number, self.models, self.jobs
        other.pending = self.pending
        return other


def kill_under_four_clients():
    """No acknowledged statement is lost, none half done, no job twice after a retry."""
    kills, ready = count(5), []
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        daemon.stop(client)
        writers = [Writer(daemon, "w%d" % i) for i in range(4)]
        for _ in range(kills):
            began = time.monotonic()
            client = daemon.start()
            ready.append(time.monotonic() - began)
            for writer in writers:
                check_writer(client, writer)
            for writer in writers:
                writer.start()
            time.sleep(RANDOM.uniform(0.1, 1.5))
            daemon.crash()
            for writer in writers:
                writer.join(PATIENCE)
                check(writer.failure is None, writer.failure)
            writers = [writer.again() for writer in writers]
        client = daemon.start()
        for writer in writers:
            if writer.pending:
                writer.submit(client, *writer.pending)
            check_writer(client, writer)
        jobs = sum(len(writer.jobs) for writer in writers)
        check(client.cell("SELECT count(*) FROM sys_jobs") == jobs, "jobs:", client.cell("SELECT count(*) FROM sys_jobs"),
              "known:", jobs)
        check_jobs(client)
        daemon.stop()
    promise(max(ready), 2, "ready after s:")
    return "%d kills, %d jobs, ready in %.2f s at most" % (kills, jobs, max(ready))


def check_writer(client, writer):
    models = {row[0] for row in client.rows("SELECT name FROM sys_models")}
    check(models.issuperset(writer.models), "lost models:", set(writer.models) - models)
    jobs = {name: job for name, job in client.rows("SELECT name, id FROM sys_jobs")}
    for model, job in writer.jobs.items():
        check(jobs.get("j_" + model) == job, "job j_%s is" % model, jobs.get("j_" + model), "not", job)
    twice = client.rows("SELECT name, count(*) FROM sys_jobs GROUP BY name HAVING count(*) > 1")
    check(not twice, "jobs that exist twice:", twice)


class Watcher(threading.Thread):
    """Sees that never two workers hold the lock of one state directory."""

    def __init__(self, directory):
        super().__init__(daemon=True)
        self.directory, self.most, self.stop = directory, 0, False

    def run(self):
        while not self.stop:
            self.most = max(self.most, len(traind.worker_pids(self.directory)))
            time.sleep(0.02)


def kill_with_a_running_job():
    """The daemon killed again and again during one job: attempts never overlap, the losses are the same bits."""
    expected = golden(STEPS, BATCH)
    kills, attempts = 0, []
    for _ in range(count(2)):
        with traind.Scratch() as scratch:
            daemon = traind.Daemon(scratch / "state")
            client = daemon.start()
            traind.set_up(client)
            client.execute(train("j", STEPS, batch=BATCH))
            watcher = Watcher(scratch.path)
            watcher.start()
            for _ in range(3):
                time.sleep(RANDOM.uniform(0.1, 1.2))
                daemon.crash()
                kills += 1
                client = daemon.start()
            client.wait_state("j", ["SUCCEEDED"])
            watcher.stop = True
            check(watcher.most <= 1, watcher.most, "workers at once")
            check_same(expected, losses(client), "the losses")
            check_jobs(client)
            attempts.append(client.cell("SELECT count(*) FROM sys_attempts"))
            check(client.cell("SELECT count(*) FROM sys_events WHERE kind = 'retry'") == 0, "a retry was used up")
            check(client.cell("SELECT versions FROM sys_models") == 1, "not one version")
            daemon.stop()
    return "%d kills, %s attempts" % (kills, attempts)


def requests_survive():
    """A pause and a cancel that were acknowledged are carried out, whatever dies in between."""
    for verb, state in (("PAUSE", "PAUSED"), ("CANCEL", "CANCELLED")):
        with traind.Scratch() as scratch:
            daemon = traind.Daemon(scratch / "state")
            client = daemon.start()
            traind.set_up(client)
            client.execute(train("j", 100000))
            client.wait_state("j", ["RUNNING"])
            client.execute("%s JOB j" % verb)
            daemon.crash()
            client = daemon.start()
            client.wait_state("j", [state])
            if verb == "PAUSE":
                client.execute("RESUME JOB j")
                client.wait_state("j", ["RUNNING"])
            daemon.stop()


def points_of_the_daemon():
    table = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../engine/base/fault.def")
    with open(table) as file:
        points = re.findall(r"^F\((\w+), \"(.*)\"\)", file.read(), re.M)
    return [name for name, text in points if text.startswith(("the daemon", "the writer", "publish"))]


def script(daemon, client):
    """Makes a model and trains it, over as many deaths of the daemon as there are."""
    deaths = 0
    steps = [lambda c: traind.set_up(c),
             lambda c: c.execute(train("j", 40), token="the only one"),
             lambda c: c.wait_state("j", ["SUCCEEDED"])]
    for step in steps:
        while True:
            try:
                step(client)
                break
            except traind.Lost:
                deaths += 1
                daemon.wait()
                client = daemon.start()
            except traind.TraindError as error:
                if error.name in ("DATASET_EXISTS", "MODEL_EXISTS"):  # answered by a death, but done
                    existing = {row[0] for row in client.rows("SELECT name FROM sys_models")}
                    if "m" not in existing:
                        client.execute(traind.MODEL)
                    break
                if error.name not in ("IO",):
                    raise
    return client, deaths


def every_fault_point():
    """Each point of the daemon, killed there once: one job, one version, the same bits."""
    expected = golden(40)
    passed = []
    for action in ("kill", "error"):
        for point in points_of_the_daemon():
            if action == "error" and point.startswith(("catalog", "publish")):
                continue  # the process ends by itself then, which is the case above
            with traind.Scratch() as scratch:
                passes = RANDOM.randrange(1, 12) if point.startswith("catalog") else 1
                daemon = traind.Daemon(scratch / "state", environment={
                    "TRAIND_FAULT": "%s:%d=%s" % (point, passes, action), "TRAIND_FAULT_ONCE": scratch / "once"})
                try:
                    client = daemon.start()
                except (AssertionError, traind.Lost):  # it dies before it listens: at its pid file
                    daemon = traind.Daemon(scratch / "state", environment=daemon.environment)
                    client = daemon.start()
                client, _ = script(daemon, client)
                check(os.path.exists(scratch / "once"), point, "was not passed")
                check_same(expected, losses(client), "the losses after " + point)
                check(client.cell("SELECT count(*) FROM sys_jobs") == 1, "not one job after", point)
                check(client.cell("SELECT count(*) FROM sys_versions") == 1, "not one version after", point)
                check_jobs(client)
                daemon.stop()
                passed.append(point)
    return ", ".join(sorted(set(passed)))


def ready_with_a_thousand_jobs():
    """The daemon answers within 2 s of its start with 1,000 jobs in the queue and as many done."""
    with traind.Scratch() as scratch:
        daemon = traind.Daemon(scratch / "state")
        client = daemon.start()
        traind.set_up(client)
        jobs = 1000
        for i in range(jobs):
            client.execute("CREATE MODEL q%d LIKE m" % i)
        client.execute(train("first", 1000000))
        client.wait_state("first", ["RUNNING"])
        for i in range(jobs):
            client.execute("TRAIN MODEL q%d AS q%d FROM d USING (sequence_length=64, batch_tokens=64) FOR 1 STEPS" % (i, i))

        def reason_given():  # it comes with the next look at the queue
            reasons = client.rows("SELECT DISTINCT reason FROM sys_jobs WHERE state = 'QUEUED'")
            return len(reasons) == 1 and all(word in (reasons[0][0] or "") for word in ("first", "local:0"))
        eventually(reason_given, "a queued job does not say what it waits for")
        daemon.crash()
        began = time.monotonic()
        client = daemon.start()
        check(client.cell("SELECT count(*) FROM sys_jobs") == jobs + 1, "jobs are missing")
        ready = time.monotonic() - began
        promise(ready, 2, "ready after s:")
        daemon.kill(signal.SIGTERM)
        daemon.wait()
        return "ready in %.2f s" % ready


if __name__ == "__main__":
    run([kill_under_four_clients, kill_with_a_running_job, requests_survive, every_fault_point,
         ready_with_a_thousand_jobs])
