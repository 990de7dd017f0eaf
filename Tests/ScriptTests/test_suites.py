"""scripts/test and how it runs Swift's tests (scripts/lib/testrun), with a small program in their place.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import contextlib
import io
import re
import sys
import tempfile
import textwrap
import unittest
import unittest.mock
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from testrun.account import Account  # noqa: E402
from testrun.stalls import StallWatch  # noqa: E402
from testrun.steps import Steps, closing_line, unittest_results, verdicts  # noqa: E402
from testrun.suites import (  # noqa: E402
    ORDER, PRIVATE_SECONDS, SERIAL, TESTS_AT_ONCE, Suite, SuiteRunner, parts_of, seconds_of, suites_of)

PROGRAM = """\
    #!/usr/bin/python3
    # Tests good, good2, bad (two issues), shaken (one issue, only the first time), warned, crashing and hanging, if
    # selected by the patterns.
    import json, os, re, signal, sys
    arguments = sys.argv[1:]
    stream = open(arguments[arguments.index("--event-stream-output-path") + 1], "w")
    def write(record, **payload):
        stream.write(json.dumps({"version": 0, "kind": record, "payload": payload}) + "\\n")
        stream.flush()
    def patterns(option):
        return [arguments[index + 1] for index, word in enumerate(arguments) if word == option]
    names = os.environ["FAKE_TESTS"].split()
    ids = {name: f"T.S/{name}()/File.swift:1:6" for name in names}
    ids = {name: id for name, id in ids.items() if not any(re.search(pattern, id) for pattern in patterns("--skip"))}
    is_again = bool(patterns("--filter"))
    if is_again:
        ids = {name: id for name, id in ids.items() if any(re.search(pattern, id) for pattern in patterns("--filter"))}
    write("test", kind="suite", id="T.S", name="S")
    for name, id in ids.items():
        write("test", kind="function", id=id, name=name + "()", displayName="It is " + name)
    write("event", kind="testStarted", testID="T.S")
    for name, id in ids.items():
        write("event", kind="testStarted", testID=id)
        if name == "crashing":
            os.kill(os.getpid(), signal.SIGSEGV)
        if name == "hanging":
            signal.pause()
        if name == "bad" or name == "shaken" and not is_again:
            for text in ("first", "second"):
                write("event", kind="issueRecorded", testID=id, issue={
                    "isKnown": False, "sourceLocation": {"fileID": "T/File.swift", "line": 7}},
                    messages=[{"symbol": "fail", "text": text}])
        if name == "warned":
            write("event", kind="issueRecorded", testID=id, issue={"isKnown": True}, messages=[])
        write("event", kind="testEnded", testID=id)
    write("event", kind="runEnded")
    sys.exit(1 if "bad" in ids or "shaken" in ids and not is_again else 3 if "late" in ids else 0)
