"""P6: the responder's memory for an upload in progress."""

from demonstration.phone import new_uuid

from .bench_stack import BenchStack
from .people import sign_up
from .slow_phones import SlowPhones, Uploads
from .table import Result

UPLOADS = 200
# For six seconds: then the first part of 256 KiB is in the cloud, and half of the second has arrived.
BYTES_PER_SECOND = 65_540
SECONDS = 6.0


def in_flight(stack: BenchStack) -> list[Result]:
    """The proportional set size of all transfer responders, during and before the uploads."""
    person = sign_up(stack, "Vera")
    person.phone.upload(b"one to warm up", fileUUID=new_uuid(), fileVersion=0, mimeType="text/plain", masterVersion=0,
                        sharingGroupUUID=person.group)
    before = resident(stack)
    with SlowPhones(Uploads(stack, person), UPLOADS, BYTES_PER_SECOND) as phones:
        phones.send(SECONDS)
        phones.check_in_flight()
        during = resident(stack)
        phones.check_in_flight()
    kibibytes = (during - before) / 1024 / UPLOADS
    return [Result(
        "P6", f"memory per upload, {UPLOADS} in flight", "KiB", 512, 320, [kibibytes],
        note=f"all transfer responders: {before / (1 << 20):.0f} MiB before, {during / (1 << 20):.0f} MiB during")]


def resident(stack: BenchStack) -> int:
    """The memory in bytes, with shared pages counted proportionally (proc_pid_smaps(5))."""
    total = 0
    for pid in stack.pids("syncd_transfer"):
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
    return total
