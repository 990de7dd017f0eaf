"""Long uploads, from phones on slow lines."""

import socket
import threading
import time
from urllib.parse import urlsplit

from demonstration.phone import new_uuid
from demonstration.web import Website, query
from syncstack.processes import wait_until

from .bench_stack import BenchStack
from .drive import Drive
from .load import LoadError
from .people import Person

ANNOUNCED_BYTES = 64 << 20
INTERVAL_SECONDS = 0.1  # between two slices of one phone
BATCH_SECONDS = 0.005  # phones whose turns are closer together send at once
PATIENCE_SECONDS = 20.0  # for a server that does not read
CLEAN_UP_SECONDS = 60.0


class Uploads:
    """Unfinished uploads of one person to our server."""

    def __init__(self, stack: BenchStack, person: Person):
        self.stack, self.person = stack, person

    @property
    def url(self) -> str:
        return self.stack.environment["SYNC_HTTP_URL"]

    def begin(self) -> tuple[str, dict[str, str]]:
        """The request line of a new upload, without the version, and its headers."""
        parameters = {
            "fileUUID": new_uuid(), "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": 0,
            "sharingGroupUUID": self.person.group, "checkSum": "0" * 32}
        return f"POST /UploadFile/{query(parameters)}", self.person.headers()

    def in_flight(self) -> int:
        """The number of uploads in progress in the responders."""
        return int(self.stack.metric('syncd_transfers_in_flight{direction="upload"}'))

    def received_bytes(self) -> int:
        """The number of upload bytes that the responders have read."""
        return int(self.stack.metric('syncd_transfer_bytes_total{direction="upload"}'))

    def is_cleared(self) -> bool:
        """Whether everything is deleted: an upload has a row in the outbox until nothing of it is left in the cloud."""
        rows = f"SELECT COUNT(*) FROM outbox WHERE user_id = {self.person.user_id}"
        return self.in_flight() == 0 and int(self.stack.sql(rows)) == 0


class UploadsToFloor(Uploads):
    """The same uploads through the floor of transfers, which counts them itself."""

    def __init__(self, stack: BenchStack, person: Person):
        super().__init__(stack, person)
        self.drive = Drive(stack, person)
        self.sessions: list[str] = []

    @property
    def url(self) -> str:
        return self.stack.plain_floor_url

    def begin(self) -> tuple[str, dict[str, str]]:
        self.sessions.append(self.drive.begin_upload(new_uuid() + ".jpg", ANNOUNCED_BYTES))
        return f"PUT {self.sessions[-1]}", self.drive.authorization

    def in_flight(self) -> int:
        return self._counters()[0]

    def received_bytes(self) -> int:
        return self._counters()[1]

    def is_cleared(self) -> bool:
        if self.in_flight() > 0:
            return False
        while self.sessions:
            self.drive.abandon_upload(self.sessions.pop())
        return True

    def _counters(self) -> list[int]:
        return [int(word) for word in Website(self.url).call("GET", "/counters").body.split()]


class SlowPhone:
    """A connection on which part of an upload has been sent."""

    def __init__(self, address: tuple[str, int], request: str, headers: dict[str, str]):
        headers = {**headers, "Host": "localhost", "Content-Length": str(ANNOUNCED_BYTES)}
        lines = [f"{request} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        self.socket = socket.create_connection(address, timeout=PATIENCE_SECONDS)
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, slice_of_file: bytes) -> None:
        try:
            self.socket.sendall(slice_of_file)
        except OSError as error:
            raise LoadError(f"An upload ended too early: {error}") from None


class SlowPhones:
    """`count` uploads, in progress from their first turn in `send` to the end of the block."""

    def __init__(self, uploads: Uploads, count: int, bytes_per_second: int):
        parts = urlsplit(uploads.url)
        self.address = parts.hostname, parts.port
        self.uploads, self.count = uploads, count
        self.slice_of_file = bytes(round(bytes_per_second * INTERVAL_SECONDS))
        self.phones: list[SlowPhone] = []
        self.over = threading.Event()

    def __enter__(self) -> "SlowPhones":
        return self

    def __exit__(self, failure, *_) -> None:
        """Closes the connections, and waits until the server has deleted the uploads' remains."""
        for phone in self.phones:
            phone.socket.close()
        if failure is None and not wait_until(self.uploads.is_cleared, CLEAN_UP_SECONDS):
            raise LoadError(f"{CLEAN_UP_SECONDS:.0f} s after the phones disconnected, their uploads still exist.")

    def send(self, seconds: float, begin_seconds: float = 0.0) -> None:
        """Sends for all uploads, each at its own times, until `seconds` have passed or `over` is set.

        They begin one after the other within `begin_seconds`, which are added.
        """
        rounds_of_beginning = round(begin_seconds / INTERVAL_SECONDS)
        rounds = rounds_of_beginning + 1 + round(seconds / INTERVAL_SECONDS)
        start = time.monotonic()
        for turn in range(rounds * self.count):
            ahead = start + turn * INTERVAL_SECONDS / self.count - time.monotonic()
            if self.over.wait(ahead if ahead > BATCH_SECONDS else 0):
                return
            round_number, number = divmod(turn, self.count)
            first_round = number * rounds_of_beginning // self.count
            if round_number == first_round:
                self.phones.append(SlowPhone(self.address, *self.uploads.begin()))
            elif round_number > first_round:
                self.phones[number].send(self.slice_of_file)

    def check_in_flight(self) -> None:
        number = self.uploads.in_flight()
        if number != self.count:
            raise LoadError(f"{number} uploads are in progress instead of {self.count}.")
