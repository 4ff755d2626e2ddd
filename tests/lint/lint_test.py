#!/usr/bin/env python3
"""The linter itself: each rule finds what breaks it and lets pass what does not."""
import os
import shutil
import tempfile
import unittest

import lint

OPENING = "// A file.\n"


class LintTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="traind-lint-")
        self.addCleanup(shutil.rmtree, self.root)

    def problems(self, path, text, built=True):
        """What is found in a tree of this one file."""
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
        if built and path.endswith((".cc", ".cu")):
            with open(os.path.join(os.path.dirname(full), "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write(f"add_library(x {os.path.basename(path)})\n")
        found = [problem for _, _, problem in lint.check_tree(self.root)]
        shutil.rmtree(self.root)
        os.makedirs(self.root)
        return found

    def assert_included(self, path, include):
        self.assertEqual(self.problems(path, OPENING + include + "\n"), [], f"{path}: {include}")

    def assert_refused(self, path, include):
        found = self.problems(path, OPENING + include + "\n")
        self.assertEqual(len(found), 1, f"{path}: {include}: {found}")

    def test_the_table_of_rooms(self):
        for path, header in [
                ("engine/base/a.cc", "engine/base/b.h"), ("grammar/a.cc", "engine/base/b.h"),
                ("clients/cli/a.cc", "capi/traind.h"), ("engine/plan/a.h", "engine/spec/model.h"),
                ("engine/model/a.h", "engine/plan/memory.h"), ("engine/train/a.h", "engine/plan/schedule.h"),
                ("engine/worker/a.cc", "engine/train/b.h"), ("daemon/statements/a.cc", "daemon/catalog/catalog.h"),
                ("daemon/a.cc", "engine/format/manifest.h"), ("cuda/ops/a.cu", "engine/ops/linear.h"),
                ("tests/unit/base/a_test.cc", "engine/train/b.h")]:
            self.assert_included(path, f'#include "{header}"')
        for path, header in [
                ("engine/base/a.cc", "engine/spec/b.h"), ("grammar/a.cc", "engine/spec/model.h"),
                ("capi/a.cc", "grammar/ast.h"), ("clients/cli/a.cc", "engine/base/json.h"),
                ("clients/cli/a.cc", "capi/client.h"), ("engine/spec/a.h", "engine/plan/planner.h"),
                ("engine/plan/a.h", "engine/device/device.h"), ("engine/ops/a.h", "engine/model/model.h"),
                ("engine/model/a.h", "engine/plan/planner.h"), ("engine/data/a.h", "engine/tensor/tensor.h"),
                ("engine/train/a.h", "engine/worker/b.h"), ("engine/worker/a.cc", "daemon/statement.h"),
                ("daemon/a.cc", "engine/format/safetensors.h"), ("daemon/a.cc", "engine/train/step.h"),
                ("daemon/a.cc", "cuda/device.h"), ("cuda/a.cu", "daemon/statement.h"),
                ("engine/base/a.cc", "tests/support/test.h")]:
            self.assert_refused(path, f'#include "{header}"')

    def test_spellings_of_an_include(self):
        self.assert_refused("grammar/a.cc", '  #  include   "engine/spec/model.h"')
        self.assert_refused("grammar/a.cc", '#include "../engine/base/json.h"')
        self.assert_refused("grammar/a.y", '#include "engine/spec/model.h"')
        self.assert_included("grammar/a.cc", '// #include "engine/spec/model.h"')

    def test_plans_are_pure(self):
        for header in ['"engine/base/io.h"', '"engine/base/clock.h"', "<filesystem>", "<chrono>", "<unistd.h>"]:
            self.assert_refused("engine/plan/a.cc", f"#include {header}")
        self.assert_included("engine/plan/a.cc", '#include "engine/base/json.h"')

    def test_external_headers(self):
        for path, header in [
                ("daemon/catalog/a.cc", "sqlite3.h"), ("daemon/a.cc", "uv.h"), ("clients/cli/a.cc", "uv.h"),
                ("cuda/a.cu", "cublasLt.h"), ("engine/ops/a.cc", "oneapi/dnnl/dnnl.hpp"), ("tests/a/b_test.cc", "sqlite3.h"),
                ("engine/base/json.h", "nlohmann/json.hpp"), ("clients/cli/a.cc", "histedit.h")]:
            self.assert_included(path, f"#include <{header}>")
        for path, header in [
                ("daemon/statements/a.cc", "sqlite3.h"), ("engine/base/a.cc", "uv.h"), ("capi/a.cc", "uv.h"),
                ("engine/ops/a.cc", "cuda_runtime.h"), ("daemon/a.cc", "nccl.h"), ("engine/model/a.cc", "oneapi/dnnl/dnnl.hpp"),
                ("daemon/a.cc", "nlohmann/json.hpp"), ("engine/train/a.cc", "spdlog/spdlog.h"), ("capi/a.cc", "histedit.h")]:
            self.assert_refused(path, f"#include <{header}>")

    def test_files_open_with_their_purpose(self):
        self.assertEqual(self.problems("engine/base/a.h", "/* A file. */\n"), [])
        self.assertEqual(self.problems("scripts/a.py", "#!/usr/bin/env python3\n\"\"\"A script.\"\"\"\n"), [])
        for path, text in [("engine/base/a.h", "#pragma once\n"), ("engine/base/a.cc", "\n// Late.\n"),
                           ("engine/base/a.h", ""), ("cmake/a.cmake", "set(a b)\n"), ("tests/a.py", "import os\n")]:
            self.assertEqual(len(self.problems(path, text)), 1, path)

    def test_forbidden_words(self):
        for text in ["// TO" + "DO: later", "// FIX" + "ME", f"// see {self.root}/main", "int x; // a place" + "holder for it", "// St" + "ub.",
                     "// not yet imple" + "mented"]:
            self.assertEqual(len(self.problems("engine/base/a.h", OPENING + text + "\n")), 1, text)
            self.assertEqual(len(self.problems("docs/a.md", text + "\n")), 1, text)
        for text in ["// homework/main", "// todo_list", "// mkdtemp(\"XXXXXX\")", "// see /usr/share/doc", "// bool placeholder = true;"]:
            self.assertEqual(self.problems("engine/base/a.h", OPENING + text + "\n"), [], text)

    def test_whitespace(self):
        for text in ["int a; \n", "\tint a;\n", "int a;\n\n", "int a;"]:
            self.assertEqual(len(self.problems("engine/base/a.h", OPENING + text)), 1, repr(text))

    def test_bytes_that_are_no_text(self):
        os.makedirs(os.path.join(self.root, "engine/base"))
        for path, expected in [("engine/base/a.h", 1), ("docs.png", 0)]:
            with open(os.path.join(self.root, path), "wb") as file:
                file.write(b"// \xff\n")
            self.assertEqual(len(lint.check_tree(self.root)), expected)
            os.remove(os.path.join(self.root, path))

    def test_every_source_is_built(self):
        self.assertEqual(self.problems("engine/base/a.cc", OPENING, built=False), ["no CMakeLists.txt builds it"])
        self.assertEqual(self.problems("engine/base/a.cc", OPENING), [])

    def test_folders_that_are_no_source(self):
        for folder in ["build/x", ".git"]:
            self.assertEqual(self.problems(f"{folder}/a.h", "TO" + "DO"), [])

    def test_the_format(self):
        if lint.check_format(self.root) == 77:
            self.skipTest("no clang-format")
        shutil.copy(os.path.join(os.path.dirname(lint.__file__), "../../.clang-format"), self.root)
        path = os.path.join(self.root, "a.cc")
        for text, expected in [("// A file.\nint a;\n", 0), ("// A file.\nint   a ;\n", 1)]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertEqual(lint.check_format(self.root), expected)


if __name__ == "__main__":
    unittest.main()
