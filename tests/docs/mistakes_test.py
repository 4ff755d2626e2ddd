"""docs/mistakes.md is true: every console block is run, every other row names a test that exists and has its answer.

mistakes_test.py            runs the page; prints each answer that differs
mistakes_test.py --write    puts the answers that came into the page instead

In a block, `$ ` begins a command for bash, run in a home directory of its own; what follows is all that it prints,
both streams, and `[exit N]` if N is not 0. An ellipsis stands for anything within a line.
"""
import itertools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path.insert(0, os.path.join(HERE, "../support"))
import traind_daemon as traind  # noqa: E402

PAGE = os.path.join(ROOT, "docs/mistakes.md")
SECONDS = 120  # for one command; none waits for anything


class Home:
    """Where the page's commands run: the same directory and, unless they say otherwise, the same daemon for all."""

    def __init__(self, scratch):
        self.path = scratch.path
        keep = {name: os.environ[name] for name in ("TRAIND_TEST_RUN",) if name in os.environ}
        self.environment = dict(keep, HOME=self.path, PATH=os.path.abspath(traind.BIN) + ":/usr/sbin:/usr/bin:/sbin:/bin",
                                LC_ALL="C.UTF-8", TZ="UTC", LANG="C.UTF-8")

    def run(self, command):
        """What it prints, and its exit code as the page writes it."""
        done = subprocess.run(["bash", "-c", command], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS)
        text = done.stdout.decode(errors="backslashreplace")
        text = text.replace(os.path.realpath(self.path), "/home/you").replace(self.path, "/home/you")
        lines = [line.rstrip() for line in text.splitlines()]
        return lines + (["[exit %d]" % done.returncode] if done.returncode else [])


def matches(expected, got):
    """Whether the lines are the same, an ellipsis standing for anything."""
    if len(expected) != len(got):
        return False
    patterns = (".*".join(re.escape(part) for part in line.split("…")) for line in expected)
    # The program's own ellipses are matched by the page's.
    return all(re.fullmatch(pattern, line) for pattern, line in zip(patterns, got))


def run_block(lines, home, where):
    """The block with the answers that came; the number of answers that differ."""
    out, failed, at = [], 0, 0
    while at < len(lines):
        command = lines[at]
        assert command.startswith("$ "), "%s: no command: %s" % (where, command)
        end = at + 1
        while end < len(lines) and not lines[end].startswith("$ "):
            end += 1
        expected = lines[at + 1:end]
        got = home.run(command[2:])
        out.append(command)
        if matches(expected, got):
            out += expected
        else:
            failed += 1
            out += [old if matches([old], [new]) else new for old, new in itertools.zip_longest(expected, got, fillvalue="")
                    ][:len(got)]
            if "--write" not in sys.argv:
                print("%s: %s\n  expected:\n%s\n  came:\n%s" % (where, command, "\n".join("    " + l for l in expected),
                                                            "\n".join("    " + l for l in got)), flush=True)
        at = end
    return out, failed


def check_row(cells, where):
    """A row of the table of other tests: mistake, answer, test. Its test exists and knows its code."""
    code, test = cells[2].strip("` "), cells[3].strip("` ")
    path, name = test.split(" ")
    with open(os.path.join(ROOT, path)) as file:
        text = file.read()
    body = re.search(r"^(?:def|void) %s\(.*?(?=^(?:def|void|int main|class) )" % re.escape(name), text + "\nint main ", re.M | re.S)
    if body is None:
        print("%s: there is no %s in %s" % (where, name, path))
        return 1
    if code not in body.group(0):
        print("%s: %s in %s says nothing of %s" % (where, name, path, code))
        return 1
    return 0


def main():
    with open(PAGE) as file:
        page = file.read().splitlines()
    out, failed, blocks, rows, at = [], 0, 0, 0, 0
    with traind.Scratch() as scratch:
        home = Home(scratch)
        while at < len(page):
            line = page[at]
            out.append(line)
            at += 1
            where = "docs/mistakes.md:%d" % at
            if line == "```console":
                end = page.index("```", at)
                block, wrong = run_block(page[at:end], home, where)
                out += block
                failed += wrong
                blocks += 1
                at = end
            elif line.startswith("| ") and line.count("|") == 5 and "`tests/" in line:
                failed += check_row([cell.strip() for cell in line.strip("| ").split(" | ")], where)
                rows += 1
        home.run("pid=$(cat .local/state/traind/traind.pid) && kill $pid")
    if "--write" in sys.argv:
        with open(PAGE, "w") as file:
            file.write("\n".join(out) + "\n")
        return 0
    if failed:
        print("If the new answers are right: tests/docs/mistakes_test.py --write, and read what it changed.")
    print("%d blocks run, %d other tests looked up, %d wrong" % (blocks, rows, failed))
    return 1 if failed or blocks < 30 or rows < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
