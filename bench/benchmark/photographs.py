"""P16: photographs per second and the processor time for their bytes, compared with servers for the same purpose.

All are behind the same nginx, and curl is the phone of all of them, with the maximum number of persistent connections.
For ours, the time of an upload includes the commit of all photographs, and the processor time includes the database's;
that of nginx, which both peers need as well, also includes its work for the emulated Drive.
"""

import statistics
import time
from dataclasses import dataclass

from demonstration.phone import new_uuid
from demonstration.web import query
from peers.mod_dav import ModDAV
from peers.rclone import RcloneWebDAV
from peers.webdav_server import WebDAVServer

from .bench_stack import BenchStack
from .busy_phone import BusyPhone
from .load import LoadError
from .people import commit, sign_up
from .processor_time import GIBIBYTE, ROLES, processor_seconds
from .requests import interleaved
from .table import Result

PHOTOGRAPH_BYTES = 2_000_000
AT_ONCE = 8


@dataclass
class Measurement:
    """One round: photographs per second, and CPU milliseconds per GiB by the kind of process."""

    rate: float
    processor: dict[str, float]


class Ours:
    """Photographs through syncd; each round of uploads is committed at its end."""

    def __init__(self, stack: BenchStack, phone: BusyPhone):
        self.stack, self.phone = stack, phone
        self.person = sign_up(stack, "Philipp")
        self.master_version = 0
        self.uuids: list[str] = []
        self.processes = {
            "nginx": stack.pids("nginx"), "MariaDB": stack.pids("mariadb"),
            "syncd": [pid for role in ROLES for pid in stack.pids(role)]}

    def up(self, at_once: int) -> None:
        self.uuids = [new_uuid() for _ in self.phone.files]
        urls = [
            self._url("UploadFile", mimeType="image/jpeg", fileUUID=uuid, checkSum=check_sum)
            for uuid, check_sum in zip(self.uuids, self.phone.check_sums, strict=True)]
        self.phone.send(urls, at_once, 'request = "POST"', *self.person.options())
        if commit(self.person, self.master_version) != len(urls):
            raise LoadError("Not all photographs are committed.")
        self.master_version += 1

    def down(self, at_once: int) -> None:
        self.phone.receive([self._url("DownloadFile", fileUUID=uuid) for uuid in self.uuids], at_once, *self.person.options())

    def _url(self, endpoint: str, **parameters) -> str:
        parameters |= {
            "fileVersion": 0, "masterVersion": self.master_version, "sharingGroupUUID": self.person.group}
        # For a path that ends with a slash, curl would append the file's name.
        return f"{self.stack.environment['SYNC_URL']}/{endpoint}{query(parameters)}"


class Peer:
    """The same through a WebDAV server."""

    def __init__(self, stack: BenchStack, phone: BusyPhone, server: WebDAVServer):
        self.server, self.phone = server, phone
        self.urls: list[str] = []
        self._nginx = stack.pids("nginx")

    @property
    def processes(self) -> dict[str, list[int]]:
        return {"nginx": self._nginx, self.server.name: self.server.pids}

    def up(self, at_once: int) -> None:
        self.urls = [f"{self.server.url}/{new_uuid()}.jpg" for _ in self.phone.files]
        self.phone.send(self.urls, at_once)

    def down(self, at_once: int) -> None:
        self.phone.receive(self.urls, at_once)


def measured(side: Ours | Peer, direction: str, at_once: int) -> Measurement:
    photographs = len(side.phone.files)
    processes = side.processes
    before = {name: processor_seconds(pids) for name, pids in processes.items()}
    began = time.monotonic()
    if direction == "up":
        side.up(at_once)
    else:
        side.down(at_once)
    rate = photographs / (time.monotonic() - began)
    milliseconds_each = 1e3 * GIBIBYTE / (photographs * PHOTOGRAPH_BYTES)
    return Measurement(rate, {
        name: (processor_seconds(pids) - before[name]) * milliseconds_each for name, pids in processes.items()})


def against_peers(stack: BenchStack, repetitions: int, count: int) -> list[Result]:
    phone = BusyPhone(stack, count, PHOTOGRAPH_BYTES)
    with RcloneWebDAV(stack) as rclone, ModDAV(stack) as mod_dav:
        sides = [Ours(stack, phone), Peer(stack, phone, rclone), Peer(stack, phone, mod_dav)]
        for side in sides:
            side.up(AT_ONCE)  # warms up, and provides files for the downloads
        rounds = {
            (direction, at_once): interleaved(
                *(lambda _, side=side, way=(direction, at_once): measured(side, *way) for side in sides),
                repetitions=repetitions, warm_up=False)
            for direction in ("up", "down") for at_once in (1, AT_ONCE)}
    return [
        *(rates(letter, *way, rounds[way]) for letter, way in zip("abcd", rounds, strict=True)),
        processor_times("e", "up", rounds["up", AT_ONCE]),
        processor_times("f", "down", rounds["down", AT_ONCE])]


def rates(letter: str, direction: str, at_once: int, rounds: list[list[Measurement]]) -> Result:
    ours, rclone, mod_dav = ([measurement.rate for measurement in side] for side in rounds)
    return Result(
        f"P16{letter}", f"photographs of 2 MB {direction}, {at_once} at a time, against rclone", "/s", 1.0, 1.3,
        ours, rclone, note=f"mod_dav with a local disk: {statistics.median(mod_dav):.0f} /s")


def processor_times(letter: str, direction: str, rounds: list[list[Measurement]]) -> Result:
    ours, rclone, mod_dav = ([sum(measurement.processor.values()) for measurement in side] for side in rounds)
    shares = "; ".join(
        ", ".join(f"{name} {statistics.median(measurement.processor[name] for measurement in side):,.0f}"
                  for name in side[0].processor)
        for side in rounds[:2])
    return Result(
        f"P16{letter}", f"CPU time per GiB {direction}, {AT_ONCE} at a time, with nginx", "ms", 1.0, 0.77,
        ours, rclone, is_cost=True, note=f"{shares}; mod_dav with a local disk: {statistics.median(mod_dav):,.0f} ms")
