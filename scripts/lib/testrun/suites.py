"""Swift's tests, each suite or test target in a separate process.

A crash or hang does not lose the results of other tests: tests of the process that have not ended start again in a new
process, without the test that caused it. Tests that failed while the whole machine stood still run once more.
"""

import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from .account import Account
from .events import Progress
from .stalls import StallWatch

# How many tests run at the same time. A test that waits for something continues when one of these pauses; if all began
# at once, as with the plain runner, that could take minutes, and phones and clouds do not wait so long.
TESTS_AT_ONCE = 6
# How long a test, or one of its cases, may take without an event. Some first start a stack.
LIMIT_SECONDS = 300.0
# These move gigabytes, or send thousands of requests: eight competing writers upload most files several times.
LIMITS_SECONDS = {
    "AcceptanceTests.GigabyteTests/": 900.0, "AcceptanceTests.RandomisedTests/": 900.0,
    "AcceptanceTests.ConcurrencyTests/manyWriters": 900.0,
}
# Suites with their own stacks, separate from the other tests of their target.
APART = ("AcceptanceTests.PrivateStackTests", "AcceptanceTests.GigabyteTests", "AcceptanceTests.RandomisedTests")
# The first of them runs its tests one after another, and would take longer than everything else.
PARTS_OF_PRIVATE_STACKS = 3
# Its long suites, in seconds, so that the parts end at about the same time; the others take 10 on average.
PRIVATE_SECONDS = {
    "CloudCheckTests": 130, "CloudFailureTests": 100, "DoctorTests": 80, "HostLossTests": 75, "OutageTests": 70,
    "NameResolutionTests": 55, "DirectTransferTests": 50, "IndexPageTests": 45, "EndedUploadTests": 40,
    "PieceResilienceTests": 40, "HangingProviderTests": 35, "KeepingTests": 30, "ResilienceTests": 30,
    "RestoredServerTests": 30,
}
# The order in which suites start: those first that take longer than half a minute, so that nothing waits for one of them
# alone in the end; the others follow.
ORDER = (
    "AcceptanceTests", "CloudStorageTests", "PrivateStackTests-1", "PrivateStackTests-2", "PrivateStackTests-3",
    "GigabyteTests", "RandomisedTests", "SyncdirStackTests", "StoreTests", "SyncServiceTests", "SyncClientStackTests",
    "AdministrationTests", "TrialTests", "SyncClientTestingTests", "SandboxTests", "SyncServerConnectionStackTests",
    "AlbumStackTests",
)
# Targets whose tests run one after another, because they share a sandbox or a stack: they need no second place.
SERIAL = ("CloudStorageTests", "SyncdirStackTests", "TrialTests")
POLL_SECONDS = 0.2
ISSUES_SHOWN = 5  # of each test


@dataclass(frozen=True)
class Suite:
    """Tests that share a process; `width` of them run at the same time."""

    name: str
    arguments: tuple[str, ...]
    width: int


@dataclass(frozen=True)
class Failure:
    """A reported failure, with its name and time."""

    name: str
    time: float


@dataclass
class Result:
    """The results of a suite so far."""

    passed: int = 0
    failed: dict[str, Failure] = field(default_factory=dict)  # by test
    begun: dict[str, float] = field(default_factory=dict)


def suites_of(tests: list[str]) -> list[Suite]:
    """All suites, in the order in which they start; `tests` are names as --list-tests prints them."""
    targets = dict.fromkeys(test.partition(".")[0] for test in tests)
    acceptance = "AcceptanceTests"
    everything_else = [arg for name in APART for arg in ("--skip", f"^{re.escape(name)}/")]
    suites = [Suite(acceptance, ("--filter", rf"^{acceptance}\.", *everything_else), 3)]
    private, *others = APART
    parts = parts_of({test.split("/")[1] for test in tests if test.startswith(f"{private}/")})
    for number, part in enumerate(parts, 1):
        names = "|".join(map(re.escape, part))
        suites.append(Suite(f"{private.partition('.')[2]}-{number}", ("--filter", f"^{re.escape(private)}/({names})/"), 1))
    suites += [Suite(name.partition(".")[2], ("--filter", f"^{re.escape(name)}/"), 1) for name in others]
    suites += [Suite(name, ("--filter", rf"^{name}\."), 1 if name in SERIAL else 2)
               for name in targets if name != acceptance]
    return sorted(suites, key=lambda suite: ORDER.index(suite.name) if suite.name in ORDER else len(ORDER))


