"""The index of the design decisions must list each record, with the status that the record has.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import re
import unittest
from collections import Counter
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RECORDS = REPOSITORY / "docs" / "adr"
ROW = re.compile(r"^\| \[(\d+)\]\(([^)]+)\) \| (.+) \| (.+) \|$", re.MULTILINE)
LINK = re.compile(r"\[(?:ADR )?\d+\]\((\d{4})-[^)]+\)")


@cache
def records() -> dict[int, Path]:
    """The files of all decisions by their numbers."""
    return {int(file.name[:4]): file for file in sorted(RECORDS.glob("[0-9]*.md"))}


@cache
def rows() -> list[tuple[str, ...]]:
    """The number, file name, decision and status of each row of the index."""
    return ROW.findall((RECORDS / "README.md").read_text(encoding="utf-8"))


@cache
def paragraph(number: int) -> str:
    """The status paragraph of a record: the first one after its title, in one line."""
    found = re.match(r"# \d+\. .+\n\n((?:.+\n)+)", records()[number].read_text(encoding="utf-8"))
    assert found, f"no status paragraph in ADR {number}"
    return " ".join(found[1].split())


def named(number: int) -> set[int]:
    """The other records that a record's status paragraph links to: it amends or supersedes the earlier ones, and the
    later ones amend or supersede it."""
    return {int(other) for other in LINK.findall(paragraph(number))} - {number}


def status(number: int) -> str:
    """The status that the index must show."""
    if found := re.match(r"Superseded by \[ADR (\d+)\]", paragraph(number)):
        return f"superseded by {found[1]}"
    later = [str(other) for other in sorted(named(number)) if other > number]
    if not later:
        return "accepted"
    return "amended by " + " and ".join(filter(None, [", ".join(later[:-1]), later[-1]]))


class DecisionTests(unittest.TestCase):
    def test_each_record_has_one_row(self) -> None:
        """The index has exactly one row for each record, and no row without one."""
        count = Counter((int(number), name) for number, name, _, _ in rows())
        for number, file in records().items():
            with self.subTest(number):
                self.assertEqual(count.pop((number, file.name), 0), 1)
        self.assertEqual(count, {})

    def test_rows_are_complete(self) -> None:
        """Each line of a table is a row with a link, a decision and a status."""
        lines = re.findall(r"^\| (?!ADR|---).*", (RECORDS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual([line for line in lines if not ROW.fullmatch(line)], [])

    def test_titles(self) -> None:
        """The title of a record begins with its number, and its status with a known word."""
        for number, file in records().items():
            with self.subTest(number):
                self.assertTrue(file.read_text(encoding="utf-8").startswith(f"# {number}. "))
                self.assertRegex(paragraph(number), r"^(Accepted[.;]|Superseded by \[ADR \d+\]\()")

    def test_status(self) -> None:
        """The status in each row agrees with the record's status paragraph."""
        for number, _, _, shown in rows():
            with self.subTest(number):
                self.assertEqual(shown, status(int(number)))

    def test_links(self) -> None:
        """Links in a status paragraph have the number of the file that they name, which exists."""
        for number in records():
            for label, name in re.findall(r"\[(?:ADR )?(\d+)\]\(([^)]+)\)", paragraph(number)):
                with self.subTest(number, other=label):
                    self.assertEqual(records()[int(label)].name, name)

    def test_earlier_records_name_later_ones(self) -> None:
        """A record that amends or supersedes an earlier one is named in the status paragraph of that one."""
        for number in records():
            for earlier in sorted(other for other in named(number) if other < number):
                with self.subTest(number, earlier=earlier):
                    self.assertIn(number, named(earlier))


if __name__ == "__main__":
    unittest.main()
