"""Results and their table."""

import statistics
from dataclasses import dataclass, field


@dataclass
class Result:
    """One line of the table.

    `ours` and `baseline` are the single repetitions. With a baseline, `gate` and `aim` are limits of the ratio, and more is
    better, unless the measurement is a cost; without one they are limits of our own value, and less is better. `floor` is
    the result of a program that does only the unavoidable work. A line with a floor cannot be missed: another line, which
    compares with the floor itself, decides. `pardon` is the reason why the gate does not apply on this machine.
    """

    number: str
    what: str
    unit: str
    gate: float
    aim: float
    ours: list[float]
    baseline: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    note: str = ""
    is_cost: bool = False
    pardon: str = ""

    @property
    def ratio(self) -> float | None:
        return statistics.median(self.ours) / statistics.median(self.baseline) if self.baseline else None

    @property
    def attainable(self) -> float | None:
        """The ratio of the floor to the baseline."""
        return statistics.median(self.floor) / statistics.median(self.baseline) if self.floor else None

    @property
    def verdict(self) -> str:
        ratio = self.ratio
        value, is_cost = (statistics.median(self.ours), True) if ratio is None else (ratio, self.is_cost)
        for verdict, limit in (("aim", self.aim), ("gate", self.gate)):
            if value <= limit if is_cost else value >= limit:
                return verdict
        return "floor decides" if self.floor else self.pardon or "MISSED"

    def row(self) -> list[str]:
        ratio = self.ratio
        return [
            self.number, self.what, spread(self.ours, self.unit),
            spread(self.baseline, self.unit) if self.baseline else "–", "–" if ratio is None else f"{ratio:.2f}",
            f"{self.gate:g}", f"{self.aim:g}", self.verdict]


def spread(values: list[float], unit: str) -> str:
    """The median and the spread of the repetitions."""
    middle = statistics.median(values)
    text = f"{middle:,.0f}" if middle >= 100 else f"{middle:.1f}"
    apart = (max(values) - min(values)) / 2 / middle if middle else 0
    return f"{text} {unit}" + (f" ±{apart:.0%}" if len(values) > 1 else "")


def table(results: list[Result]) -> str:
    rows = [["#", "what", "ours", "baseline", "ratio", "gate", "aim", "verdict"], *(result.row() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [f"{result.number}: {result.note}" for result in results if result.note]
    return "\n".join(lines)
