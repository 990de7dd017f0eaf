"""P1 and P2: short requests that the database answers."""

import json
from collections.abc import Callable

from demonstration.web import Website

from .bench_stack import BenchStack
from .load import LoadError, requests_per_second
from .people import Person
from .table import Result

CONNECTIONS = 16  # as many as there are threads in all responders
FILES = 1000


def interleaved(
    ours: Callable, baseline: Callable, repetitions: int, warm_up: bool = True
) -> tuple[list[float], list[float]]:
    """Measures both in turns, so that whatever else the machine does hits both.

    Each is called with the seconds to take, or with nothing for its own choice.
    """
    if warm_up:
        ours(1.0)
        baseline(1.0)
    pairs = [(ours(None), baseline(None)) for _ in range(repetitions)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def health_check(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    def measure(url):
        return lambda short: requests_per_second(f"{url}/HealthCheck/", short or seconds, CONNECTIONS)

    ours, baseline = interleaved(
        measure(stack.environment["SYNC_HTTP_URL"]), measure(stack.responder_url), repetitions)
    return [Result("P1", "HealthCheck, against a C responder", "/s", 0.75, 0.95, ours, baseline)]


def index(stack: BenchStack, person: Person, repetitions: int, seconds: float) -> list[Result]:
    """`person` is the one whose Index the baseline answers."""
    path = f"/Index/?sharingGroupUUID={person.group}"
    urls = stack.environment["SYNC_HTTP_URL"], stack.responder_url
    compare(*(fetch(url, path, person.headers()) for url in urls))

    def measure(url):
        return lambda short: requests_per_second(url + path, short or seconds, CONNECTIONS, person.headers())

    ours, baseline = interleaved(*map(measure, urls), repetitions)
    return [Result("P2", f"Index of {FILES:,} files, against a C responder", "/s", 0.5, 0.9, ours, baseline)]


def fetch(url: str, path: str, headers: dict[str, str]) -> bytes:
    reply = Website(url).call("GET", path, headers)
    if reply.status != 200:
        raise LoadError(f"{url} answers {reply.status}: {reply.body[:300]!r}")
    return reply.body


def compare(ours: bytes, baseline: bytes) -> None:
    """A baseline that does less than we do would prove nothing."""
    if ours != baseline or len(json.loads(ours)["fileIndex"]) != FILES:
        raise LoadError("The C responder's Index is not the same as ours.")
