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
FAKETIME = "libfaketimeMT.so.1"  # Debian's libfaketime; the variant for programs with threads


@dataclass
class Responders:
    """`count` processes of one command, which share a socket unless that is absent.

    With `clock`, such as +2h or -90s, their wall clock is off by that much; their monotonic clock is not.
    """

    layout: Layout
    name: str
    command: list
    count: int
    socket: Path | None
    clock: str | None = None
    # The beginning of the command line.
    wrapper: tuple = ()

    @property
    def log(self) -> Path:
        return self.layout.logs / f"{self.name}.log"

    @property
    def pids_file(self) -> Path:
        return self.layout.run / f"{self.name}.pids"

    def fingerprint(self, configuration: str) -> str:
        """Differs if a restart is needed: after a change of program, number or configuration."""
        digest = hashlib.sha256(configuration.encode()).hexdigest()
        program = Path(self.command[0]).resolve().stat()
        return f"{self.command} {self.count} {program.st_ino} {program.st_mtime_ns} {digest} {self.clock} {self.wrapper}"

    def up(self) -> None:
        self.pids_file.unlink(missing_ok=True)
        options = ["--count", self.count, "--pids", self.pids_file, "--log", self.log]
        if self.socket is not None:
            options += ["--socket", self.socket]
        process = start([LAUNCHER, *options, "--", *self.wrapper, *self._clock_command(), *self.command], self.log)

        def ready() -> bool:
            if process.poll() is not None:
                raise StackError(f"The launcher of {self.name} ended with {process.returncode}.", self.log)
            return len(self.pids()) == self.count

        if not wait_until(ready, START_SECONDS):
            raise StackError(f"{self.name} did not start within {START_SECONDS:.0f} s.", self.log)

    def _clock_command(self) -> list:
        """The command that makes a program see a different time; it executes the program (env(1))."""
        if not self.clock:
            return []
        found = sorted(Path("/usr/lib").glob(f"*/faketime/{FAKETIME}"))
        if not found:
            raise StackError(f"{FAKETIME} is not installed; scripts/bootstrap installs what is missing.")
        # Without FAKETIME_SHARED, the library would change the environment, next to which Swift looks for the
        # arguments.
        return ["/usr/bin/env", f"LD_PRELOAD={found[0]}", f"FAKETIME={self.clock}", "FAKETIME_DONT_FAKE_MONOTONIC=1",
                "FAKETIME_SHARED=none none"]

    def down(self) -> None:
        """Drains: the launcher asks its children to finish their work, and ends after the last of them."""
        entries = self._entries()
        launcher = {pid: started for pid, started, state in entries if state == "launcher"}
        stop(launcher, signal.SIGTERM, DRAIN_SECONDS)
        stop({pid: started for pid, started, _ in entries}, signal.SIGTERM, 1.0)
        self.pids_file.unlink(missing_ok=True)
        if self.socket is not None:
            self.socket.unlink(missing_ok=True)

    def is_running(self) -> bool:
        return bool(self.launcher_pids())

    def pids(self) -> list[int]:
        """The live responders, without the launcher."""
        return [pid for pid, _, state in self._entries() if state != "launcher"]

    def launcher_pids(self) -> list[int]:
        """The launcher, if it is alive."""
        return [pid for pid, _, state in self._entries() if state == "launcher"]

    def all_ready(self) -> bool:
        """Whether every responder has sent READY=1 (sd_notify(3)), as for systemd."""
        return [state for _, _, state in self._entries()].count("ready") == self.count

    def check(self) -> None:
        """Throws if the program keeps failing, so that callers do not wait for it."""
        failures = [line.split()[1] for line in self._lines() if line.startswith("failures")]
        if not self.is_running() or int(failures[0] if failures else 0) >= FAILURES_TO_GIVE_UP:
            raise StackError(f"{self.name} keeps failing.", self.log)

    def _lines(self) -> list[str]:
        try:
            return self.pids_file.read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []

    def _entries(self) -> list[tuple[int, str, str]]:
        """(pid, start time, state) of every listed process that is still the same."""
        entries = [line.split() for line in self._lines() if not line.startswith("failures")]
        return [(int(pid), started, state) for pid, started, state in entries if start_time(int(pid)) == started]
