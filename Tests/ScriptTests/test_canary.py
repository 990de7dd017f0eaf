"""The search for tokens in logs, scripts/lib/canary.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import importlib.machinery
import importlib.util
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("canary", str(REPOSITORY / "scripts/lib/canary"))
canary = importlib.util.module_from_spec(importlib.util.spec_from_loader("canary", loader))
loader.exec_module(canary)

SHORT = "ya29.a0/+AbCdEfGh=="
LONG = "eyJhbGciOiJSUzI1NiJ9." + "x" * 40 + ".theSignatureOfThisTokenAndOfNoOther"


class CanaryTests(unittest.TestCase):
    def search(self, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "deeper").mkdir()
            Path(folder, "deeper", "syncd.log").write_text(f"first line\n{text}\n", encoding="utf-8")
            return canary.search(Path(folder), ["short", SHORT, LONG])

    def test_each_form_of_a_token_is_found_and_none_is_shown(self) -> None:
        for text in (f'{{"reason":"{SHORT}"}}', "/x?code=ya29.a0%2F%2BAbCdEfGh%3D%3D&a=1", LONG, f"…{LONG[-30:]}"):
            with self.subTest(text=text):
                findings = self.search(text)
                self.assertEqual(len(findings), 1)
                self.assertIn("deeper/syncd.log, line 2: ", findings[0])
                self.assertLess(len(findings[0].rpartition(": ")[2]), 10)

    def test_nothing_else_is_found(self) -> None:
        self.assertEqual(self.search("short eyJhbGciOiJSUzI1NiJ9.xxxx ya29.a0"), [])

    def test_the_control_notices_a_search_that_finds_nothing_or_anything(self) -> None:
        self.assertTrue(canary.finds_what_is_planted([SHORT, LONG]))
        original = canary.search
        self.addCleanup(setattr, canary, "search", original)
        canary.search = lambda folder, tokens: []
        self.assertFalse(canary.finds_what_is_planted([SHORT, LONG]))
        canary.search = lambda folder, tokens: ["something"]
        self.assertFalse(canary.finds_what_is_planted([SHORT, LONG]))


if __name__ == "__main__":
    unittest.main()
