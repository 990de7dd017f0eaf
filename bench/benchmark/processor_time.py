"""P13: syncd's processor time per GiB, compared with that of the unavoidable work on bytes.

That work is the checksum, and TLS between syncd and the provider; nginx does the phone's TLS. Both are measured
alternately: processors' clocks change with temperature and neighbours. The notes show the cost of the floor, the program
that only passes bytes on and computes their checksum, and of SHA-256, with which a download is verified.
"""

import os
import re
import statistics
from collections.abc import Callable

from demonstration.phone import new_uuid
from syncstack.processes import run

from .bench_stack import BenchStack
from .load import LoadError
from .requests import interleaved
from .table import Result
from .transfers import Transfers

GIBIBYTE = 1 << 30
ROLES = ("syncd_api", "syncd_transfer", "syncd_jobs")
BLOCK_BYTES = 16_384  # a record of TLS


def processor_seconds(pids: list[int]) -> float:
    """The processor time that the processes have used, in user mode and in the kernel (proc_pid_stat(5))."""
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def spent(pids: list[int], action: Callable[[], object]) -> float:
    """The seconds of processor time that the processes use during `action`."""
    before = processor_seconds(pids)
    action()
    return processor_seconds(pids) - before


def alone(*algorithm: str) -> float:
    """Milliseconds of processor time in which OpenSSL processes a GiB with an algorithm."""
    command = ["openssl", "speed", "-mr", "-seconds", 1, "-bytes", BLOCK_BYTES, *algorithm]
    found = re.search(r"^\+F:\d+:[^:]+:([\d.]+)$", run(command), re.MULTILINE)
    if not found:
        raise LoadError(f"openssl speed did not report the speed of {algorithm[-1]}.")
    return GIBIBYTE / float(found.group(1)) * 1e3


def hash_and_tls(*direction: str, digest: str = "md5") -> float:
    return alone("-evp", digest) + alone(*direction, "-evp", "aes-256-gcm")


def each_gibibyte(stack: BenchStack, repetitions: int, gibibytes: float) -> list[Result]:
    pids = [pid for role in ROLES for pid in stack.pids(role)]
    floor_pids = stack.pids("floor")
    sender, receiver = Transfers(stack, gibibytes), Transfers(stack, gibibytes)
    kept = new_uuid()
    object_id = receiver.commit(kept)

    def upload(_) -> float:
        uuid = new_uuid()
        seconds = spent(pids, lambda: sender.upload(uuid))
        sender.forget(uuid)
        return seconds / gibibytes * 1e3

    def download(_) -> float:
        return spent(pids, lambda: receiver.download(kept)) / gibibytes * 1e3

    def upload_of_floor(_) -> float:
        return spent(floor_pids, lambda: sender.upload_past_us(stack.floor_url)) / gibibytes * 1e3

    def download_of_floor(_) -> float:
        return spent(floor_pids, lambda: receiver.download_past_us(stack.floor_url, object_id)) / gibibytes * 1e3

    up, up_alone, floor_up, down, down_alone, floor_down = interleaved(
        upload, lambda _: hash_and_tls(), upload_of_floor, download, lambda _: hash_and_tls("-decrypt"),
        download_of_floor, repetitions=repetitions, warm_up=False)
    return [
        Result("P13a", "CPU time of syncd per GiB up, against MD5 and TLS", "ms", 1.6, 1.25, up, up_alone,
               is_cost=True, note=f"the floor takes {statistics.median(floor_up):,.0f} ms"),
        Result("P13b", "CPU time of syncd per GiB down, the same", "ms", 1.6, 1.25, down, down_alone, is_cost=True,
               note=f"the floor takes {statistics.median(floor_down):,.0f} ms; SHA-256 and TLS alone"
               f" {hash_and_tls('-decrypt', digest='sha256'):,.0f} ms"),
    ]
