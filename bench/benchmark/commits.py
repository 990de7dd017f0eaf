"""P8: small uploads and their commits, against transactions that only write what a commit must write."""

import hashlib
import os
import re
from pathlib import Path

from demonstration.phone import new_uuid
from syncstack.processes import run

from .bench_stack import BenchStack
from .load import LoadError, requests_per_second
from .people import Person, sign_up
from .requests import interleaved
from .table import Result

CLIENTS_FOLDER = Path(__file__).resolve().parents[1] / "clients"
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
        ours, baseline = interleaved(
            lambda short, members=members: ours_once(stack, members, short or seconds, stale),
            lambda short, members=members: baseline_once(stack, members, short or seconds), repetitions)
        os.environ["ACCESS_TOKEN"] = people[0].access_token
        cloud = requests_per_second(
            stack.plain_proxy_url, seconds, len(members), script=CLIENTS_FOLDER / "cloud.lua")
        note = f"the emulated cloud by itself takes {cloud:,.0f} such files a second from as many clients"
        if letter == "b":
            note += f"; {sum(stale) / len(stale):.1f} stale replies a commit"
        results.append(Result(
            f"P8{letter}", f"upload and commit, {what}", "/s", 0.3, 0.6, ours, baseline, note))
    return results


def ours_once(stack: BenchStack, members: list[Person], seconds: float, stale: list[float]) -> float:
    """Commits a second; each client is a device of its own."""
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


def baseline_once(stack: BenchStack, members: list[Person], seconds: float) -> float:
    os.environ.update(stack.database_environment())
    return float(run([stack.programs / "commits", seconds, *(person.group_id for person in members)]))
