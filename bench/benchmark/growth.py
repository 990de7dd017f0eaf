"""P20: the cost of a server with a million files, compared with an almost empty one."""

import statistics
import subprocess
import time
from collections.abc import Callable

from demonstration.phone import new_uuid
from syncstack.processes import environment

from .bench_stack import BenchStack
from .load import LoadError
from .people import Person, commit, sign_up
from .space import random_uuid
from .table import Result

GROUPS = 100
CONTENTS = bytes(1024)


def with_many_files(stack: BenchStack, files: int, repetitions: int) -> list[Result]:
    """Measures before and after other people's files are added; afterwards, the stack remains full."""
    person = sign_up(stack, "Resident")
    few = measured(stack, person, repetitions)
    fill(stack, files)
    many = measured(stack, person, repetitions)
    return [
        *(Result(number, f"{what}, {files:,} files on the server against none", "ms", 1.5, 1.1, many[what], few[what],
                 is_cost=True)
          for number, what in (("P20a", "one file uploaded and committed"), ("P20b", "Index after one change"))),
        Result("P20c", f"`syncctl status` with {files:,} files", "ms", 400, 200, many["status"],
               note=f"without files {statistics.median(few['status']):.0f} ms")]


def measured(stack: BenchStack, person: Person, repetitions: int) -> dict[str, list[float]]:
    """Milliseconds by what was measured; the first of each fills caches, and does not count."""
    times: dict[str, list[float]] = {}

    def note(what: str, step: Callable) -> None:
        began = time.monotonic()
        step()
        times.setdefault(what, []).append((time.monotonic() - began) * 1e3)

    version = person.phone.index(person.group)["masterVersion"]
    for _ in range(repetitions + 1):
        note("one file uploaded and committed", lambda: add_file(person, version))
        version += 1
        note("Index after one change", lambda: changes(person, version - 1))
        note("status", lambda: status(stack))
    return {what: values[1:] for what, values in times.items()}


def add_file(person: Person, version: int) -> None:
    person.phone.upload(
        CONTENTS, fileUUID=new_uuid(), fileVersion=0, mimeType="image/jpeg", masterVersion=version,
        sharingGroupUUID=person.group)
    commit(person, version)


def changes(person: Person, since: int) -> None:
    reply = person.phone.ask("GET", "Index", sharingGroupUUID=person.group, since=since)
    if len(reply["fileIndex"]) != 1:
        raise LoadError(f"Index should list one changed file: {reply['fileIndex'][:2]}")


def status(stack: BenchStack) -> None:
    command = [stack.program("syncctl"), "status", "--config", stack.environment["CONFIG_FILE"]]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=environment())


def fill(stack: BenchStack, files: int) -> None:
    """Adds groups of people who are not here, with files in random order of their UUIDs, a tenth of them deleted."""
    stack.sql(f"""
        INSERT INTO sharing_groups (sharing_group_uuid, master_version, created_at)
        SELECT {random_uuid("group")}, {files // GROUPS}, '2026-01-01' FROM seq_1_to_{GROUPS};
        INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,
               created_at, updated_at, mime_type, file_version, check_sum, sha256, size_bytes, object_id, is_deleted,
               changed_at_master_version)
        SELECT (SELECT MAX(sharing_group_id) FROM sharing_groups) - seq % {GROUPS}, {random_uuid("file")},
               {random_uuid("file group")}, 1000000 + seq % {GROUPS}, 'Google', {random_uuid("device")}, '2026-01-01',
               '2026-01-01', 'image/jpeg', 0, MD5(seq), UNHEX(SHA2(seq, 256)), 2000000 + seq % 1000,
               CONCAT('object-', seq), seq % 10 = 0, seq DIV {GROUPS}
          FROM seq_1_to_{files};
        ANALYZE TABLE files, sharing_groups;
        """)
