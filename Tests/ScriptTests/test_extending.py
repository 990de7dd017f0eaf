"""The steps of docs/extending.md: how scripts/check-extending reads and applies them.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from extending.compiler import has_complete_switch, plain  # noqa: E402
from extending.document import Problem, follow, steps  # noqa: E402


class StepTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        (self.tree / "a.swift").write_text("one\n\ntwo\nthree\ntwo\n", encoding="utf-8")

    def result(self, document: str) -> str:
        for step in steps(document):
            follow(step, self.tree)
        return (self.tree / "a.swift").read_text(encoding="utf-8")

    def test_files_and_commands(self) -> None:
        """A file is at the path before its block; commands run in the tree."""
        self.result("Create\n`new/b.swift`:\n\n```swift\nlet b = 1\n```\n\n```sh\ncat new/b.swift >> a.swift\n```\n")
        self.assertTrue((self.tree / "a.swift").read_text(encoding="utf-8").endswith("two\nlet b = 1\n"))

    def test_diff(self) -> None:
        """Each edit of a diff replaces the one place that has its lines; an empty line need not begin with a blank."""
        self.assertEqual(
            self.result("```diff\n--- a.swift\n one\n\n-two\n+2\n three\n@@\n+zero\n one\n```\n"), "zero\none\n\n2\nthree\ntwo\n")

    def test_what_cannot_be_followed(self) -> None:
        """An edit whose place is missing, repeated or part of a line, one that changes nothing, and other mistakes."""
        for mistake in (
                "```diff\n--- a.swift\n-four\n```\n", "```diff\n--- a.swift\n two\n+x\n```\n",
                "```diff\n--- a.swift\n-thre\n```\n", "```diff\n--- a.swift\n three\n```\n",
                "```diff\n--- b.swift\n-two\n```\n", "```sh\nfalse\n```\n", "Text:\n\n```swift\nlet b = 1\n```\n"):
            with self.subTest(mistake), self.assertRaises(Problem):
                self.result(mistake)


class CompilerTests(unittest.TestCase):
    def test_arguments(self) -> None:
        """The arguments of an incremental build are omitted, but not those that are passed to another program."""
        self.assertEqual(
            list(plain(["swiftc", "-c", "@list", "-o", "x", "-j2", "-g", "-Xcc", "-g", "-Onone"])),
            ["swiftc", "-Xcc", "-g", "-Onone"])

    def test_switches(self) -> None:
        """A new case may break a switch without a default."""
        self.assertFalse(has_complete_switch("switch x {\n    case .a: 1\n    default: 2\n}\n"))
        self.assertTrue(has_complete_switch("switch x {\ndefault: 2\n}\nlet y = switch x { case .a: 1 }\n"))


if __name__ == "__main__":
    unittest.main()