"""


class StillMachine(StallWatch):
    """A machine that has always stalled, or never."""

    def __init__(self, stalls: bool):
        super().__init__()
        self.close()
        self._stalls = stalls

    def seconds_between(self, begin: float, end: float) -> float:
        return end - begin + 1 if self._stalls else 0


class SuiteTests(unittest.TestCase):
    def run_tests(self, names: str, *, stalls: bool = False) -> tuple[Account, str]:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / "program"
        program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
        program.chmod(0o700)
        account = Account()
        output = io.StringIO()
        with unittest.mock.patch.dict("os.environ", {"FAKE_TESTS": names}), contextlib.redirect_stdout(output):
            # Waits half a second, instead of five minutes.
            SuiteRunner(program, account, Path(folder.name), StillMachine(stalls), 1 / 600).run([Suite("S", (), 2)])
            account.close()
        return account, output.getvalue()

    def test_what_passes_is_counted_and_not_printed(self) -> None:
        account, output = self.run_tests("good good2 warned")

        self.assertEqual((account.passed, account.failures), (3, []))
        self.assertNotIn("It is", output)
        self.assertEqual(output.splitlines()[-1], "3 passed, 0 failed")

    def test_a_failure_is_named_with_its_place_and_again_at_the_end(self) -> None:
        account, output = self.run_tests("good bad good2")

        self.assertEqual((account.passed, len(account.failures)), (2, 1))
        self.assertIn("FAILED T.S/bad()/File.swift:1:6 “It is bad”\n       T/File.swift:7: first\n", output)
        self.assertIn("second", output)
        self.assertIn("What failed:\n  T.S/bad()/File.swift:1:6 “It is bad”\n    T/File.swift:7: first\n", output)
        self.assertEqual(output.splitlines()[-1], "2 passed, 1 failed")

    def test_a_crash_hides_no_other_result(self) -> None:
        account, output = self.run_tests("good crashing bad good2")

        self.assertEqual((account.passed, len(account.failures)), (2, 2))
        self.assertIn("“It is crashing” was running when the process ended with -11", output)
        self.assertIn("“It is bad”", output)

    def test_a_test_that_hangs_is_named_and_the_others_go_on(self) -> None:
        account, output = self.run_tests("good hanging good2 crashing bad")

        self.assertEqual((account.passed, len(account.failures)), (2, 3))
        self.assertIn("“It is hanging” did not end", output)

    def test_a_process_that_fails_after_its_tests_is_a_failure(self) -> None:
        account, output = self.run_tests("good late")

        self.assertEqual((account.passed, len(account.failures)), (2, 1))
        self.assertIn("S: the process ended with 3 after its tests", output)

    def test_what_failed_while_the_machine_stood_still_runs_once_more(self) -> None:
        account, output = self.run_tests("good shaken bad crashing good2", stalls=True)

        self.assertEqual(account.passed, 3)
        self.assertEqual([name.split("(")[0] for name in account.failures], ["T.S/bad", "T.S/crashing"])
        self.assertIn("so they run once more: T.S/shaken()/File.swift:1:6, T.S/bad", output)
        self.assertEqual(output.splitlines()[-1], "3 passed, 2 failed")

    def test_what_fails_on_a_machine_that_runs_is_not_repeated(self) -> None:
        account, output = self.run_tests("good shaken")

        self.assertEqual((account.passed, len(account.failures)), (1, 1))
        self.assertNotIn("once more", output)

    def test_every_test_belongs_to_just_one_suite(self) -> None:
        private = [f"AcceptanceTests.PrivateStackTests/{name}/a()" for name in ("AA", "B", "C", "A")]
        suites = suites_of(["StoreTests.A/a()", "AcceptanceTests.B/b()", "StoreTests.C/c()", *private])

        self.assertEqual([suite.name for suite in suites], [
            "AcceptanceTests", "PrivateStackTests-1", "PrivateStackTests-2", "PrivateStackTests-3", "GigabyteTests",
            "RandomisedTests", "StoreTests"])
        self.assertEqual(sum(suite.width for suite in suites[:4]), TESTS_AT_ONCE)
        self.assertEqual([word for word in suites[0].arguments if word.startswith("^Acc")], [
            r"^AcceptanceTests\.", "^AcceptanceTests\\.PrivateStackTests/",
            *[arg for suite in suites[4:6] for arg in suite.arguments if arg != "--filter"]])
        for test in private:
            self.assertEqual(len([1 for suite in suites[1:4] if re.search(suite.arguments[1], test)]), 1, test)

    def test_long_suites_begin_first(self) -> None:
        suites = suites_of([
            "CurlTests.A/a()", "StoreTests.A/a()", "CloudStorageTests.B/b()", "AcceptanceTests.C/c()", "SyncdirStackTests.D/d()",
            "AcceptanceTests.PrivateStackTests/E/e()"])

        self.assertEqual([(suite.name, suite.width) for suite in suites], [
            ("AcceptanceTests", 3), ("CloudStorageTests", 1), ("PrivateStackTests-1", 1), ("GigabyteTests", 1),
            ("RandomisedTests", 1), ("SyncdirStackTests", 1), ("StoreTests", 2), ("CurlTests", 2)])

    def test_the_parts_with_private_stacks_take_about_the_same_time(self) -> None:
        parts = parts_of({*PRIVATE_SECONDS, "A", "B", "C"})

        self.assertEqual(sorted(name for part in parts for name in part), sorted([*PRIVATE_SECONDS, "A", "B", "C"]))
        self.assertLess(max(map(seconds_of, parts)) - min(map(seconds_of, parts)), 30)

    def test_names_of_suites_are_those_of_the_tests(self) -> None:
        """A renamed suite would otherwise take its time somewhere else."""
        tests = Path(__file__).resolve().parents[1]
        text = "\n".join(file.read_text(encoding="utf-8") for file in (tests / "AcceptanceTests").rglob("*.swift"))
        for name in PRIVATE_SECONDS:
            self.assertRegex(text, rf"\b(struct|class) {name}\b")
        targets = {folder.name for folder in tests.rglob("*Tests") if folder.is_dir()}
        self.assertLessEqual({name for name in (*ORDER[1:2], *ORDER[7:], *SERIAL)}, targets)


class StepTests(unittest.TestCase):
    def test_steps_are_counted_by_what_they_say(self) -> None:
        self.assertEqual(closing_line("5 passed, 9 failed\nx\n12 passed, 1 failed\n"), (12, ["something"]))
        self.assertEqual(closing_line("✔ Test run with 70 tests in 9 suites passed after 3 seconds.\n"), (70, []))
        self.assertEqual(verdicts("ok    a\nFAIL  b c\nok    d\n"), (2, ["b c"]))
        self.assertEqual(
            unittest_results("FAIL: test_a (x.Y.test_a) (n=1)\nFAIL: test_a (x.Y.test_a) (n=2)\nRan 3 tests in 1s\n"),
            (2, ["test_a"]))

    def test_a_step_that_fails_ends_nothing(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        account = Account()
        steps = Steps(account, Path(folder.name), StillMachine(False))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertFalse(steps.run("One", ["/bin/sh", "-c", "echo complaint >&2; exit 7"]))
            self.assertFalse(steps.run("None", ["/nowhere/command"]))
            self.assertTrue(steps.run("Two", ["/bin/sh", "-c", "echo 3 passed, 0 failed"], counted_by=closing_line))
            account.close()
        self.assertEqual((account.passed, account.failures), (3, ["One", "None"]))
        summary = output.getvalue().partition("What failed:")[2]
        self.assertIn("complaint", summary)
        self.assertIn("/nowhere/command: No such file or directory", summary)

    def test_a_step_that_failed_while_the_machine_stood_still_runs_once_more(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        account = Account()
        steps = Steps(account, Path(folder.name), StillMachine(True))
        script = 'test -e "$0" && exec echo 2 passed, 0 failed; touch "$0"; echo 1 passed, 1 failed; exit 1'
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(steps.run("One", ["/bin/sh", "-c", script, f"{folder.name}/mark"], counted_by=closing_line))
        self.assertEqual((account.passed, account.failures), (2, []))


class StallTests(unittest.TestCase):
    def test_a_beat_that_comes_late_is_a_stall_and_one_in_time_is_none(self) -> None:
        watch = StallWatch()
        self.addCleanup(watch.close)
        begin = watch.last_beat
        for moment in (begin + 4, begin + 8, begin + 42, begin + 43):
            watch.beat(moment)
        self.assertEqual([(stall.begin, stall.end) for stall in watch.stalls], [(begin + 8, begin + 42)])
        self.assertEqual(watch.seconds_between(begin, begin + 50), 34)
        self.assertEqual(watch.seconds_between(begin + 40, begin + 50), 2)
        self.assertEqual(watch.seconds_between(begin, begin + 8), 0)
        self.assertEqual(watch.seconds_between(begin + 42, begin + 50), 0)


if __name__ == "__main__":
    unittest.main()
