"""P7: how long short requests take while many phones upload over slow lines."""

import time
from concurrent.futures import ThreadPoolExecutor

from syncstack.processes import wait_until

from .bench_stack import BenchStack
from .load import LoadError, slowest_hundredth
from .people import give_many_files, sign_up
from .requests import FEW_FILES, interleaved
from .slow_phones import SlowPhones
from .table import Result

UPLOADS = 500  # two responders take 1,536
BYTES_PER_SECOND = 20_000  # each
# As long as a part of 256 KiB takes: from then on parts go to the cloud evenly spread.
BEGIN_SECONDS = 13.1
PATIENCE_SECONDS = 10.0
LEAST_SHARE = 0.9  # of the bytes; with less it is not the load that the number is about


def crowded(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    reader, uploader = sign_up(stack, "Karl"), sign_up(stack, "Kim")
    give_many_files(stack, reader, FEW_FILES)
    url = f"{stack.environment['SYNC_HTTP_URL']}/Index/?sharingGroupUUID={reader.group}"
    replies: list[int] = []
    received: list[float] = []

    def alone(_=None) -> float:
        milliseconds, count = slowest_hundredth(url, seconds, reader.headers())
        replies.append(count)
        return milliseconds

    def in_company(_=None) -> float:
        with ThreadPoolExecutor(1) as background, SlowPhones(stack, uploader, UPLOADS, BYTES_PER_SECOND) as phones:
            sending = background.submit(phones.send, 2 * seconds + PATIENCE_SECONDS, BEGIN_SECONDS)
            try:
                wait_until(lambda: sending.done() or phones.in_flight() == UPLOADS, BEGIN_SECONDS + PATIENCE_SECONDS)
                phones.check_in_flight()
                before, began = phones.received_bytes(), time.monotonic()
                milliseconds = alone()
                rate = (phones.received_bytes() - before) / (time.monotonic() - began)
                phones.check_in_flight()
            finally:
                phones.over.set()
                sending.result()
        if rate < LEAST_SHARE * UPLOADS * BYTES_PER_SECOND:
            raise LoadError(
                f"{UPLOADS} uploads of {BYTES_PER_SECOND / 1e3:.0f} kB/s bring only {rate / 1e6:.1f} MB/s: this machine"
                " is too slow for P7, or too busy.")
        received.append(rate)
        return milliseconds

    with_uploads, without = interleaved(in_company, alone, repetitions=repetitions, warm_up=False)
    return [Result(
        "P7", f"p99 of Index with {UPLOADS} slow uploads in flight, against without", "ms", 1.5, 1.2, with_uploads,
        without, is_cost=True,
        note=f"at least {min(replies):,} replies each time; uploads brought {min(received) / 1e6:.1f} MB/s or more")]
