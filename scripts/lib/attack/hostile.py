"""Hostile connections: many, from many addresses, each sending and reading almost nothing."""

import contextlib
import multiprocessing
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

CONNECT_SECONDS = 10.0
AGAIN_SECONDS = 1.0  # until a connection that the server closed is reopened
RECEIVE_BUFFER = 4096  # the kernel buffers few of the server's bytes


@dataclass
class Caller:
    """One connection: its first bytes, and the bytes that follow one by one; `reads` is how many bytes of the reply it reads each time."""

    address: str
    opening: bytes
    trickle: bytes
    reads: bool = False
    connection: socket.socket | None = None
    next_turn: float = 0.0

    def begin(self, server: tuple[str, int]) -> None:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.bind((self.address, 0))
            connection.connect(server)
            connection.sendall(self.opening)
            connection.setblocking(False)
        except OSError:
            connection.close()
            return
        self.connection = connection

    def go_on(self) -> None:
        """Sends or reads a few bytes; records the end of the connection."""
        with contextlib.suppress(BlockingIOError):
            try:
                if self.reads:
                    if not self.connection.recv(64):
                        self.end()
                else:
                    self.connection.send(self.trickle)
            except BlockingIOError:
                raise
            except OSError:
                self.end()

    def look(self) -> None:
        """Whether the server has ended the connection, for one that does not read on purpose."""
        with contextlib.suppress(BlockingIOError):
            try:
                if not self.connection.recv(65536):
                    self.end()
            except BlockingIOError:
                raise
            except OSError:
                self.end()

    def end(self) -> None:
        self.connection.close()
        self.connection = None


def _carry_on(server: tuple[str, int], callers: list[Caller], interval: float, over, ready) -> None:
    """Runs in a separate process, so that the measuring code has its own interpreter.

    Has the lowest priority: in reality, callers do not run on the server.
    """
    os.nice(19)
    while not over.is_set():
        began = time.monotonic()
        for caller in callers:
            now = time.monotonic()
            if caller.next_turn > now:
                continue
            if caller.connection is None:
                caller.begin(server)
                caller.next_turn = now + (interval if caller.connection else AGAIN_SECONDS)
            else:
                caller.go_on()
                if caller.connection is not None and not caller.reads:
                    caller.look()
                caller.next_turn = now + (interval if caller.connection else AGAIN_SECONDS)
            if over.is_set():
                break
        ready.set()
        over.wait(max(0.0, 0.1 - (time.monotonic() - began)))


@contextlib.contextmanager
def calling(server: tuple[str, int], callers: list[Caller], interval: float) -> Iterator[None]:
    """Opens all connections, and reopens each that the server closes, until the end of the block, which begins when all
    have been open once."""
    context = multiprocessing.get_context("fork")
    over, ready = context.Event(), context.Event()
    process = context.Process(target=_carry_on, args=(server, callers, interval, over, ready), daemon=True)
    process.start()
    try:
        if not ready.wait(120):
            raise TimeoutError("the hostile callers cannot connect")
        yield
    finally:
        over.set()
        process.join(20)
        if process.is_alive():
            process.kill()


@contextlib.contextmanager
def held(server: tuple[str, int], addresses: list[str], count: int, opening: bytes) -> Iterator[list[socket.socket]]:
    """Opens `count` connections and sends only the beginning of a request on each."""
    connections = []
    try:
        for number in range(count):
            connection = socket.create_connection(server, CONNECT_SECONDS, (addresses[number % len(addresses)], 0))
            connections.append(connection)
            with contextlib.suppress(OSError):  # rejected before its end
                connection.sendall(opening)
        yield connections
    finally:
        for connection in connections:
            connection.close()
