"""The list of single faults, Tests/Mutations/*.toml."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
FORMS = ("expression", "statement", "sql")
# Text that begins like this is not an expression; neither is a name with a label before it.
STATEMENT = re.compile(r"(?:guard|let|var|return|throw|for|defer|\w+ =|\w+:)\s")


class FaultError(Exception):
    """A fault whose description is invalid or no longer fits the sources."""


@dataclass(frozen=True)
class Fault:
    """One change at one location.

    `search` occurs exactly once in `file`. It is an expression, one or more statements that declare nothing others
    need, or, in the form `sql`, a piece of a string literal of several lines. If it occurs more than once, `context`
    is a text around it that does not. `tests` is a filter of the test runner.
    """

    id: str
    file: str
    search: str
    replacement: str
    tests: str
    form: str = "expression"
    context: str = ""

    def place(self, text: str) -> tuple[int, int]:
        """The range of the text with two variants: for `sql`, the whole literal."""
        start = self._position(text)
        end = start + len(self.search)
        if self.form == "sql":
            start, end = text.rindex('"""', 0, start), text.index('"""', end) + 3
        return start, end

    def variant(self, original: str) -> str:
        return original.replace(self.search, self.replacement)

    def _position(self, text: str) -> int:
        if not self.context:
            return self._only(self.search, text)
        return self._only(self.context, text) + self._only(self.search, self.context)

    def _only(self, part: str, text: str) -> int:
        count = text.count(part)
        if count != 1:
            raise FaultError(f"{self.id}: {part!r} occurs {count} times in {self.file}")
        return text.index(part)

    def check(self) -> None:
        path = REPOSITORY / self.file
        if not path.is_file():
            raise FaultError(f"{self.id}: {self.file} does not exist")
        if self.form not in FORMS or self.search == self.replacement:
            raise FaultError(f"{self.id}: unknown form, or no change")
        if self.form == "expression" and STATEMENT.match(self.search):
            raise FaultError(f"{self.id}: {self.search!r} is not an expression")
        re.compile(self.tests)
        self.place(path.read_text(encoding="utf-8"))


def load() -> list[Fault]:
    faults = []
    for path in sorted((REPOSITORY / "Tests" / "Mutations").glob("*.toml")):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in entries.get("fault", []):
            try:
                faults.append(Fault(**{"tests": entries.get("tests"), **entry}))
            except TypeError as error:
                raise FaultError(f"{path.name}, {entry.get('id')}: {error}") from None
    identifiers = [fault.id for fault in faults]
    for identifier in identifiers:
        if identifiers.count(identifier) > 1:
            raise FaultError(f"{identifier} is the id of two faults")
    return faults


SWITCH = """

fileprivate func mutation(_ id: String) -> Bool {
    guard let chosen = unsafe getenv("SYNC_MUTATION") else { return false }
    return unsafe String(cString: chosen) == id
}
"""


def switch_all(text: str, faults: list[Fault]) -> str:
    """The text of one file with all variants in it: the environment variable SYNC_MUTATION selects one."""
    places: dict[tuple[int, int], list[Fault]] = {}
    for fault in faults:
        places.setdefault(fault.place(text), []).append(fault)
    # From the last to the first, so that positions stay valid.
    begin_of_last = len(text)
    for (start, end), here in sorted(places.items(), reverse=True):
        if end > begin_of_last:
            raise FaultError(f"{here[0].id} overlaps with another fault in {here[0].file}")
        begin_of_last = start
        both = original = text[start:end]
        for fault in here:
            new = fault.variant(original)
            if fault.form == "statement":
                both = f'if mutation("{fault.id}") {{ {new} }} else {{ {both} }}\n'
            else:
                both = f'(mutation("{fault.id}") ? ({new}) : ({both}))'
        text = text[:start] + both + text[end:]
    if not re.search(r"^(?:\w+ )?import (?:Glibc|Foundation)$", text, re.MULTILINE):
        text = "private import Glibc\n" + text
    return text + SWITCH
