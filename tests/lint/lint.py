#!/usr/bin/env python3
"""The rules that hold over the whole tree: who may include whom, how files open, what no file contains.

lint.py ROOT            checks the tree; prints file:line: problem, and exits with 1 if there is one
lint.py ROOT --format   checks that clang-format would change nothing; exits with 77 if it is not installed
"""
import os
import re
import shutil
import subprocess
import sys

# Who may include whom, besides itself and the standard library. A room is a folder; an entry is a room, or one
# header of it. The longest room that a file lies in counts.
BASE = "engine/base"
ENGINE = ["engine/base", "engine/spec", "engine/plan", "engine/tensor", "engine/device", "engine/ops", "engine/comm",
          "engine/data", "engine/format", "engine/model", "engine/train"]
MEMORY_TABLE = ["engine/plan/memory.h", "engine/plan/parameters.h", "engine/plan/program.h"]
INCLUDES = {
    "engine/base": [],
    "grammar": [BASE],
    "capi": [BASE],
    "engine/tensor": [BASE],
    "clients/cli": ["capi/traind.h"],
    "engine/spec": [BASE, "engine/tensor"],
    "engine/device": [BASE, "engine/tensor"],
    "engine/format": [BASE, "engine/tensor"],
    "engine/plan": [BASE, "engine/spec", "engine/tensor"],
    "engine/ops": [BASE, "engine/tensor", "engine/device"],
    "engine/comm": [BASE, "engine/tensor", "engine/device"],
    "engine/data": [BASE, "engine/spec", "engine/format"],
    "engine/model": [BASE, "engine/spec", "engine/tensor", "engine/device", "engine/ops"] + MEMORY_TABLE,
    "engine/train": [BASE, "engine/spec", "engine/tensor", "engine/device", "engine/ops", "engine/model", "engine/comm",
                     "engine/data", "engine/format", "engine/plan/schedule.h", "engine/plan/strategy.h"] + MEMORY_TABLE,
    "engine/worker": ENGINE,
    "cuda": [BASE, "engine/tensor", "engine/device", "engine/ops", "engine/comm"],
    "daemon": [BASE, "engine/spec", "engine/plan", "engine/format/manifest.h", "grammar", "capi"],
}

# Headers that a room may not include although the table above would let it: plans are pure functions.
REFUSED = {
    "engine/plan": ["engine/base/io.h", "engine/base/publish.h", "engine/base/clock.h", "engine/base/log.h",
                    "engine/base/fault.h", "filesystem", "fstream", "chrono", "thread", "unistd.h", "fcntl.h"],
}

# External headers keep to their rooms.
EXTERNAL = [
    (r"sqlite3\.h", ["daemon/catalog"]),
    (r"uv\.h", ["daemon", "clients/cli"]),
    (r"(cuda|cublas|cudnn|nccl|nvml).*", ["cuda"]),
    (r"(oneapi/dnnl/.*|dnnl.*|cblas\.h)", ["engine/ops", "engine/device/cpu"]),
    (r"omp\.h", ["engine/ops", "engine/device/cpu"]),
    (r"nlohmann/.*", ["engine/base"]),
    (r"spdlog/.*", ["engine/base"]),
    (r"xxhash\.h", ["engine/base"]),
    (r"(pcre2|utf8proc|sentencepiece_.*)\.h", ["engine/data/tokenizers"]),
    (r"(histedit\.h|editline/.*|readline/.*)", ["clients/cli"]),
    (r"cmocka\.h", ["tests/support"]),
]

# What no file contains. This file and its own test are not searched for it.
FORBIDDEN = [
    (r"\b(TODO|FIXME|XXX)\b", "work left for later"),
    (r"(?i)\bplaceholder (for|until|code|value|implementation)\b", "a placeholder"),
    (r"(?i)\bstub(bed)?\b|\bnot (yet )?implemented\b", "something left out"),
]
NOT_SEARCHED = {"tests/lint/lint.py", "tests/lint/lint_test.py"}

