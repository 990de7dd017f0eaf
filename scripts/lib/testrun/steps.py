"""Steps of a run that are commands: each writes a log, and is counted by its last output."""

import re
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .account import LINES_OF_A_REASON, Account
from .stalls import StallWatch

REPOSITORY = Path(__file__).resolve().parents[3]
LONG_SECONDS = 10
LINES_SHOWN = 25


def closing_line(text: str) -> tuple[int, list[str]]:
    """For scripts that end in "N passed, N failed", and for the runner of Swift's tests."""
    match = re.findall(r"^(\d+) passed, (\d+) failed$", text, re.MULTILINE)
    if match:
        return int(match[-1][0]), ["something"] * int(match[-1][1])
    match = re.findall(r"Test run with (\d+) tests? (?:in \d+ suites? )?passed", text)
    return (int(match[-1]) if match else 0), []


def verdicts(text: str) -> tuple[int, list[str]]:
    """For scripts/check: a line for each check."""
    return len(re.findall(r"^ok    ", text, re.MULTILINE)), re.findall(r"^FAIL  (.*)$", text, re.MULTILINE)


def unittest_results(text: str) -> tuple[int, list[str]]:
    """For Python's unittest, whose failures begin with their names."""
    ran = re.search(r"^Ran (\d+) tests?", text, re.MULTILINE)
    # A test may fail in several subtests.
    failed = list(dict.fromkeys(re.findall(r"^(?:FAIL|ERROR): (\S+)", text, re.MULTILINE)))
    return max(0, (int(ran[1]) if ran else 0) - len(failed)), failed


class Steps:
    """Runs commands one after the other, or some of them in parallel. None of them ends the run."""

    def __init__(self, account: Account, logs: Path, stalls: StallWatch):
        self.account = account
        self.logs = logs
        self.stalls = stalls
        logs.mkdir(parents=True, exist_ok=True)

    def run(self, name: str, command: list, *, environment: dict[str, str] | None = None,
            counted_by: Callable[[str], tuple[int, list[str]]] = lambda _: (0, [])) -> bool:
        """True if the command succeeded. Its output is in a log, whose end is shown after a failure.

        Repeats a command that failed while the whole machine stood still.
        """
        self.account.say(name)
        log = self.logs / f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')}.log"
        begin = time.monotonic()
        status = run_command(command, log, environment)
        if status != 0 and self.stalls.seconds_between(begin, time.monotonic()) > 0:
            self.account.say(f"{name}: the machine was stalled while it failed, so it runs once more")
            log.rename(log.with_suffix(".stalled.log"))
            status = run_command(command, log, environment)
        seconds = int(time.monotonic() - begin)
        if seconds >= LONG_SECONDS:
            self.account.say(f"{name}: ended ({seconds // 60}:{seconds % 60:02})")
        text = log.read_text(encoding="utf-8", errors="replace")
        passed, failed = counted_by(text)
        self.account.count_passed(passed)
        for failure in failed:
            self.account.fail(f"{name}: {failure}")
        if status != 0 and not failed:
            # The last lines are where a command, or Python, reports the cause. The summary repeats them.
            self.account.fail(name, "\n".join([line for line in text.splitlines() if line.strip()][-LINES_OF_A_REASON:]))
        if status != 0:
            end = [line[:300] for line in text.splitlines()[-LINES_SHOWN:]]
            self.account.say("\n       ".join([f"The end of {log}:", *end]))
        return status == 0

    def run_beside(self, *steps: Callable[[], object]) -> None:
        """Runs all of them in parallel, and waits."""
        threads = [threading.Thread(target=step) for step in steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def run_command(command: list, log: Path, environment: dict[str, str] | None) -> int:
    """Runs a command with its output in the log; returns its exit status."""
    with open(log, "wb") as output:
        try:
            return subprocess.run(
                [str(part) for part in command], cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, check=False).returncode
        except OSError as error:
            output.write(f"{command[0]}: {error.strerror}\n".encode())
            return 127
