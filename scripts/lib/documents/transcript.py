"""What a person who follows a document types, and the output; kept in Tests/Transcripts.

A transcript holds each command as in the document, the values of its placeholders, the output, and the exit status if it
is not 0. Numbers and times that differ from run to run are replaced. Tests/ScriptTests/test_documents.py counts the
commands in transcripts among the executed ones.
"""

import difflib
import os
import re
import shlex
import unittest
from collections.abc import Callable, Iterator

from .commands import REPOSITORY, commands

FOLDER = REPOSITORY / "Tests" / "Transcripts"
WRITTEN = REPOSITORY / ".stack" / "transcripts"
VARYING = (
    (r"\x1b\[[0-9;?]*[a-zA-Z]", ""),
    (r"syncd-\d{4}-\d\d-\d\dT\d{6}Z", "syncd-TIME"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)?", "TIME"),
    (r"\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b", "UUID"),
    (r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=", "KEY"),
    # Before HEX, because its decimals can be twelve or more.
    (r'"serverUptime":[\d.e+-]+', '"serverUptime":N'),
    (r"\b[0-9a-f]{12,}\b", "HEX"),
    (r"\b\d[\d,.]* (bytes|KiB|MiB|GiB|ms|s|min|seconds|days)\b", r"N \1"),
    (r"\b\d+(\.\d)? percent", "N percent"),
    (r"\bkey (\()?[0-9a-f]{8}\b", r"key \1KEY"),
    (r"\bquota_windows \d+", "quota_windows N"),
    # Depends on whether the first manifest has been written.
    (r"\bmanifest_keys \d+, ", ""),
    # Versions of releases, ours and Debian's.
    (r"Successfully installed edited file '[^']*'\.\n", ""),  # systemd 257
    (r"MariaDB [\d.]+\S*(?: from Debian,)?", "MariaDB VERSION,"),
    (re.escape((REPOSITORY / "VERSION").read_text(encoding="ascii").strip()), "VERSION"),
    (r"(schema |this release \()\d+", r"\1N"),
)


# By the ends of questions; an answer may depend on the output since the last one.
Answers = dict[str, str | Callable[[str], str]]
# Types a command with these answers; returns the exit status and the output.
Typist = Callable[[str, Answers | None], tuple[int, str]]


class Transcript:
    """The transcript of one chapter of a document; compared at its end."""

    def __init__(self, test: unittest.TestCase, document: str, name: str, typist: Typist):
        self.test = test
        self.name = name
        self.typist = typist
        self.known = {command.text: command for command in commands(REPOSITORY / document)}
        self.lines = [f"From {document}."]

    def type(
        self, command: str, replacing: dict[str, str] | None = None, *, status: int = 0, shown: bool = True,
        answers: Answers | None = None, through: str | None = None
    ) -> str:
        """Types the command of the document that begins with `command`.

        - replacing: the values of the document's placeholders, such as the name of a host or of a file.
        - shown: whether the transcript contains the output; not if it is long and from another program.
        - through: a program that takes the command as its last argument, as a database client takes a statement.
        """
        known = self.known[self.mention(command)]
        typed = known.source
        for word, value in (replacing or {}).items():
            self.test.assertIn(word, typed)
            typed = typed.replace(word, value)
        if through is not None:
            typed = f"{through} {shlex.quote(typed)}"
        ended, written = self.typist(typed, answers)
        self.test.assertEqual(ended, status, f"{typed}:\n{written[-6000:]}")
        for line in known.reply:
            self.test.assertRegex(written, rf"(?m)^{shown_as(line)}$", f"{typed}: the document shows a different reply")
        self.lines += [f"  ({word}: {comparable(value)[0]})" for word, value in (replacing or {}).items()]
        self.lines += comparable(written) if shown else ["  (…)"] if written.strip() else []
        if ended != 0:
            self.lines.append(f"  (exit status {ended})")
        return written

    def mention(self, command: str) -> str:
        """Begins the transcript of a command of the document that other code types."""
        found = [text for text in self.known if text == command] or [
            text for text in self.known if text.startswith(command)]
        self.test.assertEqual(len(found), 1, f"{command}: the document has {found}")
        self.lines += ["", f"# {found[0]}"]
        return found[0]

    def program(self) -> str:
        """The source of the program that the document shows."""
        return self.known[self.mention("#!/bin/sh")].source

    def compare(self) -> None:
        """Compares the transcript with the stored one. Leaves the new one in .stack/transcripts;
        SYNC_KEEP_TRANSCRIPTS=yes stores it."""
        WRITTEN.mkdir(parents=True, exist_ok=True)
        file = f"{self.name}.txt"
        (WRITTEN / file).write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        if os.environ.get("SYNC_KEEP_TRANSCRIPTS"):
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / file).write_text((WRITTEN / file).read_text(encoding="utf-8"), encoding="utf-8")
        kept = (FOLDER / file).read_text(encoding="utf-8").splitlines() if (FOLDER / file).exists() else []
        difference = "\n".join(difflib.unified_diff(
            kept, self.lines, str(FOLDER / file), str(WRITTEN / file), lineterm=""))
        self.test.assertEqual(difference, "", f"\n{difference}")


def shown_as(line: str) -> str:
    """A pattern of a line in a document, in which … represents any text, and four digits and … a UUID."""
    if re.fullmatch(r"[0-9A-F]{4}…", line):
        return r"[0-9A-F-]{36}"
    return re.escape(line).replace("…", ".*")


def comparable(text: str) -> list[str]:
    """Lines without the parts that differ from run to run."""
    for pattern, replacement in VARYING:
        text = re.sub(pattern, replacement, text)
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def typed_commands() -> Iterator[str]:
    """The commands of all transcripts, as in the documents."""
    for file in sorted(FOLDER.glob("*.txt")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                yield line.removeprefix("# ")
