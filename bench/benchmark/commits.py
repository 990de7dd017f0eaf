"""P8: small uploads and their commits, compared with transactions that contain only a commit's required writes.

In addition to the gate's baseline there is a lower bound: a program that does only the work required of every server.
"""

import hashlib
import os
import re
import statistics

from demonstration.phone import new_uuid
from syncstack.processes import run

from .bench_stack import BenchStack
from .load import CLIENTS_FOLDER, LoadError, requests_per_second
from .people import Person, sign_up
from .requests import interleaved
from .table import Result

CLIENTS = 8


def cycles(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    people = [sign_up(stack, f"Willi {number}") for number in range(CLIENTS)]
    results = []
    for letter, what, members in (
        ("a", "1 client", people[:1]),
        ("b", f"{CLIENTS} clients, one group", people[:1] * CLIENTS),
        ("c", f"{CLIENTS} clients, {CLIENTS} groups", people),
    ):
        stale: list[float] = []
        os.environ["ACCESS_TOKEN"] = people[0].access_token
        ours, baseline, floor = interleaved(
            lambda short, members=members: ours_once(stack, members, short or seconds, stale),
            lambda short, members=members: looped_once(stack, "commits", members, short or seconds),
            lambda short, members=members: looped_once(stack, "cycles", members, short or seconds),
            repetitions=repetitions)
        cloud = requests_per_second(
            stack.plain_proxy_url, seconds, len(members), script=CLIENTS_FOLDER / "cloud.lua")
        line = Result(f"P8{letter}", f"upload and commit, {what}", "/s", 0.3, 0.6, ours, baseline, floor)
        line.note = (
            f"the floor reaches {line.attainable:.2f} of the baseline; the emulated cloud by itself takes"
            f" {cloud:,.0f} such files a second from as many clients")
        against_floor = Result(f"P8{letter}*", "the same, against the floor", "/s", 0.3, 0.6, ours, floor)
        if letter == "b":
            against_floor.note = f"{statistics.mean(stale):.1f} stale replies a commit"
        results += [line, against_floor]
    return results


def ours_once(stack: BenchStack, members: list[Person], seconds: float, stale: list[float]) -> float:
    """Commits per second; each client is a separate device."""
    versions = dict(
        line.split() for line in
        stack.sql("SELECT sharing_group_id, master_version FROM sharing_groups").splitlines())
    check_sum = hashlib.md5(b"x" * 1024).hexdigest()
    os.environ["CYCLES"] = "\n".join(
        f"{person.group} {new_uuid()} {person.access_token} {check_sum} {versions[str(person.group_id)]}"
        for person in members)
    count = len(members)
    output = run(
        ["wrk", f"-t{count}", f"-c{count}", f"-d{max(1, round(seconds))}s", "-s", CLIENTS_FOLDER / "cycles.lua",
         stack.environment["SYNC_HTTP_URL"]])
    found = re.search(r"cycles: (\d+) commits (\d+) stale (\d+) failures (\d+) microseconds ?(.*)", output)
    if not found or found.group(3) != "0" or found.group(1) == "0":
        raise LoadError(f"The cycles of upload and commit do not work: {output[-500:]}")
    commits = int(found.group(1))
    stale.append(int(found.group(2)) / commits)
    return commits / int(found.group(4)) * 1e6


def looped_once(stack: BenchStack, program: str, members: list[Person], seconds: float) -> float:
    """Rounds per second of a baseline that has a thread for each member's group."""
    os.environ.update(stack.database_environment() | stack.cloud_environment())
    return float(run([stack.programs / program, seconds, *(person.group_id for person in members)]))
