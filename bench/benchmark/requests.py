"""P1 to P3: short requests that the database answers."""

import json
import time
from collections.abc import Callable

from demonstration.web import Website

from .bench_stack import BenchStack
from .load import LoadError, requests_per_second
from .people import Person, give_many_files, sign_up
from .table import Result

CONNECTIONS = 32  # the number of threads in all responders
FILES = 1000
FEW_FILES, MANY_FILES, LONG_INDEX = 100, 100_000, 10_000


def interleaved(*measures: Callable, repetitions: int, warm_up: bool = True) -> list[list[float]]:
    """Measures our server, the baseline and the others alternately, so that other load on the machine affects all of them.

    Each is called with its duration in seconds, or with `None` for its own choice.
    """
    if warm_up:
        for measure in measures:
            measure(1.0)
    rounds = [[measure(None) for measure in measures] for _ in range(repetitions)]
    return [list(values) for values in zip(*rounds)]


def health_check(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    def measure(url):
        return lambda short: requests_per_second(f"{url}/HealthCheck/", short or seconds, CONNECTIONS)

    ours, baseline = interleaved(
        measure(stack.environment["SYNC_HTTP_URL"]), measure(stack.responder_url), repetitions=repetitions)
    return [Result("P1", "HealthCheck, against a C responder", "/s", 0.75, 0.95, ours, baseline)]


def index(stack: BenchStack, person: Person, repetitions: int, seconds: float) -> list[Result]:
    """`person` is the user whose Index the baseline serves."""
    path = f"/Index/?sharingGroupUUID={person.group}"
    urls = stack.environment["SYNC_HTTP_URL"], stack.responder_url
    compare(*(fetch(url, path, person.headers()) for url in urls))

    def measure(url):
        return lambda short: requests_per_second(url + path, short or seconds, CONNECTIONS, person.headers())

    ours, baseline = interleaved(*map(measure, urls), repetitions=repetitions)
    return [Result("P2", f"Index of {FILES:,} files, against a C responder", "/s", 0.5, 0.9, ours, baseline)]


def unchanged_index(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    """The cost of Index for a client with the current state, in a large group compared with a small one; and a long Index."""
    url = stack.environment["SYNC_HTTP_URL"]
    measures = []
    for count in (MANY_FILES, FEW_FILES):
        person = sign_up(stack, f"Owner of {count}")
        give_many_files(stack, person, count)
        path = f"/Index/?sharingGroupUUID={person.group}"
        headers = person.headers() | {"If-None-Match": Website(url).call("GET", path, person.headers()).headers["etag"]}
        if Website(url).call("GET", path, headers).status != 304:
            raise LoadError("Index of an unchanged group did not return 304.")
        # Microseconds for each request, with as many at a time as there are threads.
        measures.append(lambda short, path=path, headers=headers: 1e6 / requests_per_second(
            url + path, short or seconds, CONNECTIONS, headers))
    many, few = interleaved(*measures, repetitions=repetitions)
    return [
        Result("P3", f"Index, nothing changed: {MANY_FILES:,} files against {FEW_FILES}", "µs", 1.5, 1.05, many, few,
               is_cost=True),
        long_index(stack, repetitions)]


def long_index(stack: BenchStack, repetitions: int) -> Result:
    """The time that one client waits for a long list."""
    url = stack.environment["SYNC_HTTP_URL"]
    person = sign_up(stack, f"Owner of {LONG_INDEX}")
    give_many_files(stack, person, LONG_INDEX)
    durations = []
    for _ in range(repetitions + 1):
        begin = time.monotonic()
        body = fetch(url, f"/Index/?sharingGroupUUID={person.group}", person.headers())
        durations.append((time.monotonic() - begin) * 1e3)
        if len(json.loads(body)["fileIndex"]) != LONG_INDEX:
            raise LoadError("The long Index is incomplete.")
    # The first one also fills the database's buffers.
    return Result("P3b", f"Index of {LONG_INDEX:,} files, one client", "ms", 300, 150, durations[1:])


def fetch(url: str, path: str, headers: dict[str, str]) -> bytes:
    reply = Website(url).call("GET", path, headers)
    if reply.status != 200:
        raise LoadError(f"{url} returned {reply.status}: {reply.body[:300]!r}")
    return reply.body


def compare(ours: bytes, baseline: bytes) -> None:
    """A baseline that does less than our server would prove nothing."""
    if ours != baseline or len(json.loads(ours)["fileIndex"]) != FILES:
        raise LoadError("The C responder's Index differs from ours.")
