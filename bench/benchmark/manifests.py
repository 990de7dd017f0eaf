"""P22: the manifest of a large group, and the cost of manifests while people upload."""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from syncstack.processes import wait_until

from .bench_stack import BenchStack
from .busy_phone import BusyPhone
from .commits import CLIENTS, ours_once
from .load import LoadError
from .people import Person, sign_up
from .photographs import AT_ONCE, PHOTOGRAPH_BYTES, Ours
from .processor_time import ROLES, processor_seconds
from .requests import interleaved
from .space import random_uuid
from .table import Result

MEBIBYTE = 1 << 20
# Instead of 60: with the default, a manifest would be written only once a minute.
INTERVAL_SECONDS = 1
WRITTEN = 'syncd_manifests_total{outcome="written"}'


def with_and_without(stack: BenchStack, repetitions: int, seconds: float, files: int, photographs: int) -> list[Result]:
    switch(stack, True)
    try:
        results = of_many_files(stack, files, repetitions)
        return results + [*beside_commits(stack, repetitions, seconds), *beside_photographs(stack, repetitions, photographs)]
    finally:
        stack.configure({})


def switch(stack: BenchStack, is_on: bool) -> None:
    """Restarts the server with manifests or without."""
    stack.configure({"manifests": {"enabled": is_on, "intervalSeconds": INTERVAL_SECONDS}})


# A large group.

def of_many_files(stack: BenchStack, files: int, repetitions: int) -> list[Result]:
    person = sign_up(stack, "Manfred")
    fill(stack, person, files)
    jobs, database = stack.pids("syncd_jobs"), stack.pids("mariadb")
    jobs_time, database_time, memory = [], [], []
    for _ in range(repetitions + 1):
        before = processor_seconds(jobs), processor_seconds(database), peak(jobs, begins=True)
        change(stack, person)
        jobs_time.append((processor_seconds(jobs) - before[0]) * 1e3)
        database_time.append((processor_seconds(database) - before[1]) * 1e3)
        memory.append((peak(jobs) - before[2]) / MEBIBYTE)
    size = int(stack.sql(f"SELECT size_bytes FROM manifests WHERE owning_user_id = {person.user_id}"))
    return [
        Result("P22a", f"CPU time of the jobs role for a manifest of {files:,} files", "ms", files / 10, files / 50,
               jobs_time[1:], note=f"MariaDB {statistics.median(database_time[1:]):.0f} ms"),
        Result("P22b", "memory that this adds to its peak", "MiB", 64, 32, [max(memory)]),
        Result("P22c", "size of this manifest", "kB", files * 0.04, files * 0.04, [size / 1e3])]


def fill(stack: BenchStack, person: Person, files: int) -> None:
    """Adds files to the person's group, two in each file group, with short metadata."""
    stack.sql(f"""
        INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,
               created_at, updated_at, mime_type, app_metadata, app_metadata_version, file_version, check_sum, sha256,
               size_bytes, object_id, changed_at_master_version)
        SELECT {person.group_id}, {random_uuid("manifest")},
               {random_uuid("album").replace("seq", "seq DIV 2")}, {person.user_id}, 'Google', '{person.phone.device}',
               '2023-01-01' + INTERVAL seq * 947 SECOND, '2023-01-01' + INTERVAL seq * 947 SECOND,
               IF(seq % 2 = 0, 'image/jpeg', 'text/plain'), IF(seq % 2 = 0, '{{"fileType":"image"}}', NULL),
               IF(seq % 2 = 0, 0, NULL), 0, MD5(seq), UNHEX(SHA2(seq, 256)), 2000000 + CRC32(seq) % 4000000,
               CONCAT('object-', {person.user_id}, '-', seq), 1
          FROM seq_1_to_{files};
        ANALYZE TABLE files;
        """)


def change(stack: BenchStack, person: Person) -> None:
    """Changes the group, and waits for its manifest."""
    group = f"sharing_group_id = {person.group_id}"
    stack.sql(f"UPDATE sharing_groups SET master_version = master_version + 1 WHERE {group}")
    version = stack.sql(f"SELECT master_version FROM sharing_groups WHERE {group}")
    if not wait_until(lambda: stack.sql(f"SELECT master_version FROM manifests WHERE {group}") == version, 120.0):
        raise LoadError("The manifest of the large group was not written.")


def peak(pids: list[int], begins: bool = False) -> int:
    """The largest peak of the processes' resident memory, in bytes; with `begins`, the peaks are reset first."""
    found = 0
    for pid in pids:
        if begins:
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        found = max(found, *(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")))
    return found


# Uploads.

def processes(stack: BenchStack) -> list[int]:
    return [pid for name in (*ROLES, "mariadb", "nginx") for pid in stack.pids(name)]


def compared(
    stack: BenchStack, measure: Callable[[bool], float], repetitions: int
) -> tuple[list[float], list[float], str]:
    """Milliseconds of processor time for each upload with manifests and without, and a note. `measure` returns the
    number of uploads; its argument is whether they only warm up."""
    written: list[float] = []
    rates: dict[bool, list[float]] = {True: [], False: []}

    def once(is_on: bool) -> float:
        switch(stack, is_on)
        measure(True)
        pids, manifests = processes(stack), stack.metric(WRITTEN)
        before, began = processor_seconds(pids), time.monotonic()
        uploads = measure(False)
        spent, seconds = processor_seconds(pids) - before, time.monotonic() - began
        rates[is_on].append(uploads / seconds)
        if is_on:
            written.append((stack.metric(WRITTEN) - manifests) / seconds)
        return spent / uploads * 1e3

    on, off = interleaved(
        lambda _: once(True), lambda _: once(False), repetitions=repetitions, warm_up=False)
    return on, off, (
        f"{statistics.mean(written):.1f} manifests a second;"
        f" {statistics.median(rates[True]):.0f} uploads a second, and {statistics.median(rates[False]):.0f} without")


def beside_commits(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    people = [sign_up(stack, f"Wilma {number}") for number in range(CLIENTS)]
    os.environ["ACCESS_TOKEN"] = people[0].access_token
    results = []
    for letter, what, members in (("d", "1 client", people[:1]), ("e", f"{CLIENTS} clients, {CLIENTS} groups", people)):
        def measure(is_warm_up: bool, members: list[Person] = members) -> float:
            # A second can be too short for the first upload after a restart.
            duration = max(3, round(seconds / 2)) if is_warm_up else max(1, round(seconds))
            return ours_once(stack, members, duration, []) * duration

        on, off, note = compared(stack, measure, repetitions)
        results.append(Result(
            f"P22{letter}", f"CPU time of upload and commit, {what}, with manifests, against without", "ms", 1.2, 1.1, on,
            off, is_cost=True, note=note))
    return results


def beside_photographs(stack: BenchStack, repetitions: int, count: int) -> list[Result]:
    phone = BusyPhone(stack, count, PHOTOGRAPH_BYTES)
    side = Ours(stack, phone)

    def measure(_: bool) -> float:
        side.up(AT_ONCE)
        return count

    on, off, note = compared(stack, measure, repetitions)
    return [Result(
        "P22f", f"CPU time of a photograph of 2 MB up, {AT_ONCE} at a time, with manifests, against without", "ms", 1.2, 1.1,
        on, off, is_cost=True, note=note)]
