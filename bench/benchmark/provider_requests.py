"""P14: how many requests to the provider an upload of 2 MB takes, from a phone with a slow uplink."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from demonstration.phone import new_uuid
from demonstration.web import Website

from .bench_stack import S3_HOST, BenchStack
from .people import Person, sign_up, sign_up_with_bucket
from .storage_server import StorageServer
from .table import Result
from .uplink import SlowUplink

PHOTOGRAPH_BYTES = 2_000_000
DROPBOX_BLOCK_BYTES = 4 << 20
WARM_UPS = 4


@dataclass
class Storage:
    """A storage, as the sandbox and as people call it, and the check sum that its users' phones send."""

    letter: str
    provider: str
    name: str
    check_sum: Callable[[bytes], str]
    gate: int


def md5(contents: bytes) -> str:
    return hashlib.md5(contents).hexdigest()


def content_hash(contents: bytes) -> str:
    """Dropbox's: of the hashes of blocks."""
    blocks = (contents[start:start + DROPBOX_BLOCK_BYTES] for start in range(0, len(contents), DROPBOX_BLOCK_BYTES))
    return hashlib.sha256(b"".join(hashlib.sha256(block).digest() for block in blocks)).hexdigest()


STORAGES = (
    Storage("a", "google", "Google Drive", md5, 2),
    Storage("b", "dropbox", "Dropbox", content_hash, 2),
    Storage("c", "microsoft", "OneDrive", lambda contents: hashlib.sha1(contents).hexdigest().upper(), 2),
    Storage("d", "webdav", "WebDAV (Nextcloud)", md5, 2),
    Storage("e", "s3", "S3", md5, 1),
)


def of_an_upload(stack: BenchStack, repetitions: int) -> list[Result]:
    with StorageServer(stack, "s3-moto", S3_HOST), SlowUplink(urlsplit(stack.environment["SYNC_URL"]).port) as uplink:
        return [of_storage(stack, uplink, storage, repetitions) for storage in STORAGES]


def of_storage(stack: BenchStack, uplink: SlowUplink, storage: Storage, repetitions: int) -> Result:
    name = f"Rosa of {storage.provider}"
    person = sign_up_with_bucket(stack, name) if storage.provider == "s3" else sign_up(stack, name, storage.provider)
    person.phone.server = Website(f"https://localhost:{uplink.port}", stack.environment["CA_FILE"])
    # The first uploads also look for the folder. Several, as each responder has to find it.
    uploads = [requests_of_one(stack, person, storage) for _ in range(WARM_UPS + repetitions)][WARM_UPS:]
    return Result(
        f"P14{storage.letter}", f"provider requests for an upload of 2 MB: {storage.name}", "requests", storage.gate,
        storage.gate, [float(len(upload)) for upload in uploads], note=", ".join(max(uploads, key=len)))


def requests_of_one(stack: BenchStack, person: Person, storage: Storage) -> list[str]:
    contents = os.urandom(PHOTOGRAPH_BYTES)
    return requests_during(stack, lambda: person.phone.ask(
        "POST", "UploadFile", contents, fileUUID=new_uuid(), fileVersion=0, mimeType="image/jpeg", masterVersion=0,
        checkSum=storage.check_sum(contents), sharingGroupUUID=person.group))


def requests_during(stack: BenchStack, action: Callable[[], object]) -> list[str]:
    """What is asked of any provider meanwhile."""
    entries = stack.sandbox.json("GET", "/sandbox/requests?since=0")
    before = entries[-1]["number"] if entries else 0
    action()
    entries = stack.sandbox.json("GET", f"/sandbox/requests?since={before}")
    return [f"{entry['method']} {entry['path']}" for entry in entries]
