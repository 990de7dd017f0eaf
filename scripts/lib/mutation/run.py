"""Builds the sources with all faults, and tests one fault after the other."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from testrun.events import Progress

from .faults import REPOSITORY, Fault, switch_all

FOLDER = REPOSITORY / ".build-mutate"
TREE = FOLDER / "tree"
# How long tests may make no progress: none starts, ends or fails. Some first start a stack.
SILENCE_SECONDS = 120.0
POLL_SECONDS = 0.2


def write_tree(faults: list[Fault], tree: Path = TREE) -> None:
    """A copy of the sources with switchable faults; unchanged files are not touched."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY, check=True,
        stdout=subprocess.PIPE).stdout.decode().split("\0")
    names = {name for name in listed if name and (REPOSITORY / name).is_file()}
    for name in names:
        source, target = REPOSITORY / name, tree / name
        contents = source.read_bytes()
        here = [fault for fault in faults if fault.file == name]
        if here:
            contents = switch_all(contents.decode(), here).encode()
        if target.is_file() and target.read_bytes() == contents:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents)
        target.chmod(source.stat().st_mode & 0o777)
    for folder in ("Sources", "Tests", "Examples"):
        for path in (tree / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(tree)) not in names:
                path.unlink()


def build() -> Path:
    """The folder with programs and tests; throws if the sources do not compile."""
    command = ["swift", "build", "--package-path", str(TREE), "--scratch-path", str(FOLDER / "build")]
    environment = {**os.environ, "SYNCSERVER_WARNINGS_ARE_ERRORS": "1"}  # see Package.swift
    with open(FOLDER / "build.log", "wb") as log:
        subprocess.run([*command, "--build-tests"], check=True, stdout=log, stderr=log, env=environment)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(shown.stdout.strip())


class Trial:
    """Runs tests with or without a fault."""

    def __init__(self, programs: Path, logs: Path = FOLDER / "logs"):
        self.programs = programs
        self.logs = logs
        self.logs.mkdir(parents=True, exist_ok=True)

    def noticed_by(self, tests: str, fault: str) -> str | None:
        """The first of these tests that fails, or another problem; `None` if there is none. Ends with the first failure."""
        progress, status = self._run(tests, fault, goes_on=lambda progress: not progress.issues)
        if progress.issues:
            return next(iter(progress.issues)).rpartition("/")[0] or "a test"
        if status is None:
            return "silence in " + ", ".join(progress.running)
        return None if status == 0 and progress.is_complete else f"the process, which ended with {status}"

    def survivors(self, faults: Iterable[Fault], jobs: int) -> list[Fault]:
        """Tries each fault, and prints the result."""
        def attempt(fault: Fault) -> bool:
            noticed_by = self.noticed_by(fault.tests, fault.id)
            print(f"noticed   {fault.id}, by {noticed_by}" if noticed_by else f"SURVIVES  {fault.id}", flush=True)
            return noticed_by is None

        faults = list(faults)
        with ThreadPoolExecutor(jobs) as threads:
            return [fault for fault, survives in zip(faults, threads.map(attempt, faults)) if survives]

    def broken(self, faults: Iterable[Fault]) -> list[str]:
        """Filters whose tests fail without any fault, or that match no test: their results with a fault prove nothing.

        All tests run once, in one process.
        """
        filters = sorted({fault.tests for fault in faults})
        progress, _ = self._run("|".join(f"({tests})" for tests in filters), "")
        sound = [test for test in progress.ended if test not in progress.issues]
        unsound = [test for test in progress.names if test not in sound]
        return [tests for tests in filters if _fits(tests, unsound) or not _fits(tests, sound)]

    def _run(
        self, tests: str, fault: str, goes_on: Callable[[Progress], bool] = lambda _: True
    ) -> tuple[Progress, int | None]:
        """The progress of the tests, and the status of their process; `None` if it was killed."""
        name = fault or "without-a-fault"
        progress = Progress(self.logs / f"{name}.events")
        progress.path.unlink(missing_ok=True)
        environment = {**os.environ, "SYNC_MUTATION": fault, "SYNC_BIN_DIR": str(self.programs), "NO_COLOR": "1",
                       "SYNC_HISTORIES": "480"}
        with open(self.logs / f"{name}.log", "wb") as output:
            process = subprocess.Popen(
                [self.programs / "syncserverPackageTests.xctest", "--testing-library", "swift-testing",
                 "--event-stream-output-path", progress.path, "--event-stream-version", "0",
                 "--experimental-maximum-parallelization-width", "6", "--filter", tests],
                env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True)
            length, end = 0, time.monotonic() + SILENCE_SECONDS
            try:
                while process.poll() is None and time.monotonic() < end and goes_on(progress):
                    time.sleep(POLL_SECONDS)
                    progress.read()
                    if progress.length != length:
                        length, end = progress.length, time.monotonic() + SILENCE_SECONDS
                status = process.poll()
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        progress.read()
        return progress, status


def _fits(tests: str, names: Iterable[str]) -> bool:
    return any(re.search(tests, name) for name in names)
