"""Builds the sources with all faults in them, and tries one fault after the other."""

import os
import signal
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .faults import REPOSITORY, Fault, switch_all

FOLDER = REPOSITORY / ".build-mutate"
TREE = FOLDER / "tree"
LIMIT_SECONDS = 300


def write_tree(faults: list[Fault], tree: Path = TREE) -> None:
    """A copy of the sources with the faults switched; files that stay the same are not touched."""
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
    for folder in ("Sources", "Tests"):
        for path in (tree / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(tree)) not in names:
                path.unlink()


def build() -> Path:
    """The folder with programs and tests; throws if the sources do not compile."""
    command = ["swift", "build", "--package-path", str(TREE), "--scratch-path", str(FOLDER / "build")]
    with open(FOLDER / "build.log", "wb") as log:
        subprocess.run([*command, "--build-tests"], check=True, stdout=log, stderr=log)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(shown.stdout.strip())


class Trial:
    """Runs tests with a fault, or with none."""

    def __init__(self, programs: Path):
        self.programs = programs
        self.logs = FOLDER / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    def passes(self, tests: str, fault: str = "") -> bool:
        """Whether all of these tests pass; one that comes to no end does not."""
        log = self.logs / f"{fault or 'without-a-fault'}.log"
        environment = {**os.environ, "SYNC_MUTATION": fault, "SYNC_BIN_DIR": str(self.programs), "NO_COLOR": "1"}
        with open(log, "ab" if not fault else "wb") as output:
            process = subprocess.Popen(
                [self.programs / "syncserverPackageTests.xctest", "--testing-library", "swift-testing",
                 "--experimental-maximum-parallelization-width", "6", "--filter", tests],
                env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True)
            try:
                return process.wait(LIMIT_SECONDS) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def survivors(self, faults: Iterable[Fault], jobs: int) -> list[Fault]:
        """Tries each fault, and says what came of it."""
        def attempt(fault: Fault) -> bool:
            survives = self.passes(fault.tests, fault.id)
            print(f"{'SURVIVES' if survives else 'noticed '}  {fault.id}", flush=True)
            return survives

        faults = list(faults)
        with ThreadPoolExecutor(jobs) as threads:
            return [fault for fault, survives in zip(faults, threads.map(attempt, faults)) if survives]

    def broken(self, faults: Iterable[Fault], jobs: int) -> list[str]:
        """Filters whose tests fail without any fault: what they say of one is worth nothing."""
        filters = sorted({fault.tests for fault in faults})
        with ThreadPoolExecutor(jobs) as threads:
            return [tests for tests, passes in zip(filters, threads.map(self.passes, filters)) if not passes]
