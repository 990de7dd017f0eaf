"""Hundreds of simultaneous Index of a large group by one user, while somebody else signs up."""

import threading
import time
from collections.abc import Iterator

from demonstration.phone import new_uuid
from demonstration.web import query

from .figure import Figure
from .hostile import held
from .slow_callers import head
from .stage import Stage

ADDRESSES = [f"127.0.10.{number}" for number in range(1, 11)]


def attack(stage: Stage) -> Iterator[Figure]:
    requests, files = (60, 2_000) if stage.small else (500, 20_000)
    hostile = stage.sign_up("Hostile")
    stage.give_many_files(hostile, files)
    stage.request("GET", f"/Index/?sharingGroupUUID={hostile.group}", hostile.headers())
    guests = [stage.guest("google") for _ in range(7)]

    alone = max(sign_up(stage, guest) for guest in guests[:2])
    opening = head(
        "GET", f"/Index/?sharingGroupUUID={hostile.group}",
        hostile.headers() | {"Host": "localhost", "Connection": "close"})
    with held(stage.address, ADDRESSES, requests, opening) as connections:
        statuses: list[bytes] = []
        readers = [threading.Thread(target=read, args=(connection, statuses)) for connection in connections]
        for reader in readers:
            reader.start()
        attacked = 0.0
        for guest in guests[2:]:
            attacked = max(attacked, sign_up(stage, guest))
        for reader in readers:
            reader.join(60)
    yield Figure("AddUser of another user, the slowest of five", attacked, 3_000, "ms", alone)
    strange = [status for status in statuses if status not in (b"200", b"429", b"provider_busy")]
    yield Figure("replies to Index other than 200, 429 and provider_busy", len(strange) + requests - len(statuses), 0, "replies")
    took, _, _ = stage.request("GET", f"/Index/?sharingGroupUUID={hostile.group}", hostile.headers())
    yield Figure("Index of the same user afterwards", took, 5_000, "ms")


def sign_up(stage: Stage, headers: dict[str, str]) -> float:
    """The duration of a sign-up, in milliseconds."""
    time.sleep(0.3)  # so that the five are spread over the attack
    parameters = query({"sharingGroupUUID": new_uuid(), "cloudFolderName": "F"})
    return stage.request("POST", f"/AddUser/{parameters}", headers)[0]


def read(connection, statuses: list[bytes]) -> None:
    """A process that does not know the token asks the provider, with a limited number of such requests at a time."""
    connection.settimeout(60)
    reply = b""
    try:
        while part := connection.recv(262_144):
            reply = reply or part
    except OSError:
        pass
    statuses.append(b"provider_busy" if b"error-code: provider_busy" in reply else reply[9:12])
