"""scripts/stack, with unusable directories.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

STACK = Path(__file__).resolve().parents[2] / "scripts" / "stack"


class DirectoryTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "stack"
        self.folder.mkdir()
        # Never executed.
        self.programs = Path(folder.name) / "programs"
        self.programs.mkdir()
        for program in ("syncd", "syncctl", "syncsandbox"):
            (self.programs / program).touch(mode=0o755)

    def refusal(self, verb: str, directory: Path) -> str:
        """The message on standard error, one line."""
        ended = subprocess.run(
            [STACK, verb, directory], env=os.environ | {"SYNC_BIN_DIR": str(self.programs)}, capture_output=True,
            text=True, timeout=60, check=False)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        return ended.stderr

    def test_file(self) -> None:
        """A file in the directory's place is reported."""
        path = self.folder / "file"
        path.touch()
        for verb in ("up", "env", "down"):
            self.assertIn(f"stack: {path}", self.refusal(verb, path))

    def test_impossible(self) -> None:
        """A directory that cannot be created is reported."""
        self.assertIn("stack: /proc/stack: No such file or directory", self.refusal("up", Path("/proc/stack")))

    def test_empty(self) -> None:
        """Without a stack, env says how to create one."""
        self.assertIn("scripts/stack up makes one", self.refusal("env", self.folder))


if __name__ == "__main__":
    unittest.main()
