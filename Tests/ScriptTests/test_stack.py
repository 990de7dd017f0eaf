"""scripts/stack with unusable directories, and in a shell with a low limit of open files.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
STACK = REPOSITORY / "scripts" / "stack"
# The soft limit of a user's shell on Debian, and a hard limit that is just sufficient.
SOFT, HARD = 1_024, 4_096


class DirectoryTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "stack"
        self.folder.mkdir()
        # This program is never executed.
        self.programs = Path(folder.name) / "programs"
        self.programs.mkdir()
        for program in ("syncd", "syncctl", "syncsandbox"):
            (self.programs / program).touch(mode=0o755)

    def refusal(self, verb: str, directory: Path, *wrapper: str) -> str:
        """The message on standard error, which is one line."""
        ended = subprocess.run(
            [*wrapper, STACK, verb, directory], env=os.environ | {"SYNC_BIN_DIR": str(self.programs)}, capture_output=True,
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
        self.assertIn("scripts/stack up creates one", self.refusal("env", self.folder))

    def test_open_files(self) -> None:
        """A hard limit that is too low is reported before anything starts."""
        told = self.refusal("up", self.folder / "few", "prlimit", f"--nofile={SOFT}:{HARD - 1}", "--")
        self.assertIn(f"may open {HARD - 1} files here, but a stack needs {HARD}", told)
        self.assertFalse((self.folder / "few").exists())


class OpenFilesTests(unittest.TestCase):
    def test_soft_limit(self) -> None:
        """Each process of a stack raises the shell's soft limit to the hard one, and none has fewer connections."""
        with tempfile.TemporaryDirectory() as folder:
            started = subprocess.run(
                ["prlimit", f"--nofile={SOFT}:{HARD}", "--", STACK, "up", folder], capture_output=True, text=True, timeout=300,
                check=False)
            try:
                self.assertEqual(started.returncode, 0, started.stderr)
                lines = subprocess.run([STACK, "env", folder], capture_output=True, text=True, check=True).stdout
                values = dict(part.partition("=")[::2] for part in shlex.split(lines))
                pids = {name: values[name].split() for name in values if name.startswith("PIDS_")}
                pids["PIDS_nginx"] = pids["PIDS_nginx"][1:]  # nginx raises the limit in its workers
                del pids["PIDS_launchers"]
                for name, numbers in pids.items():
                    self.assertTrue(numbers, name)
                    for number in numbers:
                        limits = Path(f"/proc/{number}/limits").read_text(encoding="ascii")
                        self.assertRegex(limits, rf"Max open files +{HARD} +{HARD} ", name)
                log = (Path(folder) / "log" / "nginx-error.log").read_text(encoding="utf-8", errors="replace")
                self.assertIsNone(re.search(r"(?i)open.file|RLIMIT", log), log)
                log = (Path(folder) / "log" / "mariadb.log").read_text(encoding="utf-8", errors="replace")
                self.assertEqual([now for now, wanted in re.findall(r"max_connections: (\d+) \(was (\d+)\)", log) if now != wanted], [])
            finally:
                subprocess.run([STACK, "down", folder], check=True)


if __name__ == "__main__":
    unittest.main()
