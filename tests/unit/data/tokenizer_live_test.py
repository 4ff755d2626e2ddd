#!/usr/bin/env python3
"""Makes golden tokenizers anew with the installed `tokenizers` package and runs the golden test on them.

tokenizer_live_test.py PROGRAM   exits with 77, which CTest counts as skipped, where the package is absent. $TRAIND_PYTHON
                                 names an interpreter that has it, if this one has not.
"""
import os
import subprocess
import sys
import tempfile

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/tokenizers")


def main():
    python = os.environ.get("TRAIND_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import tokenizers"], stderr=subprocess.DEVNULL).returncode != 0:
        print(f"the package `tokenizers` is not installed for {python}: skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, os.path.join(GOLDEN, "make_golden.py"), folder], check=True)
        return subprocess.run([sys.argv[1]], env=os.environ | {"TRAIND_TOKENIZERS": folder}).returncode


if __name__ == "__main__":
    sys.exit(main())
