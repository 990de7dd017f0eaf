"""Checks the demonstration's and benchmarks' checksums against values published by providers and rclone.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

# pylint: disable=wrong-import-position
from demonstration.check_sums import check_sum, storage_hash  # noqa: E402


class CheckSumTests(unittest.TestCase):
    def test_check_sums(self) -> None:
        self.assertEqual(check_sum("google", b""), "d41d8cd98f00b204e9800998ecf8427e")
        self.assertEqual(check_sum("microsoft", b"abc"), "A9993E364706816ABA3E25717850C26C9CD0D89D")
        self.assertEqual(
            check_sum("dropbox", b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

    def test_quick_xor_hash(self) -> None:
        for contents, expected in [
                (b"", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="), (b"a", "YQAAAAAAAAAAAAAAAQAAAAAAAAA="),
                (b"hello", "aCgDG9jwBgAAAAAABQAAAAAAAAA="), (b"Hello, world!", "SCgDG9jwBhaA4A5vnQMbyBACAAA="),
                (b"a" * 4_194_305, "eMQjHvGIRzziGcxgBzPYwQxmMIM="),
                (bytes(10_485_760), "AAAAAAAAAAAAAAAAAACgAAAAAAA=")]:
            with self.subTest(length=len(contents)):
                self.assertEqual(storage_hash(contents), expected)


if __name__ == "__main__":
    unittest.main()
