"""P4 and P5: large files between a phone and a cloud, with nginx alone as the baseline.

Both ways have the same two TLS hops: phone to nginx, and from there to the sandbox's nginx. The clock runs from the
phone's first byte to the end of the reply.
"""

import hashlib
import json
from pathlib import Path

from demonstration.phone import new_uuid
from demonstration.web import Website, query
from syncstack.processes import run

from .bench_stack import BenchStack
from .load import LoadError
from .people import commit, sign_up
from .requests import interleaved
from .table import Result

MEBIBYTE = 1 << 20
# What syncd asks Drive to say of a new file (DriveFile.fields); the sandbox computes a hash only if it is asked for it.
FIELDS = "id,name,size,md5Checksum,sha256Checksum,headRevisionId,trashed,mimeType,createdTime"
# The gates are for processors with instructions for SHA, as x86 and ARM name them.
PARDON = "" if {"sha_ni", "sha2"} & set(Path("/proc/cpuinfo").read_text(encoding="ascii").split()) else "no SHA in CPU"


class Transfers:
    """One person's large file on both ways."""

    def __init__(self, stack: BenchStack, gibibytes: float):
        self.stack = stack
        self.person = sign_up(stack, "Uta")
        self.size = int(gibibytes * 1024) * MEBIBYTE
        self.file = stack.directory / "large-file"
        # Holes read as zeroes, without a disk in the way; neither TLS nor hashes care about what they are given.
        with open(self.file, "wb") as file:
            file.truncate(self.size)
        digest = hashlib.md5()
        for _ in range(self.size // MEBIBYTE):
            digest.update(bytes(MEBIBYTE))
        self.check_sum = digest.hexdigest()
        self.google = Website(stack.proxy_url, stack.environment["CA_FILE"])

    def upload(self, uuid: str) -> float:
        """Through our server; stays staged."""
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
        """Makes room in the cloud."""
        self._remove(f"{uuid}.{self.person.phone.device}.0.jpg")

    def upload_past_us(self) -> float:
        """The same bytes to the same cloud through nginx alone: a resumable session with one part."""
        name = new_uuid() + ".jpg"
        reply = self.google.call(
            "POST", f"/upload/drive/v3/files?uploadType=resumable&fields={FIELDS}",
            {**self._authorization, "Content-Type": "application/json", "X-Upload-Content-Length": str(self.size)},
            json.dumps({"name": name}).encode())
        if reply.status != 200:
            raise LoadError(f"The sandbox starts no upload session: {reply.status} {reply.body[:300]!r}")
        session = reply.headers["Location"].partition("://")[2].partition("/")[2]
        speed = self._curl(f"{self.stack.proxy_url}/{session}", self._authorization, "-T", self.file)
        self._remove(name)
        return speed

    def commit(self, uuid: str) -> str:
        """Returns the object's identifier. Drive has its SHA-256 then; the sandbox, as soon as it was asked for it."""
        self.upload(uuid)
        commit(self.person)
        object_id = self.stack.sql(f"SELECT object_id FROM files WHERE file_uuid = '{uuid}'").strip()
        reply = self.google.call("GET", f"/drive/v3/files/{object_id}?fields=sha256Checksum", self._authorization)
        if "sha256Checksum" not in json.loads(reply.body):
            raise LoadError(f"The sandbox has no SHA-256 of a large file: {reply.status} {reply.body[:300]!r}")
        return object_id

    def download(self, uuid: str) -> float:
        parameters = {
            "fileUUID": uuid, "fileVersion": 0, "masterVersion": 1, "sharingGroupUUID": self.person.group}
        url = f"{self.stack.environment['SYNC_URL']}/DownloadFile/{query(parameters)}"
        return self._curl(url, self.person.headers())

    def download_past_us(self, object_id: str) -> float:
        return self._curl(f"{self.stack.proxy_url}/drive/v3/files/{object_id}?alt=media", self._authorization)

    @property
    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.person.access_token}"}

    def _curl(self, url: str, headers: dict[str, str], *options) -> float:
        """Moves the file and returns bytes a second."""
        parts = [part for name, value in {**headers, "Expect": ""}.items() for part in ("-H", f"{name}: {value}")]
        output = run(
            ["curl", "--silent", "--show-error", "--http1.1", "--cacert", self.stack.environment["CA_FILE"],
             "--max-time", 120, "--output", "/dev/null", "--write-out",
             "%{http_code} %{time_total} %{size_upload} %{size_download}", *parts, *options, url])
        status, seconds, *moved = output.split()
        if status not in ("200", "201") or self.size not in map(int, moved):
            raise LoadError(f"{url.partition('?')[0]} answers {status} after {moved} bytes")
        return self.size / float(seconds)

    def _remove(self, name: str) -> None:
        account = self.person.account
        reply = self.stack.sandbox.call("DELETE", f"/sandbox/accounts/{account}/files/{name}")
        if reply.status >= 300:
            raise LoadError(f"The sandbox does not delete {name}: {reply.status}")


def in_mebibytes(values: list[float]) -> list[float]:
    return [value / MEBIBYTE for value in values]


def uploads(stack: BenchStack, repetitions: int, gibibytes: float) -> list[Result]:
    transfers = Transfers(stack, gibibytes)
    ours, baseline = interleaved(
        lambda _: transfers.upload_and_forget(), lambda _: transfers.upload_past_us(), repetitions=repetitions,
        warm_up=False)
    return [Result(
        "P4", f"UploadFile of {gibibytes:g} GiB, against nginx alone", "MiB/s", 0.7, 0.95, in_mebibytes(ours),
        in_mebibytes(baseline), pardon=PARDON)]


def downloads(stack: BenchStack, repetitions: int, gibibytes: float) -> list[Result]:
    transfers = Transfers(stack, gibibytes)
    uuid = new_uuid()
    object_id = transfers.commit(uuid)
    ours, baseline = interleaved(
        lambda _: transfers.download(uuid), lambda _: transfers.download_past_us(object_id),
        repetitions=repetitions, warm_up=False)
    return [Result(
        "P5", f"DownloadFile of {gibibytes:g} GiB, against nginx alone", "MiB/s", 0.9, 0.98, in_mebibytes(ours),
        in_mebibytes(baseline), pardon=PARDON)]
