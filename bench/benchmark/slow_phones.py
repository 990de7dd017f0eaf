"""Uploads that take long, from phones on slow lines."""

import socket
import threading
import time
from urllib.parse import urlsplit

from demonstration.phone import new_uuid
from demonstration.web import query
from syncstack.processes import wait_until

from .bench_stack import BenchStack
from .load import LoadError
from .people import Person

ANNOUNCED_BYTES = 64 << 20
INTERVAL_SECONDS = 0.1  # between two slices of one phone
BATCH_SECONDS = 0.005  # phones whose turns are closer together than this take them at once
PATIENCE_SECONDS = 20.0  # for a server that does not read
CLEAN_UP_SECONDS = 60.0


class SlowPhone:
    """A connection on which part of an upload has been sent."""

    def __init__(self, address: tuple[str, int], person: Person):
        parameters = {
            "fileUUID": new_uuid(), "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": 0,
            "sharingGroupUUID": person.group, "checkSum": "0" * 32}
        headers = {**person.headers(), "Host": "localhost", "Content-Length": str(ANNOUNCED_BYTES)}
        lines = [f"POST /UploadFile/{query(parameters)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.socket = socket.create_connection(address, timeout=PATIENCE_SECONDS)
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def send(self, slice_of_file: bytes) -> None:
        try:
            self.socket.sendall(slice_of_file)
        except OSError as error:
            raise LoadError(f"An upload ended too early: {error}") from None


class SlowPhones:
    """`count` uploads of one person, in flight from their first turn in `send` to the end of the block."""

    def __init__(self, stack: BenchStack, person: Person, count: int, bytes_per_second: int):
        parts = urlsplit(stack.environment["SYNC_HTTP_URL"])
        self.address = parts.hostname, parts.port
        self.stack, self.person, self.count = stack, person, count
        self.slice_of_file = bytes(round(bytes_per_second * INTERVAL_SECONDS))
        self.phones: list[SlowPhone] = []
        self.over = threading.Event()

    def __enter__(self) -> "SlowPhones":
        return self

    def __exit__(self, failure, *_) -> None:
        """Hangs up, and waits until the server has cleared away what came of it."""
        for phone in self.phones:
            phone.socket.close()
        if failure is None and not wait_until(self._is_cleared, CLEAN_UP_SECONDS):
            raise LoadError(f"{CLEAN_UP_SECONDS:.0f} s after the phones hung up their uploads are not cleared away.")

    def send(self, seconds: float, begin_seconds: float = 0.0) -> None:
        """Sends for all of them, each at its own moments, until `seconds` have passed or `over` is set.

        They begin one after the other within `begin_seconds`, which come on top.
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
                self.phones.append(SlowPhone(self.address, self.person))
            elif round_number > first_round:
                self.phones[number].send(self.slice_of_file)

    def in_flight(self) -> int:
        """How many of them the responders are working on."""
        return int(self.stack.metric('syncd_transfers_in_flight{direction="upload"}'))

    def received_bytes(self) -> int:
        """What the responders have read of all uploads so far."""
        return int(self.stack.metric('syncd_transfer_bytes_total{direction="upload"}'))

    def check_in_flight(self) -> None:
        number = self.in_flight()
        if number != self.count:
            raise LoadError(f"{number} uploads are in flight instead of {self.count}.")

    def _is_cleared(self) -> bool:
        """An upload has a row in the outbox until nothing of it is left in the cloud."""
        rows = f"SELECT COUNT(*) FROM outbox WHERE user_id = {self.person.user_id}"
        return self.in_flight() == 0 and int(self.stack.sql(rows)) == 0
