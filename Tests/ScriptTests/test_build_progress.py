"""The display of a build's progress.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import importlib.machinery
import importlib.util
import io
import re
import unittest
from pathlib import Path

SCRIPT = str(Path(__file__).resolve().parents[2] / "scripts" / "lib" / "build-progress")


def load():
    loader = importlib.machinery.SourceFileLoader("build_progress", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class BuildProgressTests(unittest.TestCase):
    script = load()

    def shown(self, lines: list[str], width: int | None = None) -> str:
        out = io.StringIO()
        self.script.show(lines, self.script.Progress("syncd", out, width))
        return re.sub(r"\d+ s\n$", "N s\n", out.getvalue())

    def test_quarters(self) -> None:
        """Without a terminal, there is a line for each quarter, and the time at the end."""
        lines = ["Building for production...\n", *(f"[{step}/100] Compiling X\n" for step in range(101))]
        self.assertEqual(self.shown(lines), "".join(
            f"   syncd: {step} of 100\n" for step in (25, 50, 75, 100)) + "   syncd: N s\n")

    def test_terminal(self) -> None:
        """On a terminal, one line is overwritten, which never exceeds the terminal's width."""
        shown = self.shown(["[1/7] Compiling Posix File.swift\n", "[7/7] Linking syncd\n"], width=31)
        self.assertEqual(
            shown, "\r\x1b[K   syncd: 1 of 7  Compiling Po\r\x1b[K   syncd: 7 of 7  Linking sync\r\x1b[K   syncd: N s\n")

    def test_everything_else(self) -> None:
        """Errors and warnings are forwarded, except for one warning that cannot be fixed."""
        error = "/a/b.swift:1:1: error: cannot find 'x' in scope\n"
        noise = "/opt/swift/lib/libFoundationEssentials.a(Data.o): function f: warning: the use of `mktemp' is dangerous\n"
        other = "/a/libx.a(Data.o): function f: warning: the use of `mktemp' is dangerous\n"
        self.assertEqual(self.shown([error, noise, other]), error + other + "   syncd: N s\n")


if __name__ == "__main__":
    unittest.main()
