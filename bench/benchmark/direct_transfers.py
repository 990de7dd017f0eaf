"""P17: the server's cost of files whose bytes phone and storage exchange directly, compared with bytes that pass through it.

Counts the processor time of syncd, and the traffic of the server with phones (nginx's log) and storages (the sandbox's
log).
"""

import json
import os
import statistics
from collections.abc import Callable

from demonstration.check_sums import check_sum, storage_hash
from demonstration.phone import new_uuid
from syncstack.processes import run, wait_until

from .bench_stack import BenchStack
from .load import LoadError
from .people import Person, commit, sign_up
from .processor_time import ROLES, spent
from .provider_requests import STORAGES, Storage, entries_during
from .requests import interleaved
from .table import Result

MEBIBYTE = 1 << 20
FILE_MEBIBYTES = 10
SECONDS = 60
DIRECT = {"google": "a", "dropbox": "b", "microsoft": "d"}


class Traffic:
    """Bytes that the server exchanges with phones and storages while `during` runs."""

    def __init__(self, stack: BenchStack):
        self.stack = stack
        self.log = stack.layout.logs / "nginx-access.log"

    def during(self, action: Callable[[], object], count: int) -> int:
        """`count` is the number of requests that `action` sends to the server."""
        position = self.log.stat().st_size
        entries = entries_during(self.stack, action)
        if not wait_until(lambda: len(self._lines(position)) >= count, SECONDS):
            raise LoadError(f"nginx's log has only {len(self._lines(position))} of {count} requests.")
        return (sum(int(line["request_bytes"]) + int(line["response_bytes"]) for line in self._lines(position))
                + sum(entry["requestBytes"] + entry["responseBytes"] for entry in entries))

    def _lines(self, position: int) -> list[dict]:
        with self.log.open(encoding="utf-8") as file:
            file.seek(position)
            return [json.loads(line) for line in file if line.endswith("\n")]


class Photographer:
    """A person with one large file, which is sent repeatedly in both ways."""

    def __init__(self, stack: BenchStack, storage: Storage):
        self.stack = stack
        self.person: Person = sign_up(stack, f"Paula of {storage.provider}", storage.provider)
        self.contents = os.urandom(FILE_MEBIBYTES * MEBIBYTE)
        self.file = stack.directory / f"large-file-of-{storage.provider}"
        self.file.write_bytes(self.contents)
        self.parameters = {
            "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": 0, "sharingGroupUUID": self.person.group,
            "checkSum": check_sum(storage.provider, self.contents)}
        # Only OneDrive needs this.
        self.storage_hash = storage_hash(self.contents)

    def upload(self, uuid: str | None = None) -> None:
        self.person.phone.ask("POST", "UploadFile", self.contents, fileUUID=uuid or new_uuid(), **self.parameters)

    def upload_directly(self) -> None:
        begun = self.person.phone.ask(
            "POST", "CreateUpload", status=201, headers={"Upload-Length": str(len(self.contents))}, fileUUID=new_uuid(),
            direct="true", storageHash=self.storage_hash, **self.parameters)
        address = begun.get("directUpload") or {}
        way = ["--request", "POST", "--data-binary", f"@{self.file}"] if address.get("form") == "whole" else [
            "--upload-file", self.file,
            *(["--header", f"Content-Range: bytes 0-{len(self.contents) - 1}/{len(self.contents)}"]
              if address.get("form") == "fragments" else [])]
        self._past_us(address, "--header", f"Content-Type: {address.get('contentType')}", *way)
        self.person.phone.ask(
            "PATCH", "Upload", uploadUUID=begun["uploadUUID"], direct="true",
            headers={"Upload-Offset": str(len(self.contents)), "Upload-Complete": "?1",
                     "Upload-Draft-Interop-Version": "6", "Content-Type": "application/partial-upload"})

    def commit(self) -> str:
        """Uploads a file for downloads."""
        uuid = new_uuid()
        self.upload(uuid)
        commit(self.person)
        return uuid

    def download(self, uuid: str) -> None:
        reply = self.person.phone.request("GET", "DownloadFile", **self._download_parameters(uuid))
        if reply.body != self.contents:
            raise LoadError(f"DownloadFile returned {reply.status} and {len(reply.body)} bytes.")

    def download_directly(self, uuid: str) -> None:
        message = self.person.phone.ask("GET", "DownloadFile", direct="true", **self._download_parameters(uuid))
        self._past_us(message.get("directDownload") or {})

    def make_room(self) -> None:
        """Removes the uploaded objects from the storage."""
        folder = f"/sandbox/accounts/{self.person.account}/files"
        for file in self.stack.sandbox.json("GET", folder):
            self.stack.sandbox.call("DELETE", f"{folder}/{file['name']}")

    def _download_parameters(self, uuid: str) -> dict:
        return {"fileUUID": uuid, "fileVersion": 0, "masterVersion": 1, "sharingGroupUUID": self.person.group}

    def _past_us(self, address: dict, *options) -> None:
        environment = self.stack.environment
        if "url" not in address:
            raise LoadError("The server returned no address for the bytes.")
        status = run(
            ["curl", "--silent", "--show-error", "--cacert", environment["CA_FILE"], "--max-time", SECONDS,
             "--connect-to", f"::127.0.0.1:{environment['SANDBOX_TLS_PORT']}", "--output", "/dev/null",
             "--write-out", "%{http_code}", *options, address["url"]])
        if status not in ("200", "201"):
            raise LoadError(f"The storage returned {status} at the server's address.")


