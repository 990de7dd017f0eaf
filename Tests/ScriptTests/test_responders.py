"""The launcher of the stacks, scripts/lib/responders, with small programs in place of syncd.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LAUNCHER = Path(__file__).resolve().parents[2] / "scripts" / "lib" / "responders"
PATIENCE_SECONDS = 20.0

# Reports READY=1, and then answers each connection with its own pid; SIGTERM ends it cleanly.
RESPONDER = """
import os, signal, socket, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
assert os.environ["LISTEN_FDS"] == "1" and os.environ["LISTEN_PID"] == str(os.getpid())
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.sendto(b"READY=1\\nSTATUS=testing", "\\0" + os.environ["NOTIFY_SOCKET"][1:])
listener = socket.socket(fileno=3)
# A signal between the interpreter's signal check and accept(2) is handled after the next time-out.
listener.settimeout(0.2)
while True:
    try:
        connection, _ = listener.accept()
    except TimeoutError:
        continue
    connection.sendall(str(os.getpid()).encode())
    connection.close()
"""


class ResponderTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.pids_file = self.folder / "pids"
        self.socket_path = self.folder / "socket"

    def launch(self, program: str, count: int) -> subprocess.Popen:
        launcher = subprocess.Popen([
            LAUNCHER, "--count", str(count), "--pids", self.pids_file, "--log", self.folder / "log",
            "--socket", self.socket_path, "--", sys.executable, "-c", program])
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        return launcher

    def pids(self, state: str) -> set[int]:
        try:
            lines = self.pids_file.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return set()
        return {int(line.split()[0]) for line in lines if line.endswith(" " + state)}

    def eventually(self, condition) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"not within {PATIENCE_SECONDS} s; the log:\n{self.log()}")
            time.sleep(0.01)

    def ask(self) -> int:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(self.socket_path))
            return int(connection.recv(20))

    def test_all_children_share_the_socket_and_become_ready(self) -> None:
        self.launch(RESPONDER, 3)

        self.eventually(lambda: len(self.pids("ready")) == 3)

        self.assertIn(self.ask(), self.pids("ready"))

    def test_a_killed_child_is_replaced_and_no_connection_is_refused(self) -> None:
        self.launch(RESPONDER, 1)
        self.eventually(lambda: self.pids("ready"))
        first = self.ask()

        os.kill(first, signal.SIGKILL)
        # Until then, it may still accept a connection and leave it without a reply.
        self.eventually(lambda: not is_running(first))

        self.assertNotEqual(self.ask(), first)

    def test_a_child_that_ends_cleanly_is_replaced_too(self) -> None:
        self.launch(RESPONDER, 2)
        self.eventually(lambda: len(self.pids("ready")) == 2)
        first = self.ask()

        os.kill(first, signal.SIGTERM)

        self.eventually(lambda: len(self.pids("ready") - {first}) == 2)

    def test_the_launcher_ends_after_its_last_child(self) -> None:
        launcher = self.launch(RESPONDER, 2)
        self.eventually(lambda: len(self.pids("ready")) == 2)
        children = self.pids("ready")

        launcher.terminate()

        self.assertEqual(launcher.wait(PATIENCE_SECONDS), 0)
        for pid in children:
            self.assertFalse(Path(f"/proc/{pid}").exists())
        self.assertFalse(self.pids_file.exists())

    def test_children_of_a_killed_launcher_end(self) -> None:
        launcher = self.launch(RESPONDER, 2)
        self.eventually(lambda: len(self.pids("ready")) == 2)
        children = self.pids("ready")

        launcher.kill()

        self.eventually(lambda: not any(is_running(pid) for pid in children))

    def test_failures_are_counted_and_slow_the_restarts_down(self) -> None:
        self.launch("raise SystemExit(3)", 1)

        self.eventually(lambda: "failures 3" in self.read_pids_file())

        self.assertIn("restart in 0.4 s", self.log())

    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def read_pids_file(self) -> str:
        return self.pids_file.read_text(encoding="ascii") if self.pids_file.exists() else ""


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
