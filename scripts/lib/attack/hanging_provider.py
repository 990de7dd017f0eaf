"""One provider does not answer while many people try to sign in with it, and others use another provider."""

import threading
import time
from collections.abc import Iterator

from demonstration.phone import new_uuid

from .figure import Figure
from .stage import Stage, slowest_hundredth

HOSTS = ("www.googleapis.com", "oauth2.googleapis.com", "openidconnect.googleapis.com")
HANGING_MILLISECONDS = 39_000


def attack(stage: Stage) -> Iterator[Figure]:
    callers, count = (20, 60) if stage.small else (64, 400)
    guest = stage.guest("facebook")
    measures = {
        "p99 of HealthCheck": lambda: stage.request("GET", "/HealthCheck/", {})[0],
        "p99 of a known token's CheckCreds": lambda: stage.check_credentials(guest, 401),
        "p99 of a new token's CheckCreds": lambda: stage.check_credentials(stage.guest("facebook"), 401),
    }
    alone = {what: slowest_hundredth(measure, count) for what, measure in measures.items()}
    hostile = [stage.guest("google") for _ in range(callers)]
    for host in HOSTS:
        stage.sandbox.json("POST", "/sandbox/faults", {"host": host, "latencyMs": HANGING_MILLISECONDS})
    is_over = threading.Event()
    slowest: list[float] = []
    threads = [threading.Thread(target=keep_asking, args=(stage, headers, is_over, slowest)) for headers in hostile]
    try:
        for thread in threads:
            thread.start()
        attacked = {what: slowest_hundredth(measure, count) for what, measure in measures.items()}
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        stage.sandbox.call("DELETE", "/sandbox/faults")
        recovery = seconds_until_asked_again(stage)
    # The impatient people's own processes take a few milliseconds of the two cores.
    tolerance = 500.0 if stage.small else 10.0
    for what, value in attacked.items():
        yield Figure.ratio(what, alone[what], value, 1.5, alone[what] + tolerance)
    yield Figure("time until all processes ask the provider again", recovery, 40, "s")
    yield Figure("slowest reply to users of the provider", max(slowest), 11_000, "ms")


def keep_asking(stage: Stage, headers: dict[str, str], is_over: threading.Event, slowest: list[float]) -> None:
    while not is_over.is_set():
        slowest.append(stage.check_credentials(headers | {"SyncServer-Device-UUID": new_uuid()}))
        is_over.wait(0.2)  # a phone that retries impatiently


def seconds_until_asked_again(stage: Stage) -> float:
    """Each process detects this with the next sign-in that it lets through."""
    began = time.monotonic()
    while stage.metric('syncd_provider_circuits_open{provider="google"}') > 0 and time.monotonic() - began < 60:
        for _ in range(4):
            stage.check_credentials(stage.guest("google"))
        time.sleep(0.2)
    return time.monotonic() - began
