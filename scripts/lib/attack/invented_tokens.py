"""One address sends invented tokens as fast as it can, to an endpoint that is not for signing in."""

import secrets
import threading
import time
from collections.abc import Iterator

from demonstration.phone import new_uuid

from .figure import Figure
from .stage import OVERRIDES, Stage, slowest_hundredth

ADDRESS = "127.0.60.1"
THREADS = 8
PROCESSES = 2  # of the `api` role: each counts separately
PER_MINUTE = OVERRIDES["failedSignInsPerMinute"]


def attack(stage: Stage) -> Iterator[Figure]:
    seconds, count = (3.0, 30) if stage.small else (20.0, 200)

    def new_token() -> float:
        return stage.check_credentials(stage.guest("facebook"), 401)

    alone = slowest_hundredth(new_token, count)
    before = asked(stage)
    end = time.monotonic() + seconds
    answered: list[int] = []
    threads = [threading.Thread(target=invent, args=(stage, end, answered)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    attacked = slowest_hundredth(new_token, count)
    for thread in threads:
        thread.join()
    yield Figure("requests to Google", asked(stage) - before, PROCESSES * (PER_MINUTE + seconds + 2), "requests")
    yield Figure("invented tokens, minimum of rejected or limited ones", -len(answered), -200, "replies")
    yield Figure.ratio("p99 of a new token's CheckCreds, from another address", alone, attacked, 3.0, alone + 500.0)


def asked(stage: Stage) -> int:
    requests = stage.sandbox.json("GET", "/sandbox/requests?since=0")
    return sum(1 for request in requests if request["host"] == "oauth2.googleapis.com")


def invent(stage: Stage, end: float, answered: list[int]) -> None:
    while time.monotonic() < end:
        headers = {"X-token-type": "GoogleToken", "access_token": secrets.token_hex(16),
                   "SyncServer-Device-UUID": new_uuid()}
        _, reply, _ = stage.request("GET", "/Index/", headers, expected=None, source=ADDRESS)
        answered.append(reply.status)
