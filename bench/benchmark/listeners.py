"""P19: clients that wait for signals about changes, compared with clients that poll every ten seconds.

The listeners are connections of one process, over plain HTTP, which share the tokens of a few people: what a listener
costs nginx does not depend on whose it is. A group's members are entered directly into the database.
"""

import os
import select
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from .bench_stack import BenchStack
from .load import LoadError, requests_per_second
from .people import Person, sign_up
from .requests import CONNECTIONS, FILES
from .responsiveness import UPLOADS, Crowd
from .table import Result
from .transfers import MEBIBYTE, Transfers

GROUPS = 10
LISTENERS_OF_A_PERSON = 60  # nginx permits 64 in each process
PACE = 100  # connections opened before a pause, so that none is refused
POLLING_SECONDS = 10.0
QUIET_SECONDS = 12.0
PATIENCE_SECONDS = 60.0
OPEN_FILES_LEFT = 500


class Listeners:
    """Open streams, and when each event arrived at each of them."""

    def __init__(self, stack: BenchStack):
        parts = urlsplit(stack.environment["SYNC_HTTP_URL"])
        self.address = (parts.hostname, parts.port)
        self.sockets: list[socket.socket] = []
        self.arrivals: dict[bytes, list[float]] = {}
        self.poll = select.epoll()
        self.by_number: dict[int, socket.socket] = {}
        self.is_over = threading.Event()
        self.lost = 0
        self.greeted = 0
        self.thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "Listeners":
        self.thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.is_over.set()
        self.thread.join()
        for connection in self.sockets:
            connection.close()
        self.poll.close()

    def add(self, person: Person, known: str, count: int) -> None:
        """Opens streams that wait."""
        headers = person.headers() | {"Accept": "text/event-stream", "Last-Event-ID": known}
        head = "GET /Changes HTTP/1.1\r\nHost: localhost\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
        for _ in range(count):
            connection = socket.create_connection(self.address)
            connection.sendall(head.encode())
            connection.setblocking(False)
            self.sockets.append(connection)
            self.by_number[connection.fileno()] = connection
            self.poll.register(connection, select.EPOLLIN)
            if len(self.sockets) % PACE == 0:
                self.wait_for_greetings()

    def wait_for_greetings(self) -> None:
        """Waits until every stream has begun."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.greeted < len(self.sockets):
            if time.monotonic() > end or self.lost:
                raise LoadError(f"{self.greeted} of {len(self.sockets)} streams began.")
            time.sleep(0.01)

    def _read(self) -> None:
        while not self.is_over.is_set():
            for number, _ in self.poll.poll(0.2):
                try:
                    received = self.by_number[number].recv(4096)
                except BlockingIOError:
                    continue
                now = time.monotonic()
                if not received:
                    self.poll.unregister(number)
                    self.lost += 1
                self.greeted += received.count(b": hi")
                for line in received.split(b"\n"):
                    if line.startswith(b"data: "):
                        self.arrivals.setdefault(line, []).append(now)


def known_state(person: Person) -> str:
    return person.phone.ask("GET", "Changes")["lastEventId"]


def processor_seconds(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_kibibytes(pids: list[int]) -> int:
    """Without what the processes share."""
    lines = [line for pid in pids for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def pids(stack: BenchStack, *names: str) -> list[int]:
    return [pid for name in names for pid in stack.pids(name)]


def begin_groups(stack: BenchStack, people_in_each: int) -> list[list[Person]]:
    groups = []
    for number in range(GROUPS):
        members = [sign_up(stack, f"Listener {number}-{member}") for member in range(people_in_each)]
        for member in members[1:]:
            stack.sql(
                f"INSERT INTO memberships (sharing_group_id, user_id, permission, joined_at)"
                f" VALUES ({members[0].group_id}, {member.user_id}, 'read', UTC_TIMESTAMP())")
        groups.append(members)
    return groups


def commit(owner: Person, version: int) -> tuple[bytes, float]:
    """Commits nothing, which raises the version; returns the data of the event, and when the commit was answered."""
    owner.phone.ask("POST", "DoneUploads", sharingGroupUUID=owner.group, masterVersion=version)
    return f'data: {{"sharingGroupUUID":"{owner.group}","masterVersion":{version + 1}}}'.encode(), time.monotonic()


def delays(listeners: Listeners, commits: list[tuple[bytes, float, int]]) -> list[float]:
    """Milliseconds from each commit to each of its arrivals; the commits have the numbers of listeners as well."""
    end = time.monotonic() + PATIENCE_SECONDS
    while any(len(listeners.arrivals.get(event, [])) < count for event, _, count in commits):
        if time.monotonic() > end:
            missing = sum(max(0, count - len(listeners.arrivals.get(event, []))) for event, _, count in commits)
            raise LoadError(f"{missing} events did not arrive within {PATIENCE_SECONDS:.0f} s.")
        time.sleep(0.05)
    return [max(0.0, arrival - answered) * 1e3
            for event, answered, _ in commits for arrival in listeners.arrivals[event]]


@contextmanager
def opened_streams(stack: BenchStack, groups: list[list[Person]], each: int) -> Iterator[Listeners]:
    """Opens `each` streams of every group, all of which have begun."""
    states = {person.user_id: known_state(person) for members in groups for person in members}
    with Listeners(stack) as listeners:
        for members in groups:
            rest = each
            for person in members:
                count = min(rest, LISTENERS_OF_A_PERSON)
                listeners.add(person, states[person.user_id], count)
                rest -= count
        listeners.wait_for_greetings()
        yield listeners


def measure(stack: BenchStack, total: int, seconds: float) -> dict[str, float]:
    """Opens `total` streams, and measures them idle, and with a commit a second in each group."""
    each = -(-total // GROUPS)
    groups = begin_groups(stack, -(-each // LISTENERS_OF_A_PERSON))
    # nchan repeats signals of the last ten seconds to new listeners, which would then not be idle.
    time.sleep(11)
    nginx, syncd = pids(stack, "nginx"), pids(stack, "syncd_api")
    nginx_before, syncd_before = memory_kibibytes(nginx), memory_kibibytes(syncd)
    with opened_streams(stack, groups, each) as listeners:
        opened = len(listeners.sockets)
        if listeners.lost:
            raise LoadError(f"{listeners.lost} of {opened} streams were refused.")
        everything = pids(stack, "nginx", "syncd_api", "mariadb")
        before = processor_seconds(everything)
        time.sleep(QUIET_SECONDS)
        idle = (processor_seconds(everything) - before) / QUIET_SECONDS
        memory = (memory_kibibytes(nginx) - nginx_before) / opened
        growth = memory_kibibytes(syncd) - syncd_before
        commits = []
        end = time.monotonic() + seconds
        version = 0
        while time.monotonic() < end:
            began = time.monotonic()
            for members in groups:
                event, answered = commit(members[0], version)
                commits.append((event, answered, each))
            version += 1
            time.sleep(max(0.0, began + 1 - time.monotonic()))
        found = delays(listeners, commits)
        after_signals = (memory_kibibytes(nginx) - nginx_before) / opened
    return {
        "listeners": opened, "idle": idle, "memory": memory, "after": after_signals, "syncd": growth,
        "median": statistics.median(found), "p99": statistics.quantiles(found, n=100)[98], "events": len(found)}


def cost_of_asking(stack: BenchStack, person: Person, count: int) -> float:
    """Processor seconds of an Index that answers that nothing has changed, by a new connection each."""
    tag = person.phone.request("GET", "Index").headers["etag"]
    everything = pids(stack, "nginx", "syncd_api", "mariadb")
    before = processor_seconds(everything)
    parts = urlsplit(stack.environment["SYNC_HTTP_URL"])
    head = "GET /Index/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in (person.headers() | {"If-None-Match": tag}).items()) + "\r\n"
    for _ in range(count):
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            connection.sendall(head.encode())
            if not connection.recv(4096).startswith(b"HTTP/1.1 304"):
                raise LoadError("Index did not answer 304.")
            while connection.recv(4096):
                pass
    return (processor_seconds(everything) - before) / count


def waiting(stack: BenchStack, total: int, seconds: float) -> list[Result]:
    asking = cost_of_asking(stack, sign_up(stack, "Polly"), 2_000)
    few, many = measure(stack, 100, seconds), measure(stack, total, seconds)
    opened = many["listeners"]
    polling = opened / POLLING_SECONDS * asking
    return [
        Result("P19a", "commit to signal, 100 listeners, median", "ms", 100, 20, [few["median"]],
               note=f"99th percentile {few['p99']:.0f} ms of {few['events']:,} signals"),
        Result("P19b", f"the same, {opened:,} listeners in {GROUPS} groups, a commit a second in each", "ms", 200, 50,
               [many["median"]], note=f"99th percentile {many['p99']:.0f} ms of {many['events']:,} signals"),
        Result("P19c", f"processor time of {opened:,} idle listeners, against asking every {POLLING_SECONDS:.0f} s", "s/s",
               0.05, 0.02, [many["idle"]], [polling], is_cost=True),
        Result("P19d", "memory of nginx for an idle listener without TLS", "KiB", 20, 16, [many["memory"]],
               note=f"{many['after']:.1f} KiB after a signal; syncd grew by {many['syncd']:,.0f} KiB in total"),
    ]


def beside(stack: BenchStack, reader: Person, total: int, repetitions: int, seconds: float, gibibytes: float) -> list[Result]:
    """P2, P4 and P7 with and without idle listeners, interleaved."""
    each = -(-total // GROUPS)
    groups = begin_groups(stack, -(-each // LISTENERS_OF_A_PERSON))
    transfers, crowd = Transfers(stack, gibibytes), Crowd(stack, seconds)
    url = f"{stack.environment['SYNC_HTTP_URL']}/Index/?sharingGroupUUID={reader.group}"

    def figures() -> tuple[float, float, float]:
        return (requests_per_second(url, seconds, CONNECTIONS, reader.headers()),
                transfers.upload_and_forget() / MEBIBYTE, crowd.with_uploads())

    alone, accompanied = [], []
    for _ in range(repetitions):
        alone.append(figures())
        with opened_streams(stack, groups, each) as listeners:
            accompanied.append(figures())
            if listeners.lost:
                raise LoadError(f"{listeners.lost} streams ended.")
    company = f"beside {each * GROUPS:,} idle listeners, against without"
    lines = (("e", f"Index of {FILES:,} files", "/s", 0.8, 0.95, False),
             ("f", f"UploadFile of {gibibytes:g} GiB", "MiB/s", 0.8, 0.95, False),
             ("g", f"p99 of Index with {UPLOADS} slow uploads in flight", "ms", 1.5, 1.2, True))
    return [Result(f"P19{letter}", f"{what} {company}", unit, gate, aim, ours, baseline, is_cost=is_cost)
            for (letter, what, unit, gate, aim, is_cost), ours, baseline in zip(
                lines, map(list, zip(*accompanied)), map(list, zip(*alone)))]
