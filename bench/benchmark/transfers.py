"""P4 and P5: large files between a phone and a cloud, with nginx alone as the baseline.

In addition to the gate's baseline there is a lower bound: a program that only passes bytes on and computes their checksum.

All paths have the same two TLS hops: phone to nginx, and from there to the sandbox's nginx. The clock runs from the
phone's first byte to the end of the reply.
"""

import hashlib
import json
import statistics
from pathlib import Path

from demonstration.phone import new_uuid
from demonstration.web import query
from syncstack.processes import run

from .bench_stack import BenchStack
from .drive import Drive
from .load import LoadError
from .people import commit, sign_up
from .requests import interleaved
from .table import Result

MEBIBYTE = 1 << 20
# The gates apply to processors with SHA instructions (the names of x86 and ARM).
PARDON = "" if {"sha_ni", "sha2"} & set(Path("/proc/cpuinfo").read_text(encoding="ascii").split()) else "no SHA in CPU"


class Transfers:
    """One person's large file on both paths."""

    def __init__(self, stack: BenchStack, gibibytes: float):
        self.stack = stack
        self.person = sign_up(stack, "Uta")
        self.size = int(gibibytes * 1024) * MEBIBYTE
        self.file = stack.directory / "large-file"
        # A sparse file reads as zeroes without using the disk; neither TLS nor hashes depend on the contents.
        with open(self.file, "wb") as file:
            file.truncate(self.size)
        digest = hashlib.md5()
        for _ in range(self.size // MEBIBYTE):
            digest.update(bytes(MEBIBYTE))
        self.check_sum = digest.hexdigest()
        self.drive = Drive(stack, self.person)

    def upload(self, uuid: str) -> float:
        """Uploads through our server; the file stays staged."""
        parameters = {
            "fileUUID": uuid, "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": 0,
            "sharingGroupUUID": self.person.group, "checkSum": self.check_sum}
        url = f"{self.stack.environment['SYNC_URL']}/UploadFile{query(parameters)}"
        return self._curl(url, self.person.headers(), "-X", "POST", "-T", self.file)

    def upload_and_forget(self) -> float:
        uuid = new_uuid()
        speed = self.upload(uuid)
        self.forget(uuid)
        return speed

    def forget(self, uuid: str) -> None:
        """Frees space in the cloud."""
        self.drive.remove(f"{uuid}.{self.person.phone.device}.0.jpg")

    def upload_past_us(self, address: str) -> float:
        """Uploads the same bytes to the same cloud, through nginx alone or the floor: a resumable session with one part."""
        name = new_uuid() + ".jpg"
        session = self.drive.begin_upload(name, self.size)
        speed = self._curl(f"{address}{session}", self.drive.authorization, "-T", self.file)
        self.drive.remove(name)
        return speed

    def commit(self, uuid: str) -> str:
        """Returns the object's identifier. Drive has computed its SHA-256 then; the sandbox computes it on request."""
        self.upload(uuid)
        commit(self.person)
        object_id = self.stack.sql(f"SELECT object_id FROM files WHERE file_uuid = '{uuid}'").strip()
        reply = self.drive.describe(object_id, "sha256Checksum")
        if "sha256Checksum" not in json.loads(reply.body):
            raise LoadError(f"The sandbox has no SHA-256 of a large file: {reply.status} {reply.body[:300]!r}")
        return object_id

    def download(self, uuid: str) -> float:
        parameters = {
            "fileUUID": uuid, "fileVersion": 0, "masterVersion": 1, "sharingGroupUUID": self.person.group}
        url = f"{self.stack.environment['SYNC_URL']}/DownloadFile/{query(parameters)}"
        return self._curl(url, self.person.headers())

    def download_past_us(self, address: str, object_id: str) -> float:
        return self._curl(f"{address}/drive/v3/files/{object_id}?alt=media", self.drive.authorization)

    def _curl(self, url: str, headers: dict[str, str], *options) -> float:
        """Transfers the file and returns bytes per second."""
        parts = [part for name, value in {**headers, "Expect": ""}.items() for part in ("-H", f"{name}: {value}")]
        output = run(
            ["curl", "--silent", "--show-error", "--http1.1", "--cacert", self.stack.environment["CA_FILE"],
             "--max-time", 120, "--output", "/dev/null", "--write-out",
             "%{http_code} %{time_total} %{size_upload} %{size_download}", *parts, *options, url])
        status, seconds, *moved = output.split()
        if status not in ("200", "201") or self.size not in map(int, moved):
            raise LoadError(f"{url.partition('?')[0]} returned {status} after {moved} bytes")
        return self.size / float(seconds)


def in_mebibytes(values: list[float]) -> list[float]:
    return [value / MEBIBYTE for value in values]


def uploads(stack: BenchStack, repetitions: int, gibibytes: float) -> list[Result]:
    transfers = Transfers(stack, gibibytes)
    measured = interleaved(
        lambda _: transfers.upload_and_forget(), lambda _: transfers.upload_past_us(stack.proxy_url),
        lambda _: transfers.upload_past_us(stack.floor_url), repetitions=repetitions, warm_up=False)
    return compared("P4", f"UploadFile of {gibibytes:g} GiB", 0.7, 0.95, *measured)


def downloads(stack: BenchStack, repetitions: int, gibibytes: float) -> list[Result]:
    transfers = Transfers(stack, gibibytes)
    uuid = new_uuid()
    object_id = transfers.commit(uuid)
    measured = interleaved(
        lambda _: transfers.download(uuid), lambda _: transfers.download_past_us(stack.proxy_url, object_id),
        lambda _: transfers.download_past_us(stack.floor_url, object_id), repetitions=repetitions, warm_up=False)
    return compared("P5", f"DownloadFile of {gibibytes:g} GiB", 0.9, 0.98, *measured)


def compared(number: str, what: str, gate: float, aim: float, *measured: list[float]) -> list[Result]:
    ours, baseline, floor = map(in_mebibytes, measured)
    attainable = statistics.median(floor) / statistics.median(baseline)
    line = Result(number, f"{what}, against nginx alone", "MiB/s", gate, aim, ours, baseline, pardon=PARDON)
    line.note = f"the floor reaches {attainable:.2f} of nginx alone"
    # A gate that the floor passes is not relaxed.
    if attainable < gate:
        line.floor = floor
    return [line, Result(f"{number}*", "the same, against the floor", "MiB/s", gate, aim, ours, floor, pardon=PARDON)]
