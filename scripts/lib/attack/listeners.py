"""Listeners (Changes) with invented tokens, listeners that never read, and listeners that connect again and again."""

import multiprocessing
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator

from demonstration.phone import new_uuid

from .figure import Figure
from .stage import Stage, slowest_hundredth

ADDRESSES = [f"127.0.70.{number}" for number in range(1, 41)]
# So many addresses that each sends few requests: nginx's limits for each address do not help.
INVENTORS_ADDRESSES = [f"127.0.{71 + number // 200}.{1 + number % 200}" for number in range(1_000)]
INVENTORS = 50
PATIENCE_SECONDS = 60.0
STATUS = b"HTTP/1.1 "


def attack(stage: Stage) -> Iterator[Figure]:
    invented, deaf, loops, seconds, count = (
        (400, 100, 20, 3.0, 40) if stage.small else (10_000, 1_000, 1_000, 20.0, 300))
    reader, listener = stage.sign_up("Rita"), stage.sign_up("Leo")

    def index() -> float:
        began = time.monotonic()
        stage.request("GET", f"/Index/?sharingGroupUUID={reader.group}", reader.headers())
        return (time.monotonic() - began) * 1e3

    known = listener.phone.ask("GET", "Changes")["lastEventId"]
    alone = slowest_hundredth(index, count)
    # In processes of their own, which do not delay the reader's, and yield to the server: real attackers have machines.
    context = multiprocessing.get_context("fork")
    over, tried, refused = context.Event(), context.Value("i", 0), context.Value("i", 0)
    headers = listener.headers() | {"Last-Event-ID": known}

    # At an even rate during the attack: without pauses, the inventors would use up the processors of this machine,
    # which also emulates the provider that verifies each token.
    def invent() -> None:
        while not over.wait(INVENTORS * seconds / invented):
            reply = subscribe(stage, random.choice(INVENTORS_ADDRESSES), {
                "X-token-type": "GoogleToken", "access_token": secrets.token_hex(16), "SyncServer-Device-UUID": new_uuid()})
            with tried.get_lock():
                tried.value += 1
                refused.value += not reply.startswith(STATUS + b"200")

    def connect_again() -> None:
        while not over.is_set():
            subscribe(stage, random.choice(ADDRESSES), headers)

    def commit() -> None:
        sockets = [begin(stage, ADDRESSES[number % len(ADDRESSES)], headers, receive_buffer=2_048) for number in range(deaf)]
        version = 0
        while not over.is_set():
            listener.phone.ask("POST", "DoneUploads", sharingGroupUUID=listener.group, masterVersion=version)
            version += 1
            over.wait(0.2)
        for connection in sockets:
            connection.close()

    processes = [context.Process(target=run, args=works)
                 for works in ([invent] * INVENTORS, [commit], [connect_again] * (loops // 2), [connect_again] * (loops // 2))]
    for process in processes:
        process.start()
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        time.sleep(seconds / 2)
        attacked = slowest_hundredth(index, count)
        while tried.value < invented and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        over.set()
        for process in processes:
            process.join()
    yield Figure.ratio("p99 of Index", alone, attacked, 2.0, alone + (200.0 if stage.small else 5.0))
    yield Figure("subscriptions with invented tokens that were not refused", tried.value - refused.value, 0, "subscriptions")
    print(f"listeners: {tried.value:,} subscriptions with invented tokens", flush=True)


def run(*works: Callable[[], None]) -> None:
    """Does all of the work at once, in threads."""
    os.nice(5)
    threading.stack_size(256 * 1024)
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def begin(stage: Stage, address: str, headers: dict[str, str], receive_buffer: int | None = None) -> socket.socket:
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.bind((address, 0))
    connection.connect(stage.address)
    head = "GET /Changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    connection.sendall(head.encode())
    return connection


def subscribe(stage: Stage, address: str, headers: dict[str, str]) -> bytes:
    """The beginning of the reply; the connection is then closed."""
    with begin(stage, address, headers) as connection:
        connection.settimeout(30)
        try:
            return connection.recv(1024)
        except OSError:
            return b""
