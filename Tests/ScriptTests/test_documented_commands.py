"""Each command in a document is run by a test, or has a reason why no test can run it.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import re
import sys
import tomllib
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from documents.commands import commands, displayed, documents, manual, markdown, readme  # noqa: E402
from documents.transcript import FOLDER, typed_commands  # noqa: E402

TABLE = REPOSITORY / "Tests" / "documented-commands.toml"
# Placeholders: FILE, google.txt, https://…, [option].
PLACEHOLDER = re.compile(r"https?:.*|[A-Z]{2,}|.*[…|$<\[].*|\d.*|[\w-]+\.(txt|json|password)")


def rows() -> dict[str, list[dict]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def in_one_line(command: str) -> str:
    return " ".join(command.split())


def words(command: str) -> list[str]:
    """The words that a test of the command must contain: all except the program's name, values and placeholders."""
    _, *rest = re.split(r"[\s='\"]+", command)
    return [word for word in rest if word and not word.startswith("/") and not PLACEHOLDER.fullmatch(word)]


class DocumentedCommandsTests(unittest.TestCase):
    def setUp(self) -> None:
        self.documented = {command.text: command for path in documents() for command in commands(path)}
        self.typed = set(typed_commands())

    def test_each_command_is_run(self) -> None:
        """Each command of a document is in a transcript, or has a row that names its test or the reason for having
        none.

        In prose, a command also stands for longer ones that begin with it: `syncctl import` for an import with its
        options.
        """
        listed = [in_one_line(command) for kind in rows().values() for row in kind for command in row["commands"]]
        missing = [f"{command.document}:{command.line}: {text}" for text, command in self.documented.items()
                   if text not in self.typed and text not in listed
                   and (command.is_displayed or not any(longer.startswith(f"{text} ") for longer in self.typed))]
        self.assertEqual(missing, [], "\n" + "\n".join(missing))
        self.assertEqual([command for command in listed if command not in self.documented], [], "in no document")
        self.assertEqual([command for command in listed if command in self.typed], [], "in a transcript already")
        self.assertEqual(len(listed), len(set(listed)))

    def test_transcripts_are_of_documents(self) -> None:
        """Each command of a transcript is in the document that the transcript names."""
        self.assertGreater(len(self.typed), 100)
        for file in sorted(FOLDER.glob("*.txt")):
            first, *lines = file.read_text(encoding="utf-8").splitlines()
            document = REPOSITORY / re.fullmatch(r"From (\S+)\.", first)[1]
            known = {command.text for command in commands(document)}
            typed = {line.removeprefix("# ") for line in lines if line.startswith("# ")}
            with self.subTest(file.name):
                self.assertEqual(typed - known, set())

    def test_what_runs_them_exists(self) -> None:
        """The tests named by rows exist, and contain the words of the commands, or read the document."""
        for kind in ("run", "read"):
            for row in rows()[kind]:
                text = (REPOSITORY / row["by"]).read_text(encoding="utf-8")
                with self.subTest(row["by"], test=row.get("test")):
                    if "test" in row:
                        self.assertRegex(text, rf'(def|func) {re.escape(row["test"])}\b|"{re.escape(row["test"])}')
                    if kind == "read":
                        self.assertIn(Path(row["document"]).name.removeprefix("syncsandbox."), text)
                        found = {command.text for command in commands(REPOSITORY / row["document"])}
                        self.assertLessEqual({in_one_line(command) for command in row["commands"]}, found)
                        continue
                    for command in row["commands"]:
                        self.assertEqual([word for word in words(command) if word not in text], [], command)

    def test_targets_of_make(self) -> None:
        """Each target is in the Makefile, and the program that it calls exists."""
        makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
        for row in rows()["make"]:
            self.assertTrue((REPOSITORY / row["by"]).exists(), row)
            for target in re.findall(r"make ([a-z-]+)", " ".join(row["commands"])):
                self.assertRegex(makefile, rf"(?m)^{target}:")

    def test_reasons_are_given(self) -> None:
        """Each excused command has a reason."""
        for row in rows()["unrun"]:
            self.assertGreater(len(row["because"].split()), 3, row)


class ExtractionTests(unittest.TestCase):
    """Checks the extraction itself, since a command that it overlooks would not be missed."""

    def texts(self, found) -> list[str]:
        return [" ".join(source.split()) for _, source, _ in found if not source.startswith("\0")]

    def test_markdown(self) -> None:
        """Commands are in code blocks and inline code, across line breaks; bare names and other languages are ignored."""
        text = (
            "Run `syncctl\ndoctor`, not `syncctl`.\n\n```\n# only said\nmake deb   # why\nscrape_configs:\n```\n\n"
            "```json\nmake nothing\n```\n\n| `a` | `make repository \\| cat` |\n\n  ```console\n  $ curl -d '{\n  }' \\\n"
            "      https://x\n  make no prompt\n  # mariadb -e x\n  ```\n")
        self.assertEqual(self.texts(markdown(text)), [
            "syncctl doctor", "make deb", "make repository | cat", "curl -d '{ }' https://x", "mariadb -e x"])

    def test_program(self) -> None:
        """The text of a script is one command; so is a loop."""
        self.assertEqual(
            self.texts(displayed([(1, "#!/bin/sh"), (2, "ssh x")])), ["#!/bin/sh ssh x"])
        self.assertEqual(
            self.texts(displayed([(1, "for x in y; do"), (2, "    echo $x"), (3, "done")])), ["for x in y; do echo $x done"])

    def test_pages(self) -> None:
        """Commands are in mdoc's displays and literals, and in a README.Debian's indented lines, without notes."""
        self.assertEqual(
            self.texts(manual(".Bd -literal\nsyncctl migrate    # once\n.Ed\n.Dl $ syncdir x \\-\\-y\n.Ql make run .\n")),
            ["syncctl migrate", "syncdir x --y", "make run"])
        self.assertEqual(
            self.texts(readme("Type:\n\n    apt install x      this and that\n\n 1. one\n    apt is mentioned\n")),
            ["apt install x"])


if __name__ == "__main__":
    unittest.main()
