"""Types the developer documents' commands on a stack: README, docs/sandbox.md, docs/syncdir.md.

Needs the programs of scripts/build release, and syncdir from `swift build --build-tests`.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from demonstration.web import Website  # noqa: E402
from documents.transcript import Answers, Transcript  # noqa: E402

# Commands that play many requests take minutes on a busy machine.
SECONDS = 600.0
FILE = "0B7C9A52-8F0E-4D6B-A1C3-52E1D7F4B9C8"
PROGRAMS = REPOSITORY / ".build" / "debug"


class Terminal:
    """A shell that keeps its variables between commands, with a separate home that represents the clone."""

    def __init__(self, home: Path):
        home.mkdir()
        self.home = home
        self.variables = home / ".variables"
        self.variables.touch()
        (home / "scripts").symlink_to(REPOSITORY / "scripts")

    def start(self, command: str, **options) -> subprocess.Popen:
        script = f". {self.variables}; set -o allexport; {command}\nstatus=$?; export -p >{self.variables}; exit $status"
        environment = {name: os.environ[name] for name in ("LANG", "USER", "TMPDIR") if name in os.environ}
        return subprocess.Popen(
            ["/bin/bash", "-c", script], cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=environment | {
                "CLONE": str(REPOSITORY), "HOME": str(self.home), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}, **options)

    def type(self, command: str, _answers: Answers | None = None) -> tuple[int, str]:
        process = self.start(command)
        written, _ = process.communicate(timeout=SECONDS)
        return process.returncode, written.replace(str(self.home), "~")


class WalkthroughTests(unittest.TestCase):
    terminal: Terminal

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.terminal = Terminal(cls.folder / "home")
        cls.addClassCleanup(cls.terminal.type, "scripts/stack down .stack/mine")

    def chapter(self, document: str, name: str, terminal: Terminal | None = None) -> Transcript:
        return Transcript(self, document, name, (terminal or self.terminal).type)

    def inside(self, command: str) -> str:
        status, written = self.terminal.type(command)
        self.assertEqual(status, 0, written)
        return written

    def test_demonstration(self) -> None:
        """README: the demonstration, left running, and its removal."""
        run = {"make run": '"$CLONE"/scripts/run ~/.stack/run'}
        page = self.chapter("README.md", "demonstration")
        written = page.type("make run", run, shown=False)
        self.assertIn("everything arrived as it was sent", written)
        # In a different folder than make's.
        self.assertIn("`scripts/stack down ~/.stack/run` stops it", written)
        addresses = self.chapter("docs/syncdir.md", "demonstration-addresses")
        self.assertIn("SYNC_HTTP_URL=", addresses.type("scripts/stack env .stack/run", shown=False))
        page.type("make stop", {"make stop": "scripts/stack down .stack/run"})
        page.compare()
        addresses.compare()

    def test_names(self) -> None:
        """CONTRIBUTING: the stack's name server explains failures with names."""
        page = self.chapter("CONTRIBUTING.md", "names")
        self.assertIn("usage: ", page.type("scripts/lib/resolver --help", shown=False))
        page.compare()

    def test_faults(self) -> None:
        """docs/faults.md: a single cell of the catalogue."""
        page = self.chapter("docs/faults.md", "faults")
        self.assertIn("1 passed, 0 failed", page.type("scripts/faults --provider google", shown=False))
        page.compare()

    def test_attack(self) -> None:
        """CONTRIBUTING: one attack, selected by name; here for a few seconds."""
        page = self.chapter("CONTRIBUTING.md", "attack")
        page.type("scripts/attack NAME", {"NAME": "large_headers --small"}, shown=False)
        page.compare()

    def test_stack(self) -> None:
        """README: a separate stack, the server's health, and an account."""
        page = self.chapter("README.md", "stack")
        page.type("scripts/stack up .stack/mine &&", shown=False)
        page.type('curl --cacert "$CA_FILE" "$SYNC_URL/HealthCheck"', shown=False)
        person = page.type("curl -H 'Content-Type: application/json' \"$SANDBOX_URL/sandbox/accounts\"", shown=False)
        self.assertEqual(json.loads(person[person.index("{"):])["name"], "Alice")
        self.walk_through_sandbox()
        self.walk_through_syncdir()
        page.type("scripts/stack down .stack/mine")
        page.compare()

    def walk_through_sandbox(self) -> None:
        """docs/sandbox.md: accounts, an app's requests by hand, changes to a person's files, and faults."""
        page = self.chapter("docs/sandbox.md", "sandbox")
        page.type("scripts/stack up .stack/mine", shown=False)
        page.type('eval "$(scripts/stack env .stack/mine)"')
        page.type('curl "$SANDBOX_URL/sandbox/accounts"', shown=False)
        page.type("curl -H 'Content-Type: application/json' \"$SANDBOX_URL/sandbox/accounts\"", shown=False)
        page.type("GROUP=$(cat")
        page.type("curl -s -H 'Accept: text/plain'")
        page.type('curl --cacert "$CA_FILE" -H @alice -X POST', shown=False)
        self.inside(
            "echo hello >hello; echo other >other.jpg; curl -s --fail --cacert $CA_FILE -H @alice --data-binary @hello "
            f'"$SYNC_URL/UploadFile?sharingGroupUUID=$GROUP&fileUUID={FILE}&mimeType=text/plain'
            '&fileVersion=0&masterVersion=0&checkSum=$(md5sum <hello | cut -c1-32)" && curl -s --fail --cacert $CA_FILE '
            '-H @alice -X POST "$SYNC_URL/DoneUploads?masterVersion=0&sharingGroupUUID=$GROUP"')
        sandbox = Website(self.inside("printf %s \"$SANDBOX_URL\""))
        ((account, name),) = [
            (account["id"], file["name"]) for account in sandbox.json("GET", "/sandbox/accounts")
            for file in sandbox.json("GET", f"/sandbox/accounts/{account['id']}/files")
            if FILE in file["name"].upper()]
        self.inside(f"ID={shlex.quote(str(account))} NAME={shlex.quote(name)}")
        download = (
            "curl -s -i --cacert $CA_FILE -H @alice \"$SYNC_URL/DownloadFile?sharingGroupUUID=$GROUP&masterVersion=1"
            f'&fileUUID={FILE}&fileVersion=0"')
        page.type("curl -X PUT --data-binary @other.jpg", shown=False)
        self.assertIn('"contentsChanged":true', self.inside(download))
        page.type("curl -X DELETE", shown=False)
        self.assertIn('gone', self.inside(download))
        page.type("curl -H 'Content-Type: application/json' \"$SANDBOX_URL/sandbox/faults\"", shown=False)
        self.assertIn("/upload/drive/v3/files", self.inside('curl -s "$SANDBOX_URL/sandbox/faults"'))
        page.compare()

    def walk_through_syncdir(self) -> None:
        """docs/syncdir.md: two people with synchronised directories."""
        page = self.chapter("docs/syncdir.md", "syncdir")
        page.type("syncdir sign-in --server \"$SYNC_HTTP_URL\"")
        page.type("syncdir create-group Notes")
        code = page.type("syncdir invite Notes").strip().splitlines()[-1]
        other = Terminal(self.folder / "other")
        other.variables.write_bytes(self.terminal.variables.read_bytes().replace(
            str(self.terminal.home).encode(), str(other.home).encode()))
        status, written = other.type(
            'syncdir sign-in --server "$SYNC_HTTP_URL" --sandbox "$SANDBOX_URL" --sandbox-person Bea')
        self.assertEqual(status, 0, written)
        theirs = self.chapter("docs/syncdir.md", "syncdir-join", other)
        theirs.type("syncdir join", {"4F6A…": code})
        page.type("mkdir -p ~/notes")
        theirs.type("mkdir -p ~/their-notes")
        (self.terminal.home / "notes" / "milk.txt").write_text("milk\n", encoding="ascii")
        watches = [
            each.start("exec " + command.mention(f"syncdir watch ~/{folder}"), start_new_session=True)
            for each, command, folder in ((self.terminal, page, "notes"), (other, theirs, "their-notes"))]
        try:
            copy = other.home / "their-notes" / "milk.txt"
            deadline = time.monotonic() + SECONDS
            while not copy.exists():
                self.assertLess(time.monotonic(), deadline, "the other person does not receive the file")
                for each in watches:
                    self.assertIsNone(each.poll(), each.poll() and each.stdout.read())
                time.sleep(0.1)
            self.assertEqual(copy.read_text(encoding="ascii"), "milk\n")
            page.type("syncdir status", {"status": "status ~/notes"})
        finally:
            for each in watches:
                each.send_signal(signal.SIGINT)
                each.communicate(timeout=SECONDS)
        page.compare()
        theirs.compare()


if __name__ == "__main__":
    unittest.main()
