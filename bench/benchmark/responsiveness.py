"""P7: the duration of short requests while many phones upload over slow lines.

In addition there is a lower bound: the same short requests to our server while the uploads use the floor of transfers.
"""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from syncstack.processes import wait_until

from .bench_stack import BenchStack
from .load import LoadError, slowest_hundredth
from .people import give_many_files, sign_up
from .requests import FEW_FILES, interleaved
from .slow_phones import SlowPhones, Uploads, UploadsToFloor
from .table import Result

UPLOADS = 500  # two responders accept 1,536
BYTES_PER_SECOND = 20_000  # each
# The time of a part of 256 KiB: from then on, parts go to the cloud evenly spread.
BEGIN_SECONDS = 13.1
PATIENCE_SECONDS = 10.0
LEAST_SHARE = 0.9  # of the bytes; with less, the load is not the intended one


class Crowd:
    """A reader who asks for Index while others upload."""

    def __init__(self, stack: BenchStack, seconds: float):
        self.reader, self.uploader = sign_up(stack, "Karl"), sign_up(stack, "Kim")
        self.stack, self.seconds = stack, seconds
        give_many_files(stack, self.reader, FEW_FILES)
        self.url = f"{stack.environment['SYNC_HTTP_URL']}/Index/?sharingGroupUUID={self.reader.group}"
        self.replies: list[int] = []
        self.received: list[float] = []

    def alone(self, _=None) -> float:
        milliseconds, count = slowest_hundredth(self.url, self.seconds, self.reader.headers())
        self.replies.append(count)
        return milliseconds

    def with_uploads(self, _=None) -> float:
        return self.in_company(Uploads(self.stack, self.uploader))

    def in_company(self, uploads: Uploads) -> float:
        with ThreadPoolExecutor(1) as background, SlowPhones(uploads, UPLOADS, BYTES_PER_SECOND) as phones:
            sending = background.submit(phones.send, 2 * self.seconds + PATIENCE_SECONDS, BEGIN_SECONDS)
            try:
                wait_until(lambda: sending.done() or uploads.in_flight() == UPLOADS, BEGIN_SECONDS + PATIENCE_SECONDS)
                phones.check_in_flight()
                before, began = uploads.received_bytes(), time.monotonic()
                milliseconds = self.alone()
                rate = (uploads.received_bytes() - before) / (time.monotonic() - began)
                phones.check_in_flight()
            finally:
                phones.over.set()
                sending.result()
        if rate < LEAST_SHARE * UPLOADS * BYTES_PER_SECOND:
            raise LoadError(
                f"{UPLOADS} uploads of {BYTES_PER_SECOND / 1e3:.0f} kB/s transfer only {rate / 1e6:.1f} MB/s: this machine"
                " is too slow for P7, or too busy.")
        self.received.append(rate)
        return milliseconds


def crowded(stack: BenchStack, repetitions: int, seconds: float) -> list[Result]:
    crowd = Crowd(stack, seconds)
    with_ours, without, with_floor = interleaved(
        crowd.with_uploads, crowd.alone, lambda _: crowd.in_company(UploadsToFloor(stack, crowd.uploader)),
        repetitions=repetitions, warm_up=False)
    attainable = statistics.median(with_floor) / statistics.median(without)
    line = Result(
        "P7", f"p99 of Index with {UPLOADS} slow uploads in flight, against without", "ms", 1.5, 1.2, with_ours,
        without, is_cost=True)
    line.note = (
        f"with the uploads through the floor {attainable:.2f}; at least {min(crowd.replies):,} replies each time; the uploads"
        f" transferred at least {min(crowd.received) / 1e6:.1f} MB/s")
    # A gate that the floor passes is not relaxed.
    if attainable > line.gate:
        line.floor = with_floor
    return [line, Result(
        "P7*", "the same, against uploads through the floor", "ms", 1.5, 1.2, with_ours, with_floor, is_cost=True)]