def against_bytes_through_us(stack: BenchStack, repetitions: int, count: int) -> list[Result]:
    results = []
    for storage in STORAGES:
        if storage.provider in DIRECT:
            results += uploads(stack, storage, repetitions, count)
    return results + [downloads(stack, repetitions, count)]


def uploads(stack: BenchStack, storage: Storage, repetitions: int, count: int) -> list[Result]:
    letter = DIRECT[storage.provider]
    photographer, traffic = Photographer(stack, storage), Traffic(stack)
    pids = [pid for role in ROLES for pid in stack.pids(role)]

    def measure(upload: Callable[[], None]) -> float:
        seconds = spent(pids, lambda: [upload() for _ in range(count)])
        photographer.make_room()
        return seconds / count / FILE_MEBIBYTES * 1e3

    direct, through = interleaved(
        lambda _: measure(photographer.upload_directly), lambda _: measure(photographer.upload),
        repetitions=repetitions)
    own_bytes = len(photographer.contents)
    direct_bytes = traffic.during(photographer.upload_directly, 2) - own_bytes
    through_bytes = traffic.during(photographer.upload, 1)
    photographer.make_room()
    return [
        Result(f"P17{letter}", f"CPU time of syncd for each MiB of a direct upload of {FILE_MEBIBYTES} MiB: "
               f"{storage.name}", "ms", 1.0, 0.5, direct,
               note=compared(statistics.median(direct), statistics.median(through), "ms")),
        Result(f"P17{letter}*", "traffic of the server for such an upload", "kB", 20, 5, [direct_bytes / 1e3],
               note=compared(direct_bytes / 1e3, through_bytes / 1e3, "kB")),
    ]


def downloads(stack: BenchStack, repetitions: int, count: int) -> Result:
    """Measures one of the storages with addresses for downloads."""
    storage = next(storage for storage in STORAGES if storage.provider == "dropbox")
    photographer = Photographer(stack, storage)
    uuid = photographer.commit()
    pids = [pid for role in ROLES for pid in stack.pids(role)]

    def measure(download: Callable[[str], None]) -> float:
        return spent(pids, lambda: [download(uuid) for _ in range(count)]) / count / FILE_MEBIBYTES * 1e3

    direct, through = interleaved(
        lambda _: measure(photographer.download_directly), lambda _: measure(photographer.download),
        repetitions=repetitions)
    return Result(
        "P17c", f"CPU time of syncd for each MiB of a direct download of {FILE_MEBIBYTES} MiB: {storage.name}", "ms",
        1.0, 0.5, direct, note=compared(statistics.median(direct), statistics.median(through), "ms"))


def compared(direct: float, through: float, unit: str) -> str:
    return f"through us {through:,.1f} {unit}, ratio {direct / through:.4f}"