SKIPPED = {".git", "build", ".cache", "__pycache__"}
CODE = (".h", ".cc", ".c", ".cu", ".y", ".re", ".def")
OPENINGS = {".h": ("//", "/*"), ".cc": ("//",), ".c": ("//", "/*"), ".cu": ("//",), ".def": ("//",), ".y": ("//", "/*"),
            ".re": ("//", "/*"), ".py": ("#", '"""'), ".cmake": ("#",), ".sh": ("#",)}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files_of(root):
    """All files of the tree, as paths from its root."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(set(names) - SKIPPED)]
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def room_of(path):
    rooms = [room for room in INCLUDES if path.startswith(room + "/")]
    return max(rooms, key=len) if rooms else None


def within(path, places):
    return any(path == place or path.startswith(place + "/") for place in places)


def check_include(path, quoted, header):
    """The problem with one include of one file, or None."""
    for pattern, rooms in EXTERNAL:
        if not quoted and re.fullmatch(pattern, header) and not within(path, rooms) and not path.startswith("tests/"):
            return f"<{header}> may only be included in {' and '.join(rooms)}"
    room = room_of(path)
    if room is None:
        return None
    if header in REFUSED.get(room, []):
        return f"{room} may not include {header}"
    if not quoted:
        return None
    if header.startswith("."):
        return f'"{header}": includes are written from the root of the tree'
    if within(header, [room]) or within(header, INCLUDES[room]):
        return None
    return f'{room} may not include "{header}"'


def check_includes(path, lines):
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        problem = match and check_include(path, match.group(1) == '"', match.group(2))
        if problem:
            yield number, problem


def check_opening(path, lines):
    extension = os.path.splitext(path)[1]
    openings = OPENINGS.get(extension)
    if openings is None:
        return
    first = lines[0] if lines else ""
    if first.startswith("#!") and len(lines) > 1:
        first = lines[1]
    if not first.startswith(openings):
        yield 1, "a file opens with a sentence that says its purpose"


def check_forbidden(path, lines):
    if path in NOT_SEARCHED:
        return
    for number, line in enumerate(lines, 1):
        for pattern, what in FORBIDDEN:
            if re.search(pattern, line):
                yield number, f"{what}: {line.strip()[:80]}"


def check_whitespace(path, lines):
    if not path.endswith(CODE + (".py", ".cmake", ".md", "CMakeLists.txt")):
        return
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "blanks at the end of a line"
        if "\t" in line:
            yield number, "a tab"
    if lines and lines[-1] == "":
        yield len(lines), "an empty line at the end"


CHECKS = [check_includes, check_opening, check_forbidden, check_whitespace]


def check_built(root, paths):
    """Every source file is named in a CMakeLists.txt of its folder or of one above."""
    lists = {os.path.dirname(p): read(root, p) for p in paths if os.path.basename(p) == "CMakeLists.txt"}
    for path in paths:
        name, extension = os.path.splitext(os.path.basename(path))
        if extension not in (".cc", ".cu"):
            continue
        stem = re.sub(r"_(test|fuzz|bench)$", "", name)
        folder, named = os.path.dirname(path), False
        while not named:
            text = lists.get(folder, "")
            named = any(re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", text) for word in (stem, name))
            if not folder:
                break
            folder = os.path.dirname(folder)
        if not named:
            yield path, 1, "no CMakeLists.txt builds it"


def check_own_path(root, lines):
    """No file names the folder that the tree lies in, on whichever machine that is."""
    for number, line in enumerate(lines, 1):
        if os.path.abspath(root) + "/" in line:
            yield number, f"a path of this machine: {line.strip()[:80]}"


def check_tree(root):
    """All problems, as (path, line, problem)."""
    paths = files_of(root)
    problems = []
    for path in paths:
        try:
            text = read(root, path)
        except UnicodeDecodeError:
            if path.endswith(CODE):
                problems.append((path, 1, "not UTF-8"))
            continue
        if text and not text.endswith("\n") and path.endswith(CODE):
            problems.append((path, text.count("\n") + 1, "no newline at the end"))
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        for check in CHECKS:
            if check is check_includes and not path.endswith(CODE):
                continue
            problems += [(path, number, problem) for number, problem in check(path, lines)]
        problems += [(path, number, problem) for number, problem in check_own_path(root, lines)]
    problems += list(check_built(root, paths))
    return problems


def check_format(root):
    """Exit code of clang-format over the tree: 0 clean, 1 changes, 77 not installed."""
    program = shutil.which("clang-format") or shutil.which("clang-format-14")
    if program is None:
        print("clang-format is not installed: nothing checked")
        return 77
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if not re.search(r"version 14\.", version):
        print(f"{version.strip()}: the tree is formatted with version 14, nothing checked")
        return 77
    paths = [os.path.join(root, p) for p in files_of(root) if p.endswith((".h", ".cc", ".c", ".cu"))]
    failed = 0
    for begin in range(0, len(paths), 100):
        failed |= subprocess.run([program, "--dry-run", "-Werror"] + paths[begin:begin + 100]).returncode
    return 1 if failed else 0


def main(arguments):
    if len(arguments) == 2 and arguments[1] == "--format":
        return check_format(arguments[0])
    if len(arguments) != 1:
        print(__doc__)
        return 2
    problems = check_tree(arguments[0])
    for path, line, problem in problems:
        print(f"{path}:{line}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
