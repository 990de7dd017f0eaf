"""The verdicts in the benchmarks' table, bench/benchmark/table.py.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "bench")]

# pylint: disable=wrong-import-position
from benchmark.table import Result  # noqa: E402


class VerdictTests(unittest.TestCase):
    @staticmethod
    def verdict(ours: float, baseline: float | None = None, gate: float = 1.0, aim: float = 2.0, **options) -> str:
        return Result("P0", "", "", gate, aim, [ours], [] if baseline is None else [baseline], **options).verdict

    def test_more_than_the_baseline_is_better_unless_it_is_a_cost(self) -> None:
        self.assertEqual([self.verdict(ours, 10) for ours in (20, 10, 9)], ["aim", "gate", "MISSED"])
        self.assertEqual(
            [self.verdict(ours, 10, gate=2, aim=1, is_cost=True) for ours in (10, 20, 21)], ["aim", "gate", "MISSED"])

    def test_less_is_better_without_a_baseline(self) -> None:
        self.assertEqual([self.verdict(ours, gate=2, aim=1) for ours in (1, 2, 3)], ["aim", "gate", "MISSED"])

    def test_a_gate_that_does_not_apply_cannot_be_missed(self) -> None:
        self.assertEqual(self.verdict(9, 10, pardon="no SHA in CPU"), "no SHA in CPU")
        self.assertEqual(self.verdict(10, 10, pardon="no SHA in CPU"), "gate")
        self.assertEqual(self.verdict(9, 10, floor=[5]), "floor decides")


if __name__ == "__main__":
    unittest.main()
