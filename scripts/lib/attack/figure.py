"""A measured value and its limit."""

from dataclasses import dataclass


@dataclass
class Figure:
    """A number with its limit, both in `unit`; `alone` is the value without the attack, if it exists."""

    what: str
    value: float
    limit: float
    unit: str
    alone: float | None = None

    @classmethod
    def ratio(cls, what: str, alone: float, attacked: float, times: float, floor: float = 0.0) -> "Figure":
        """Milliseconds; the limit is a multiple of the value without the attack, or `floor`, whichever is larger."""
        return cls(what, attacked, max(alone * times, floor), "ms", alone)

    @property
    def is_kept(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        compared = "" if self.alone is None else f" (alone {self.alone:.1f}, {self.value / self.alone:.2f} times)"
        verdict = "ok  " if self.is_kept else "FAIL"
        return f"{verdict} {self.what}: {self.value:.1f} {self.unit}{compared}, limit {self.limit:.1f}"
