"""Thousands of slow connections, without tokens and with tokens of some users, alongside a legitimate user.

Uploads that announce much and rarely send a byte, and downloads that are hardly read. Callers that are disconnected
reconnect.
"""

import hashlib
import os
import statistics
import time
from collections.abc import Iterator

from demonstration.phone import new_uuid
from demonstration.web import query

from .figure import Figure
from .hostile import Caller, calling
from .stage import Stage, slowest_hundredth

MEBIBYTE = 1 << 20
ANNOUNCED_BYTES = 128 << 20
FILE_BYTES = 4 << 20  # much more than the buffers in between


def attack(stage: Stage) -> Iterator[Figure]:
    connections, addresses, users = (160, 4, 2) if stage.small else (4_000, 40, 10)
    interval, pause = (1.0, 0.0) if stage.small else (5.0, 0.5)
    transfers, indexes = (5, 60) if stage.small else (41, 400)
    guest = Guest(stage)
    hostile = [stage.sign_up(f"Hostile {number}") for number in range(users)]
    callers = make_callers(stage, hostile, connections, addresses)

    alone = guest.measure(transfers, indexes, 0.0)
    with calling(stage.address, callers, interval):
        # Long enough for slow transfers to be ended, and for new ones to begin.
        attacked = guest.measure(transfers, indexes, pause)
        held = min(in_flight(stage, 0.2 * turn) for turn in range(6))  # without those that are just being rejected

    # Small runs share the machine with other work.
    tolerance = 500.0 if stage.small else 0.0
    for what, times in (("upload of 1 MiB", 3.0), ("download of 1 MiB", 3.0), ("p99 of Index", 2.0)):
        yield Figure.ratio(what, alone[what], attacked[what], times, alone[what] + tolerance if tolerance else 0.0)
    yield Figure("transfer threads occupied by all callers", held, users * 2 * 32, "threads")


def in_flight(stage: Stage, wait: float) -> float:
    """Transfers in progress in all processes, after a while."""
    time.sleep(wait)
    return sum(stage.metric(f'syncd_transfers_in_flight{{direction="{way}"}}') for way in ("upload", "download"))


class Guest:
    """A legitimate user."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.person = stage.sign_up("Guest")
        self.contents = os.urandom(MEBIBYTE)
        self.file = publish(stage, self.person, self.contents)

    def measure(self, transfers: int, indexes: int, pause: float) -> dict[str, float]:
        """The medians of the transfers, and the 99th percentile of Index, in milliseconds."""
        times: dict[str, list[float]] = {"upload of 1 MiB": [], "download of 1 MiB": []}
        for _ in range(transfers):
            times["upload of 1 MiB"].append(self.upload())
            times["download of 1 MiB"].append(self.download())
            time.sleep(pause)
        medians = {what: statistics.median(several) for what, several in times.items()}
        return medians | {"p99 of Index": slowest_hundredth(self.index, indexes)}

    def upload(self) -> float:
        target = upload_target(self.person, new_uuid(), self.contents, 1)
        return self.stage.request("POST", target, self.person.headers(), self.contents)[0]

    def download(self) -> float:
        took, _, body = self.stage.request("GET", download_target(self.person, self.file), self.person.headers())
        assert body == self.contents
        return took

    def index(self) -> float:
        return self.stage.request("GET", f"/Index/?sharingGroupUUID={self.person.group}", self.person.headers())[0]


def upload_target(person, file: str, contents: bytes, master: int) -> str:
    return "/UploadFile/" + query({
        "fileUUID": file, "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": master,
        "sharingGroupUUID": person.group, "checkSum": hashlib.md5(contents).hexdigest()})


def download_target(person, file: str) -> str:
    return "/DownloadFile/" + query({
        "fileUUID": file, "fileVersion": 0, "masterVersion": 1, "sharingGroupUUID": person.group})


def publish(stage: Stage, person, contents: bytes) -> str:
    """The group's first file."""
    file = new_uuid()
    stage.request("POST", upload_target(person, file, contents, 0), person.headers(), contents)
    commit = query({"masterVersion": 0, "sharingGroupUUID": person.group})
    stage.request("POST", f"/DoneUploads/{commit}", person.headers())
    return file


def make_callers(stage: Stage, hostile: list, count: int, addresses: int) -> list[Caller]:
    """A third each: uploads without a token, uploads with one, downloads with one."""
    files = [publish(stage, person, os.urandom(FILE_BYTES)) for person in hostile]
    callers = []
    for number in range(count):
        address = f"127.0.{number % addresses // 100 + 1}.{number % addresses % 100 + 1}"
        person, file = (several[number % len(hostile)] for several in (hostile, files))
        kind = number % 3
        headers = {"Host": "localhost"} | (person.headers() if kind else {})
        if kind == 2:
            opening = head("GET", download_target(person, file), headers)
        else:
            headers["Content-Length"] = str(ANNOUNCED_BYTES)
            opening = head("POST", upload_target(person, new_uuid(), b"", 1), headers)
        callers.append(Caller(address, opening, b"x", reads=kind == 2))
    return callers


def head(method: str, target: str, headers: dict[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1"] + [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
