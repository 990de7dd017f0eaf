"""A name server (RFC 1035): every name has the same address, except for faults.

Kinds of faults:
  nxdomain, servfail, refused  that reply
  empty      the name exists, but has no address
  silent     no reply
  slow       the correct reply after `seconds`
  truncated  over UDP only the truncation flag, over TCP the correct reply
  garbage    bytes that are not a reply
  stranger   the correct reply to a different query
"""

import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

PORT = 53
# It contains no names (RFC 6761, section 6.4).
NOWHERE = "invalid"
CODES = {"servfail": 2, "nxdomain": 3, "refused": 5}
TYPE_A = 1
TTL_SECONDS = 0  # never cached, so that faults take effect at once


@dataclass(frozen=True)
class Question:
    """A lookup sends one for each type of address, and repeats it with the same number."""

    name: str
    type: int
    number: int


class NameServer:
    """Answers on port 53 of its address, by UDP and TCP, from `start` on."""

    def __init__(self, address: str, target: str, fault: Callable[[Question], dict]):
        """`target` is the address of every name; `fault` is the fault of a name, an object with `kind`."""
        self.target, self.fault = target, fault
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind((address, PORT))
        self.listener = socket.create_server((address, PORT))

    def start(self) -> None:
        for serve in (self._serve_udp, self._serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def close(self) -> None:
        self.datagrams.close()
        self.listener.close()

    def reply(self, query: bytes, by_tcp: bool) -> bytes | None:
        """The bytes of the reply; `None` for no reply."""
        number, flags, questions = struct.unpack("!HHH", query[:6])
        name, end = name_in(query)
        kind_asked = struct.unpack("!H", query[end:end + 2])[0]
        asked = query[12:end + 4]
        if questions != 1:
            return struct.pack("!HHHHHH", number, 0x8001 | CODES["refused"], 0, 0, 0, 0)
        fault = {"kind": "nxdomain"} if name.endswith("." + NOWHERE) else self.fault(Question(name, kind_asked, number))
        kind = fault.get("kind", "")
        if kind == "silent":
            return None
        if kind == "garbage":
            return os.urandom(40)
        if kind == "slow":
            time.sleep(float(fault.get("seconds", 1)))
        if kind == "stranger":
            number ^= 0x5555
        truncated = 0x0200 if kind == "truncated" and not by_tcp else 0
        answers = b""
        if kind_asked == TYPE_A and kind not in CODES and kind != "empty" and not truncated:
            answers = b"\xc0\x0c" + struct.pack("!HHIH", TYPE_A, 1, TTL_SECONDS, 4) + socket.inet_aton(self.target)
        head = struct.pack("!HHHHHH", number, 0x8080 | (flags & 0x0100) | truncated | CODES.get(kind, 0), 1,
                           1 if answers else 0, 0, 0)
        return head + asked + answers

    def _serve_udp(self) -> None:
        while True:
            try:
                query, peer = self.datagrams.recvfrom(4096)
            except OSError:
                return
            threading.Thread(target=self._answer_udp, args=(query, peer), daemon=True).start()

    def _answer_udp(self, query: bytes, peer: tuple) -> None:
        reply = self.reply(query, by_tcp=False)
        if reply is not None:
            self.datagrams.sendto(reply, peer)

    def _serve_tcp(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer_tcp, args=(connection,), daemon=True).start()

    def _answer_tcp(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while len(size := stream.read(2)) == 2:
                reply = self.reply(stream.read(struct.unpack("!H", size)[0]), by_tcp=True)
                if reply is not None:
                    connection.sendall(struct.pack("!H", len(reply)) + reply)


def name_in(query: bytes) -> tuple[str, int]:
    """The queried name, and where it ends."""
    labels = []
    position = 12
    while size := query[position]:
        labels.append(query[position + 1:position + 1 + size].decode("ascii", "replace"))
        position += 1 + size
    return ".".join(labels).lower(), position + 1
