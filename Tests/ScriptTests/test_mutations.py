"""The list of injected faults, Tests/Mutations, and the code that activates them (scripts/lib/mutation).

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import contextlib
import io
import re
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from mutation.faults import Fault, FaultError, load, switch_all  # noqa: E402
from mutation.run import Trial  # noqa: E402

# Two tests, one of which fails with the fault "bad", and then hangs; with "crash", the process exits immediately.
PROGRAM = """#!/usr/bin/python3
import json, os, sys, time
events = open(sys.argv[sys.argv.index("--event-stream-output-path") + 1], "w", buffering=1)
fault = os.environ["SYNC_MUTATION"]

def say(record, /, **payload):
    events.write(json.dumps({"kind": record, "payload": payload}) + "\\n")

for name in ("A.Sound/one()/F.swift:1:1", "A.Other/two()/F.swift:2:1"):
    say("test", kind="function", id=name, name=name)
for name in ("A.Sound/one()/F.swift:1:1", "A.Other/two()/F.swift:2:1"):
    say("event", kind="testStarted", testID=name)
    if fault == "crash":
        sys.exit(0)
    if fault == "bad" or "Other" in name and os.path.exists(os.path.join(os.path.dirname(__file__), "unsound")):
        say("event", kind="issueRecorded", testID=name, issue={"isFailure": True})
    if fault == "bad":
        time.sleep(600)
    say("event", kind="testEnded", testID=name)
say("event", kind="runEnded")
"""


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
        sources = list((REPOSITORY / "Tests").rglob("*.swift"))
        targets = {folder for path in sources for folder in path.relative_to(REPOSITORY / "Tests").parts[:-1]}
        suites = {name for path in sources
                  for name in re.findall(r"\b(?:struct|enum|class) (\w+Tests)\b", path.read_text(encoding="utf-8"))}
        for fault in load():
            with self.subTest(fault=fault.id):
                named = set(re.findall(r"\w+Tests", fault.tests))
                self.assertTrue(named & targets, fault.tests)
                self.assertEqual(set(), named - targets - suites, fault.tests)

    def test_a_statement_is_no_expression(self) -> None:
        for search in ("guard a else { return }", "return a", "let a = b", "rows = 1", "version: kept.version"):
            with self.subTest(search=search), self.assertRaisesRegex(FaultError, "not an expression"):
                Fault("one", "VERSION", search, "x", "T").check()

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

    def test_a_text_that_stands_twice_is_found_by_what_is_around_it(self) -> None:
        fault = Fault("one", "F", "end()", "go()", "T", context="wait { end() }")

        self.assertEqual(fault.place("end(); wait { end() }"), (14, 19))
        for text in ("end()", "wait { end() } wait { end() }"):
            with self.subTest(text=text), self.assertRaises(FaultError):
                fault.place(text)


class TrialTests(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = self.folder / "syncserverPackageTests.xctest"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        self.trial = Trial(self.folder, self.folder / "logs")

    def test_a_fault_is_noticed_by_the_first_test_that_fails(self) -> None:
        self.assertEqual("A.Sound/one()", self.trial.noticed_by("A", "bad"))

    def test_a_process_that_ends_before_its_tests_have_is_no_success(self) -> None:
        self.assertEqual("the process, which ended with 0", self.trial.noticed_by("A", "crash"))

    def test_a_fault_that_no_test_notices_survives(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            survivors = self.trial.survivors([Fault(fault, "F", "a", "b", "A") for fault in ("bad", "harmless")], 2)

        self.assertEqual(["harmless"], [fault.id for fault in survivors])
        self.assertEqual({"noticed   bad, by A.Sound/one()", "SURVIVES  harmless"}, set(output.getvalue().splitlines()))

    def test_tests_that_fail_without_a_fault_or_do_not_exist_prove_nothing(self) -> None:
        filters = (r"^A\.Sound", r"^A\.Other", "^A", "^B")
        (self.folder / "unsound").touch()

        broken = self.trial.broken([Fault(tests, "F", "a", "b", tests) for tests in filters])

        self.assertEqual({r"^A\.Other", "^A", "^B"}, set(broken))


if __name__ == "__main__":
    unittest.main()
