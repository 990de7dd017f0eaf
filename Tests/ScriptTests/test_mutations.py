"""The list of planted faults, Tests/Mutations, and how they are switched (scripts/lib/mutation).

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import sys
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from mutation.faults import Fault, FaultError, load, switch_all  # noqa: E402


class MutationTests(unittest.TestCase):
    def test_each_fault_still_fits_the_sources(self) -> None:
        faults = load()
        self.assertGreaterEqual(len(faults), 100)
        for fault in faults:
            with self.subTest(fault=fault.id):
                fault.check()

    def test_faults_of_one_file_do_not_overlap(self) -> None:
        faults = load()
        for file in {fault.file for fault in faults}:
            with self.subTest(file=file):
                switch_all((REPOSITORY / file).read_text(encoding="utf-8"), [f for f in faults if f.file == file])

    def test_each_fault_names_tests_that_exist(self) -> None:
        suites = {path.parent.name for path in (REPOSITORY / "Tests").glob("*Tests/*.swift")}
        for fault in load():
            with self.subTest(fault=fault.id):
                self.assertTrue(any(suite in fault.tests for suite in suites), fault.tests)

    def test_both_variants_are_in_the_text(self) -> None:
        text = 'func f() {\n    check()\n    return a < b\n    run("""\n        SELECT 1\n         WHERE x = ?\n        """)\n}\n'
        faults = [
            Fault("one", "F", "a < b", "a <= b", "T"), Fault("two", "F", "check()", "", "T", "statement"),
            Fault("three", "F", "x = ?", "x <> ?", "T", "sql"), Fault("four", "F", "SELECT 1", "SELECT 2", "T", "sql"),
        ]

        switched = switch_all(text, faults)

        self.assertIn('return (mutation("one") ? (a <= b) : (a < b))', switched)
        self.assertIn('if mutation("two") {  } else { check() }', switched)
        self.assertIn(
            'run((mutation("four") ? ("""\n        SELECT 2\n         WHERE x = ?\n        """) : ((mutation("three") ? ("""\n'
            '        SELECT 1\n         WHERE x <> ?\n        """) : ("""', switched)
        self.assertTrue(switched.startswith("private import Glibc\n"))
        self.assertEqual(switched.count("func mutation"), 1)

    def test_a_text_that_stands_twice_or_not_at_all_is_refused(self) -> None:
        for text in ("a a", "b"):
            with self.subTest(text=text), self.assertRaises(FaultError):
                Fault("one", "F", "a", "c", "T").place(text)


if __name__ == "__main__":
    unittest.main()
