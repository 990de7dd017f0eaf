"""People who repeatedly try to sign in, while the requests of others are measured."""

import contextlib
import http.client
import multiprocessing
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from demonstration.web import Deviation

from .figure import Figure
from .stage import Stage

PATIENCE_SECONDS = 60.0
REQUESTS_PER_SECOND = 40
SHORTEST_PAUSE = 0.5
LONGEST_PAUSE = 10.0


@dataclass
class Answers:
    """All replies: (status, whether it has Retry-After) -> count."""

    counts: dict[tuple[int, bool], int]

    @property
    def number(self) -> int:
        return sum(self.counts.values())

    @property
    def strange(self) -> int:
        """Replies other than 429 and 503 with Retry-After."""
        return sum(count for (status, says_when), count in self.counts.items()
                   if status not in (429, 503) or not says_when)


def _ask(server: tuple[str, int], source: str, headers: dict[str, str]) -> tuple[int, float | None]:
    connection = http.client.HTTPConnection(*server, timeout=PATIENCE_SECONDS, source_address=(source, 0))
    try:
        connection.request("GET", "/Index/", headers=headers)
        reply = connection.getresponse()
        reply.read()
        after = reply.getheader("Retry-After")
        return reply.status, None if after is None else float(after)
    except OSError:
        return 0, None
    finally:
        connection.close()


def _insist(server: tuple[str, int], callers: list[tuple[str, Callable[[], dict[str, str]]]], over, results) -> None:
    """Runs in a separate process with the lowest priority: in reality, callers do not run on the server."""
    os.nice(19)
    lock = threading.Lock()
    counts: dict[tuple[int, bool], int] = {}

    def go_on(source: str, headers: Callable[[], dict[str, str]]) -> None:
        while not over.is_set():
            status, after = _ask(server, source, headers())
            with lock:
                key = (status, after is not None)
                counts[key] = counts.get(key, 0) + 1
            # Every phone waits as the reply says; without a time, it is impatient.
            over.wait(min(LONGEST_PAUSE, after or 0.0) + random.uniform(SHORTEST_PAUSE, 2 * SHORTEST_PAUSE))

    threads = [threading.Thread(target=go_on, args=caller, daemon=True) for caller in callers]
    for thread in threads:
        thread.start()
    over.wait()
    # Do not wait for callers that are still waiting for a reply.
    time.sleep(0.2)
    with lock:
        results.put(dict(counts))


@contextlib.contextmanager
def insisting(stage: Stage, callers: list[tuple[str, Callable[[], dict[str, str]]]]) -> Iterator[Answers]:
    """Runs callers, given with their addresses and the headers of each of their requests, for the duration of the
    block; their replies are known at its end."""
    context = multiprocessing.get_context("fork")
    over, results = context.Event(), context.Queue()
    process = context.Process(target=_insist, args=(stage.address, callers, over, results), daemon=True)
    answers = Answers({})
    process.start()
    try:
        yield answers
    finally:
        over.set()
        with contextlib.suppress(Exception):
            answers.counts = results.get(timeout=30)
        process.join(10)
        if process.is_alive():
            process.kill()


def measure(measures: dict[str, Callable[[], float]], seconds: float) -> dict[str, float]:
    """The 99th percentile of each kind of request, in milliseconds.

    Requests begin at their scheduled times, whether or not earlier ones have been answered: a caller that waits before its
    next request would hide the cost of a standstill. A request without a reply counts with its caller's whole patience.
    """
    times: dict[str, list[float]] = {what: [] for what in measures}
    began = time.monotonic()

    def ask(what: str, due: float) -> None:
        try:
            measures[what]()
            took = (time.monotonic() - due) * 1e3
        except Deviation:
            took = PATIENCE_SECONDS * 1e3
        times[what].append(took)

    threads = []
    for number in range(int(seconds * REQUESTS_PER_SECOND)):
        due = began + number / REQUESTS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
        what = list(measures)[number % len(measures)]
        threads.append(threading.Thread(target=ask, args=(what, time.monotonic())))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return {what: sorted(values)[min(len(values) - 1, len(values) * 99 // 100)] for what, values in times.items()}


def others(stage: Stage) -> dict[str, Callable[[], float]]:
    """Requests of people who are not involved: a known user of Dropbox, and a monitor."""
    account = stage.sandbox.json("POST", "/sandbox/accounts", {"provider": "dropbox", "name": "Known"})
    known = {name: value for name, value in account["headers"].items() if "code" not in name.lower()}
    known["SyncServer-Device-UUID"] = stage.new_uuid()
    stage.request(
        "POST", f"/AddUser/?cloudFolderName=F&sharingGroupUUID={stage.new_uuid()}",
        account["headers"] | {"SyncServer-Device-UUID": known["SyncServer-Device-UUID"]})
    return {
        "p99 of Index of a known user": lambda: stage.request("GET", "/Index/", known)[0],
        "p99 of HealthCheck": lambda: stage.request("GET", "/HealthCheck/", {})[0],
    }


def figures(stage: Stage, what: str, alone: dict[str, float], attacked: dict[str, float],
            answers: Answers) -> Iterator[Figure]:
    # Processor time of the callers themselves on two cores.
    tolerance = 500.0 if stage.small else 5.0
    for measured, value in attacked.items():
        yield Figure.ratio(f"{what}: {measured}", alone[measured], value, 1.5, alone[measured] + tolerance)
    yield Figure(f"{what}: replies without Retry-After, or other than 429 and 503, of {answers.number}",
                 answers.strange, 0, "replies")
    yield Figure(f"{what}: minimum number of replies", -answers.number, -1, "replies")
