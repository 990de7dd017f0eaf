"""Hundreds of requests whose large headers never end."""

import contextlib
import re
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

from http2frames import frame, prefixed

from .figure import Figure
from .hostile import held
from .stage import Stage

ADDRESSES = [f"127.0.11.{number}" for number in range(1, 41)]
LINE_BYTES = 15_000
FRAME_BYTES = 16_000
SETTLE_SECONDS = 1.0


def attack(stage: Stage) -> Iterator[Figure]:
    count = 100 if stage.small else 500
    limit = 0.2 * count  # MB
    before = memory(stage)  # once: nginx reuses memory that it has returned to its allocator
    for lines in (9, 40):  # headers that fit the buffers, and much larger ones
        opening = b"GET /Index/ HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"x" * LINE_BYTES + b"\r\n"
        opening += (b"X: " + b"x" * LINE_BYTES + b"\r\n") * (lines - 1) + b"X-Last: "
        with held(stage.address, ADDRESSES, count, opening):
            yield Figure(f"memory of nginx for {count} incomplete requests of {lines * LINE_BYTES:,} bytes by HTTP/1.1",
                         most(stage) - before, limit, "MB")
    with contextlib.ExitStack() as connections:
        for number in range(count):
            connections.enter_context(half_http_2(stage, ADDRESSES[number % len(ADDRESSES)]))
        yield Figure(f"memory of nginx for {count} incomplete requests by HTTP/2", most(stage) - before, limit, "MB")


def half_http_2(stage: Stage, address: str) -> ssl.SSLSocket:
    """Frames of RFC 9113; header fields of RFC 7541, 6.2.2, without an end."""
    context = ssl.create_default_context(cafile=stage.environment["CA_FILE"])
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection(stage.secure_address, 10, (address, 0))
    connection = context.wrap_socket(plain, server_hostname="localhost")
    fields = b"".join(
        b"\0" + prefixed(len(name)) + name + prefixed(LINE_BYTES) + b"x" * LINE_BYTES for name in [b"x"] * 9)
    parts = [fields[start:start + FRAME_BYTES] for start in range(0, len(fields), FRAME_BYTES)]
    with contextlib.suppress(OSError):
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + b"".join(
            frame(1 if index == 0 else 9, 1 if index == 0 else 0, 1, part) for index, part in enumerate(parts)))
    return connection


def memory(stage: Stage) -> float:
    """The private memory of nginx's processes, in MB."""
    kibibytes = 0
    for pid in stage.environment["PIDS_nginx"].split():
        with contextlib.suppress(FileNotFoundError):
            kibibytes += int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
    return kibibytes / 1e3


def most(stage: Stage) -> float:
    """The maximum of several readings."""
    deadline = time.monotonic() + SETTLE_SECONDS
    largest = 0.0
    while time.monotonic() < deadline:
        largest = max(largest, memory(stage))
        time.sleep(0.05)
    return largest
