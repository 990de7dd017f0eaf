"""Moments at which the whole machine stood still, as a virtual one does while its host is busy elsewhere.

Every timeout that runs at such a moment expires, regardless of the programs under test: observed for 34 seconds, in
which the kernel itself complained. Failures then say nothing about the programs, and the tests must run again.
"""

import threading
import time
from dataclasses import dataclass

BEAT_SECONDS = 0.5
# A busy machine wakes a sleeping thread within a fraction of a second, and no timeout of the tests is shorter.
STALL_SECONDS = 5.0


@dataclass(frozen=True)
class Stall:
    """Between two moments of the monotonic clock, in seconds."""

    begin: float
    end: float


class StallWatch:
    """Records each time when a thread that sleeps half a second sleeps for several; watches until it is closed."""

    def __init__(self) -> None:
        self.stalls: list[Stall] = []
        self.last_beat = time.monotonic()
        self._lock = threading.Lock()
        self._is_closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        self._is_closed.set()

    def seconds_between(self, begin: float, end: float) -> float:
        """How long the machine stood still between two moments, including a standstill that has not ended."""
        self.beat(time.monotonic())
        with self._lock:
            return sum(max(0.0, min(end, stall.end) - max(begin, stall.begin)) for stall in self.stalls)

    def beat(self, now: float) -> None:
        """Records that the machine runs at this moment."""
        with self._lock:
            if now - self.last_beat > STALL_SECONDS:
                self.stalls.append(Stall(self.last_beat, now))
            self.last_beat = max(now, self.last_beat)

    def _watch(self) -> None:
        while not self._is_closed.wait(BEAT_SECONDS):
            self.beat(time.monotonic())
