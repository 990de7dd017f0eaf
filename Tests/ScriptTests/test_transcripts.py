"""Transcripts replace values that differ between runs, whatever their digits: scripts/lib/documents/transcript.py.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import base64
import random
import sys
import unittest
import uuid
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from documents.transcript import comparable  # noqa: E402

DRAWN = 2000


class ComparableTests(unittest.TestCase):
    def assert_always(self, expected: str, drawn: Callable[[random.Random], str]) -> None:
        source = random.Random(7)
        for _ in range(DRAWN):
            text = drawn(source)
            self.assertEqual(comparable(text), [expected], text)

    def test_time_since_the_start(self) -> None:
        """A JSON number may have few decimals or seventeen, or an exponent."""
        numbers = ["1", "0.5", "8.7e-05", "0.000123456789012", "12.345678901234567", "123456789012345"]
        for number in numbers:
            self.assertEqual(comparable(f'{{"serverUptime":{number},"x":1}}'), ['{"serverUptime":N,"x":1}'])
        self.assert_always(
            '{"serverUptime":N}', lambda source: f'{{"serverUptime":{source.random() * 10 ** source.randint(-7, 7)!r}}}')

    def test_keys(self) -> None:
        self.assert_always(
            "the key KEY, new", lambda source: f"the key {base64.b64encode(source.randbytes(32)).decode('ascii')}, new")

    def test_identifiers(self) -> None:
        self.assert_always("file UUID", lambda source: f"file {uuid.UUID(bytes=source.randbytes(16))}")
        self.assert_always("sum HEX", lambda source: f"sum {source.randbytes(source.choice([6, 16, 32])).hex()}")

    def test_times_and_amounts(self) -> None:
        self.assert_always(
            "TIME: N ms, N MiB", lambda source: (
                f"2026-11-{source.randint(10, 28)}T10:38:{source.randint(10, 59)}Z: "
                f"{source.randint(1, 99999):,} ms, {source.uniform(1, 900):.{source.randint(0, 3)}f} MiB"))
