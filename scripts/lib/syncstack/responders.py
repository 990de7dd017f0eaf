"""The launchers (scripts/lib/responders) of one stack, one for each role."""

import hashlib
import signal
from dataclasses import dataclass
from pathlib import Path

from .errors import StackError
from .layout import REPOSITORY, Layout
from .processes import start, start_time, stop, wait_until

LAUNCHER = REPOSITORY / "scripts" / "lib" / "responders"
START_SECONDS = 10.0
DRAIN_SECONDS = 50.0  # a request takes at most 40 s
FAILURES_TO_GIVE_UP = 4


@dataclass
class Responders:
    """`count` processes of one command, which share a socket unless that is absent."""

    layout: Layout
    name: str
    command: list
    count: int
    socket: Path | None

    @property
    def log(self) -> Path:
        return self.layout.logs / f"{self.name}.log"

    @property
    def pids_file(self) -> Path:
        return self.layout.run / f"{self.name}.pids"

    def fingerprint(self, configuration: str) -> str:
        """Differs if a restart is needed: another program, number or configuration."""
        digest = hashlib.sha256(configuration.encode()).hexdigest()
        program = Path(self.command[0]).resolve().stat()
        return f"{self.command} {self.count} {program.st_ino} {program.st_mtime_ns} {digest}"

    def up(self) -> None:
        self.pids_file.unlink(missing_ok=True)
        options = ["--count", self.count, "--pids", self.pids_file, "--log", self.log]
        if self.socket is not None:
            options += ["--socket", self.socket]
        process = start([LAUNCHER, *options, "--", *self.command], self.log)

        def ready() -> bool:
            if process.poll() is not None:
                raise StackError(f"The launcher of {self.name} ended with {process.returncode}.", self.log)
            return len(self.pids()) == self.count

        if not wait_until(ready, START_SECONDS):
            raise StackError(f"{self.name} did not start within {START_SECONDS:.0f} s.", self.log)

    def down(self) -> None:
        """Drains: the launcher asks its children to finish what they have, and ends after the last of them."""
        entries = self._entries()
        launcher = {pid: started for pid, started, state in entries if state == "launcher"}
        stop(launcher, signal.SIGTERM, DRAIN_SECONDS)
        stop({pid: started for pid, started, _ in entries}, signal.SIGTERM, 1.0)
        self.pids_file.unlink(missing_ok=True)
        if self.socket is not None:
            self.socket.unlink(missing_ok=True)

    def is_running(self) -> bool:
        return any(state == "launcher" for _, _, state in self._entries())

    def pids(self) -> list[int]:
        """The responders that live now, without the launcher."""
        return [pid for pid, _, state in self._entries() if state != "launcher"]

    def all_ready(self) -> bool:
        """Whether every responder has said READY=1 (sd_notify(3)), as systemd wants to hear it too."""
        return [state for _, _, state in self._entries()].count("ready") == self.count

    def check(self) -> None:
        """Throws if the program keeps failing, so that nobody waits for it in vain."""
        failures = [line.split()[1] for line in self._lines() if line.startswith("failures")]
        if not self.is_running() or int(failures[0] if failures else 0) >= FAILURES_TO_GIVE_UP:
            raise StackError(f"{self.name} keeps failing.", self.log)

    def _lines(self) -> list[str]:
        try:
            return self.pids_file.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []

    def _entries(self) -> list[tuple[int, str, str]]:
        """(pid, start time, state) of every listed process that still is the one meant."""
        entries = [line.split() for line in self._lines() if not line.startswith("failures")]
        return [(int(pid), started, state) for pid, started, state in entries if start_time(int(pid)) == started]
