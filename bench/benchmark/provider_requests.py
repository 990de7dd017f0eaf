"""P14: the number of provider requests for an upload of 2 MB, from a phone with a slow uplink."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from demonstration.check_sums import check_sum
from demonstration.phone import new_uuid
from demonstration.web import Website

from .bench_stack import S3_HOST, BenchStack
from .people import Person, sign_up, sign_up_with_bucket
from .storage_server import StorageServer
from .table import Result
from .uplink import SlowUplink

PHOTOGRAPH_BYTES = 2_000_000
WARM_UPS = 4


@dataclass
class Storage:
    """A storage, with its names for the sandbox and for people."""

    letter: str
    provider: str
    name: str
    gate: int


STORAGES = (
    Storage("a", "google", "Google Drive", 2),
    Storage("b", "dropbox", "Dropbox", 2),
    Storage("c", "microsoft", "OneDrive", 2),
    Storage("d", "webdav", "WebDAV (Nextcloud)", 2),
    Storage("e", "s3", "S3", 1),
)


def of_an_upload(stack: BenchStack, repetitions: int) -> list[Result]:
    with StorageServer(stack, "s3-moto", S3_HOST), SlowUplink(urlsplit(stack.environment["SYNC_URL"]).port) as uplink:
        return [of_storage(stack, uplink, storage, repetitions) for storage in STORAGES]


def of_storage(stack: BenchStack, uplink: SlowUplink, storage: Storage, repetitions: int) -> Result:
    name = f"Rosa of {storage.provider}"
    person = sign_up_with_bucket(stack, name) if storage.provider == "s3" else sign_up(stack, name, storage.provider)
    person.phone.server = Website(f"https://localhost:{uplink.port}", stack.environment["CA_FILE"])
    # The first uploads also look for the folder. There are several, because each responder has to find it.
    uploads = [requests_of_one(stack, person, storage) for _ in range(WARM_UPS + repetitions)][WARM_UPS:]
    return Result(
        f"P14{storage.letter}", f"provider requests for an upload of 2 MB: {storage.name}", "requests", storage.gate,
        storage.gate, [float(len(upload)) for upload in uploads], note=", ".join(max(uploads, key=len)))


def requests_of_one(stack: BenchStack, person: Person, storage: Storage) -> list[str]:
    contents = os.urandom(PHOTOGRAPH_BYTES)
    return requests_during(stack, lambda: person.phone.ask(
        "POST", "UploadFile", contents, fileUUID=new_uuid(), fileVersion=0, mimeType="image/jpeg", masterVersion=0,
        checkSum=check_sum(storage.provider, contents), sharingGroupUUID=person.group))


def requests_during(stack: BenchStack, action: Callable[[], object]) -> list[str]:
    """The requests to any provider during `action`."""
    return [f"{entry['method']} {entry['path']}" for entry in entries_during(stack, action)]


def entries_during(stack: BenchStack, action: Callable[[], object]) -> list[dict]:
    """The same, as entries of the sandbox's log."""
    entries = stack.sandbox.json("GET", "/sandbox/requests?since=0")
    before = entries[-1]["number"] if entries else 0
    action()
    return stack.sandbox.json("GET", f"/sandbox/requests?since={before}")
