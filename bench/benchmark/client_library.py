"""P21: the client library, as `syncdir`, compared with `rclone copy`, which sends the same files to the emulated Drive.

The clock and the processor time are those of the client's process, including its start. syncdir also scans its
directory, commits, and keeps a record; rclone checks whether the destination exists. Both find 16 or more transfers:
syncdir by itself, rclone with --transfers, and without its pacer.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

from peers.rclone import OPTIONS, rclone
from syncstack.names import Names

from .bench_stack import BenchStack
from .load import LoadError
from .requests import interleaved
from .table import Result

LATENCY_MILLISECONDS = 200
AT_ONCE = 16


class Directory:
    """Files of equal size in folders of a hundred."""

    def __init__(self, path: Path, files: int, size: int):
        self.path = path
        for number in range(files):
            file = path / f"{number // 100:04}" / f"{number:06}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.urandom(size // 2).hex().encode())
        time.sleep(0.5)  # syncdir skips files that were just written.


class Syncdir:
    """A user of syncdir with one directory."""

    def __init__(self, stack: BenchStack, name: str):
        self.program = stack.program("syncdir")
        if not self.program.exists():
            raise LoadError("P21 needs syncdir: scripts/build release syncdir.")
        self.home = stack.directory / "syncdir" / name
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        self.run("sign-in", "--server", stack.environment["SYNC_HTTP_URL"], "--sandbox",
                 stack.environment["SANDBOX_URL"], "--sandbox-person", name)

    def run(self, *arguments) -> str:
        return subprocess.run([self.program, *arguments], env=self.environment, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.strip()

    def sync(self, directory: Path, group: str) -> tuple[float, float]:
        return consumed([self.program, "sync", directory, "--group", group, "--quiet"], self.environment)


def consumed(command: list, environment: dict[str, str] | None = None) -> tuple[float, float]:
    """Runs a program; returns the seconds that it took, and the milliseconds of processor time."""
    began = time.monotonic()
    process = subprocess.Popen(  # pylint: disable=consider-using-with
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise LoadError(f"{Path(command[0]).name} ended with status {process.returncode}.")
    return seconds, (usage.ru_utime + usage.ru_stime) * 1e3


def ours(stack: BenchStack, files: int, size: int) -> dict[str, tuple[float, float]]:
    """The first sync of a member with files, and that of another member."""
    stack.sandbox.call("DELETE", "/sandbox/faults")
    ada, bob = Syncdir(stack, "Ada"), Syncdir(stack, "Bob")
    group = ada.run("create-group", "Many")
    bob.run("join", ada.run("invite", group))
    directory = Directory(ada.home / "shared", files, size)
    (bob.home / "shared").mkdir()
    delay(stack)
    return {"up": ada.sync(directory.path, group), "down": bob.sync(bob.home / "shared", group)}


def theirs(stack: BenchStack, files: int, size: int) -> dict[str, tuple[float, float]]:
    stack.sandbox.call("DELETE", "/sandbox/faults")
    place = stack.directory / "rclone-files"
    shutil.rmtree(place, ignore_errors=True)
    directory = Directory(place / "up", files, size)
    command = rclone(stack)
    at = command.index("rclone") + 1

    def copy(*ends) -> list:
        return [*command[:at], "copy", *ends, "--transfers", str(AT_ONCE), *OPTIONS, *command[at:]]

    delay(stack)
    return {"up": consumed(copy(directory.path, "remote:many")), "down": consumed(copy("remote:many", place / "down"))}


def delay(stack: BenchStack) -> None:
    stack.sandbox.json("POST", "/sandbox/faults", {"latencyMs": LATENCY_MILLISECONDS, "times": 1_000_000_000})


def of_many_files(stack: BenchStack, repetitions: int, files: int) -> list[Result]:
    stack.add_servers("", Names(stack.layout).address)
    try:
        small = interleaved(
            lambda _: ours(stack, files, 1_000), lambda _: theirs(stack, files, 1_000), repetitions=repetitions,
            warm_up=False)
        large = interleaved(
            lambda _: ours(stack, files, 100_000), lambda _: theirs(stack, files, 100_000), repetitions=repetitions,
            warm_up=False)
    finally:
        stack.sandbox.call("DELETE", "/sandbox/faults")
    lines = []
    for letters, size, rounds in (("abcd", "1 kB", small), ("efgh", "100 kB", large)):
        for letter, (way, part, what, unit) in zip(letters, (
                ("up", 0, "time", "s"), ("down", 0, "time", "s"), ("up", 1, "CPU time", "ms"),
                ("down", 1, "CPU time", "ms")), strict=True):
            lines.append(Result(
                f"P21{letter}", f"first sync of {files} files of {size} {way}, provider 200 ms: {what}", unit, 1.5, 1.0,
                *([measured[way][part] for measured in side] for side in rounds), is_cost=True))
    return lines
