"""P6: memory that an upload in flight takes in the responder."""

import socket
import time
from urllib.parse import urlsplit

from demonstration.phone import new_uuid
from demonstration.web import query

from .bench_stack import BenchStack
from .load import LoadError
from .people import Person, sign_up
from .table import Result

UPLOADS = 200
ANNOUNCED_BYTES = 64 << 20
# 65 kB/s each for six seconds: the first part of 256 KiB is in the cloud, half of the second is there.
SECONDS = 6.0
SLICES = 60
SLICE_BYTES = 6554


class SlowPhone:
    """A connection on which part of an upload has been sent."""

    def __init__(self, address: tuple[str, int], person: Person):
        parameters = {
            "fileUUID": new_uuid(), "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": 0,
            "sharingGroupUUID": person.group, "checkSum": "0" * 32}
        headers = {**person.headers(), "Host": "localhost", "Content-Length": str(ANNOUNCED_BYTES)}
        lines = [f"POST /UploadFile/{query(parameters)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.socket = socket.create_connection(address)
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self) -> None:
        self.socket.sendall(bytes(SLICE_BYTES))

    def has_reply(self) -> bytes:
        self.socket.setblocking(False)
        try:
            return self.socket.recv(300)
        except BlockingIOError:
            return b""


def in_flight(stack: BenchStack) -> list[Result]:
    """Proportional set size of all transfer responders, with the uploads and before."""
    person = sign_up(stack, "Vera")
    person.phone.upload(b"one to warm up", fileUUID=new_uuid(), fileVersion=0, mimeType="text/plain", masterVersion=0,
                        sharingGroupUUID=person.group)
    parts = urlsplit(stack.environment["SYNC_HTTP_URL"])
    before = resident(stack)
    phones = [SlowPhone((parts.hostname, parts.port), person) for _ in range(UPLOADS)]
    try:
        start = time.monotonic()
        for step in range(SLICES):
            time.sleep(max(0.0, start + step * SECONDS / SLICES - time.monotonic()))
            for phone in phones:
                phone.send()
        check_that_all_began(stack, person)
        during = resident(stack)
        answered = [reply for phone in phones if (reply := phone.has_reply())]
        if answered:
            raise LoadError(f"{len(answered)} uploads ended too early: {answered[0]!r}")
    finally:
        for phone in phones:
            phone.socket.close()
    kibibytes = (during - before) / 1024 / UPLOADS
    return [Result(
        "P6", f"memory an upload, {UPLOADS} in flight", "KiB", 512, 320, [kibibytes],
        note=f"all transfer responders: {before / (1 << 20):.0f} MiB before, {during / (1 << 20):.0f} MiB during")]


def check_that_all_began(stack: BenchStack, person: Person) -> None:
    """An upload has an intent in the outbox as long as it lasts."""
    intents = stack.sql(
        f"SELECT COUNT(*) FROM outbox WHERE user_id = {person.user_id} AND kind = 'deleteObject'"
        " AND lease_owner IS NOT NULL")
    if int(intents) != UPLOADS:
        raise LoadError(f"Only {intents.strip()} of {UPLOADS} uploads are in flight.")


def resident(stack: BenchStack) -> int:
    """Bytes, shared pages counted in part (proc_pid_smaps(5))."""
    total = 0
    for pid in stack.pids("syncd_transfer"):
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
    return total