def parts_of(names: set[str]) -> list[list[str]]:
    """Suites with private stacks, in parts that take about the same time; no part is empty."""
    parts: list[list[str]] = [[] for _ in range(min(PARTS_OF_PRIVATE_STACKS, len(names)))]
    for name in sorted(names, key=lambda name: (-seconds_of([name]), name)):
        min(parts, key=seconds_of).append(name)
    return parts


def seconds_of(names: list[str]) -> int:
    return sum(PRIVATE_SECONDS.get(name, 10) for name in names)


class SuiteRunner:
    def __init__(self, program: Path, account: Account, logs: Path, stalls: StallWatch, patience: float = 1.0):
        self.program = program
        self.account = account
        self.logs = logs
        self.stalls = stalls
        self.patience = patience
        self._free = TESTS_AT_ONCE
        self._changed = threading.Condition()
        self._is_stopping = False

    def list_tests(self) -> list[str]:
        done = subprocess.run([self.program, "--testing-library", "swift-testing", "--list-tests"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        return done.stdout.decode().splitlines()

    def run(self, suites: list[Suite]) -> None:
        """Runs them in parallel, as far as their widths allow, in this order."""
        threads: list[threading.Thread] = []
        try:
            for suite in suites:
                with self._changed:
                    self._changed.wait_for(lambda suite=suite: self._free >= suite.width)
                    self._free -= suite.width
                threads.append(threading.Thread(target=self._run_in_its_place, args=(suite,)))
                threads[-1].start()
            for thread in threads:
                thread.join()
        except BaseException:  # the run is interrupted
            self._is_stopping = True
            raise

    def _run_in_its_place(self, suite: Suite) -> None:
        try:
            self.run_suite(suite)
        finally:
            with self._changed:
                self._free += suite.width
                self._changed.notify_all()

    def run_suite(self, suite: Suite) -> None:
        begin = time.monotonic()
        result = self._run_to_the_end(suite, suite.name)
        shaken = [test for test, failure in result.failed.items() if test in result.begun
                  and self.stalls.seconds_between(result.begun[test], failure.time) > 0]
        if shaken and not self._is_stopping:
            self._repeat(suite, shaken, result)
        self.account.count_passed(result.passed)
        seconds = int(time.monotonic() - begin)
        self.account.say(f"{suite.name}: {result.passed} passed, {len(result.failed)} failed "
                         f"({seconds // 60}:{seconds % 60:02})")

    def _repeat(self, suite: Suite, tests: list[str], result: Result) -> None:
        """Repeats tests that failed while the machine stood still; only the new results count."""
        self.account.say(f"{suite.name}: the machine was stalled while these failed, so they run once more: "
                         f"{', '.join(tests)}")
        for test in tests:
            self.account.withdraw(result.failed.pop(test).name)
        filters = [argument for test in tests for argument in ("--filter", f"^{literally(test)}")]
        again = self._run_to_the_end(Suite(suite.name, tuple(filters), suite.width), f"{suite.name}-again")
        result.passed += again.passed
        result.failed |= again.failed

    def _run_to_the_end(self, suite: Suite, stem: str) -> Result:
        """Starts the suite until all of its tests have run; its logs begin with `stem`."""
        result = Result()
        done: list[str] = []
        for attempt in range(1, 100):
            progress, culprits = self._attempt(suite, stem if attempt == 1 else f"{stem}-{attempt}", done, result)
            ended = [test for test in progress.ended if test not in done]
            result.passed += sum(1 for test in ended if test not in progress.issues)
            result.begun |= progress.begun
            done += ended + culprits
            if progress.is_complete or self._is_stopping or not (ended or culprits):
                break
        return result

    def _attempt(self, suite: Suite, stem: str, done: list[str], result: Result) -> tuple[Progress, list[str]]:
        """Runs a suite without those tests; also returns the tests that crashed the process or hung."""
        log, events = self.logs / f"{stem}.log", self.logs / f"{stem}.events"
        events.unlink(missing_ok=True)
        skip = ["--skip", "^(" + "|".join(map(literally, done)) + ")"] if done else []
        progress = Progress(events)
        reported: dict[str, int] = {}
        hanging: list[str] = []
        heard, seen = time.monotonic(), 0
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [self.program, "--testing-library", "swift-testing", "--event-stream-output-path", events,
                 "--event-stream-version", "0", "--experimental-maximum-parallelization-width", str(suite.width),
                 *suite.arguments, *skip],
                env={**os.environ, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
            try:
                while process.poll() is None and not self._is_stopping:
                    progress.read()
                    self._report(suite, progress, reported, result)
                    now, written = time.monotonic(), events.stat().st_size if events.exists() else 0
                    if written != seen:
                        heard, seen = now, written
                    # All tests count as begun at once, and most of them wait for their turn; a hanging test lets the
                    # others end, after which no event arrives.
                    hanging = [test for test, since in progress.running.items()
                               if now - since > (limit := limit_of(test) * self.patience) and now - heard > limit / 5]
                    if hanging:
                        output.write(stacks_of(process.pid))
                        break
                    time.sleep(POLL_SECONDS)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        progress.read()
        self._report(suite, progress, reported, result)
        return progress, self._culprits(suite, progress, hanging, process.returncode, log, result)

    def _report(self, suite: Suite, progress: Progress, reported: dict[str, int], result: Result) -> None:
        """Prints the failures since the last call: the first issues of each test."""
        for test, issues in progress.issues.items():
            known = reported.setdefault(test, 0)
            if known == 0:
                self._fail(result, test, f"{test or suite.name} “{progress.names.get(test, '')}”", issues[0])
            for issue in issues[max(known, 1):ISSUES_SHOWN]:
                self.account.say(f"       {test}, too:\n       {issue}")
            reported[test] = len(issues)

    def _culprits(self, suite: Suite, progress: Progress, hanging: list[str], status: int, log: Path,
                  result: Result) -> list[str]:
        """The tests that must not be started again, each counted as a failure."""
        if hanging:
            for test in hanging:
                self._fail(result, test, f"{test} “{progress.names.get(test)}” did not end", f"The log is {log}")
            return hanging
        if not progress.is_complete:
            # Any of the running tests may have caused it.
            running = list(progress.running)
            end = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
            for test in running or [suite.name]:
                self._fail(result, test, f"{test} “{progress.names.get(test, '')}” was running when the process ended "
                                         f"with {status}", end)
            return running
        if status != 0 and not progress.issues:
            self._fail(result, suite.name, f"{suite.name}: the process ended with {status} after its tests",
                       f"The log is {log}")
        return []

    def _fail(self, result: Result, test: str, name: str, detail: str) -> None:
        result.failed[test] = Failure(name, time.monotonic())
        self.account.fail(name, detail)


def limit_of(test: str) -> float:
    limit = next((limit for prefix, limit in LIMITS_SECONDS.items() if test.startswith(prefix)), LIMIT_SECONDS)
    return limit * int(os.environ.get("SYNC_RANDOM_RUNS", "1")) if "RandomisedTests" in test else limit


def stacks_of(pid: int) -> bytes:
    """The stacks of a process's threads, from a debugger; empty without one."""
    for debugger in (["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 40"],
                     ["lldb", "-p", str(pid), "--batch", "--one-line", "thread backtrace all -c 40"]):
        try:
            done = subprocess.run(debugger, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=120, check=False)
            if done.returncode == 0:
                return done.stdout
        except (FileNotFoundError, subprocess.TimeoutExpired):
            pass
    return b""


def literally(test: str) -> str:
    """A pattern for one test; Swift's syntax does not allow all escapes of re.escape."""
    return re.sub(r"([.()\[\]{}*+?^$|\\])", r"\\\1", test)
