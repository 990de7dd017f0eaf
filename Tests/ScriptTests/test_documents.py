"""Documents that repeat facts of the code must agree with it.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import json
import re
import subprocess
import unittest
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ARCHITECTURE = REPOSITORY / "docs" / "architecture.md"
CODE = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w.+@/-]+\.(?:swift|conf)\b")
TEST_NAME = re.compile(r'@Test\(\s*"((?:[^"\\]|\\.)*)"')


@cache
def targets() -> dict[str, dict]:
    """The targets of the package's manifest, by name."""
    described = subprocess.run(
        ["swift", "package", "dump-package"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    return {target["name"]: target for target in json.loads(described)["targets"]}


def table(heading: str) -> list[list[str]]:
    """The cells of the table whose heading begins with this cell."""
    lines = ARCHITECTURE.read_text(encoding="utf-8").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows = []
    for line in lines[begin + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


class ArchitectureTests(unittest.TestCase):
    def test_modules(self) -> None:
        """The table of modules lists every module with its imports."""
        modules = {name: target for name, target in targets().items()
                   if target["type"] in ("regular", "executable") and not (target.get("path") or "").startswith("Tests")}
        written = {CODE.findall(name)[0]: set(CODE.findall(imports)) for name, imports, _ in table("Module")}
        declared = {
            name: {dependency["byName"][0] for dependency in target["dependencies"] if "byName" in dependency}
            for name, target in modules.items()}
        self.assertEqual(written, declared)

    def test_modules_have_rooms(self) -> None:
        """The diagram of the source tree shows exactly the modules, except the example's, in their directories."""
        picture = re.search(r"^Sources/\n(.*?)^```", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        assert picture
        room = ""
        shown = set()
        for line in picture[1].splitlines():
            begin, rest = line[:14].strip(), line[14:]
            room = begin.rstrip("/") or room
            shown |= {(room, name) for name in re.split(r" {3,}", rest)[0].replace("/{Google,Dropbox,…}", "").split()}
        paths = {name: Path(target.get("path") or "") for name, target in targets().items()}
        present = {(path.parts[1], name) for name, path in paths.items()
                   if path.parts[:1] == ("Sources",) and targets()[name]["type"] != "system"}
        self.assertEqual(shown, present - {("Programs", "simulate")})

    def test_tests_have_rooms(self) -> None:
        """A module's tests are in the directory of the same name."""
        for name, target in targets().items():
            path = Path(target.get("path") or "")
            if target["type"] == "test" and len(path.parts) > 2:
                with self.subTest(name):
                    self.assertTrue((REPOSITORY / "Sources" / path.parts[1]).is_dir())

    def test_tables(self) -> None:
        """The table of database tables lists exactly those that the migrations create."""
        migrations = (REPOSITORY / "Sources/Server/Store/Migrations").glob("*.sql")
        made = set().union(*(
            re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", file.read_text(encoding="utf-8")) for file in migrations))
        self.assertEqual({name for row in table("Table") for name in CODE.findall(row[0])}, made)


class StoryTests(unittest.TestCase):
    """The files by which the architecture page tells stories and draws the paths of bytes."""

    text = ARCHITECTURE.read_text(encoding="utf-8")
    pictures = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    stories = re.findall(r"^### (\d+)\. ([^\n]*): (\d+) files\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    # Number, file, sentence.
    steps = re.compile(r"^\| (\d+) \| `(\S+)` \| (.*) \|$", re.MULTILINE)

    def located(self, path: str) -> Path:
        """The file at a path that begins with a module, or with a directory next to Sources."""
        found = [file for file in (REPOSITORY / path, *(REPOSITORY / "Sources").glob(f"*/{path}")) if file.is_file()]
        self.assertEqual(len(found), 1, f"files at {path}: {found}")
        return found[0]

    def check_declared(self, names: list[str], path: str) -> None:
        """A Swift file declares each name, such as `Type`, `function` or `Type.function`; any other file contains
        it."""
        content = self.located(path).read_text(encoding="utf-8")
        for name in names:
            with self.subTest(name, file=path):
                if not path.endswith(".swift"):
                    self.assertIn(name, content)
                    continue
                for part in name.split("."):
                    declaration = rf"\b(?:class|enum|func|protocol|struct|typealias) {re.escape(part)}\b"
                    self.assertTrue(re.search(declaration, content), f"{part} is not declared in {path}")

    def test_files_exist(self) -> None:
        """Each file that the page names exists, under the directory written before it."""
        paths = FILE.findall(self.text)
        self.assertGreater(len(paths), 80)
        for path in sorted(set(paths)):
            with self.subTest(path):
                self.assertIn("/", path)
                self.located(path)

    def test_stories(self) -> None:
        """Each story has as many files as its heading states, and they declare the names in their sentences."""
        self.assertEqual([number for number, *_ in self.stories], ["1", "2", "3", "4", "5"])
        for _, title, count, body in self.stories:
            with self.subTest(title):
                rows = self.steps.findall(body)
                self.assertEqual(len(FILE.findall(body)), len(rows))
                self.assertEqual([int(number) for number, *_ in rows], list(range(1, int(count) + 1)))
                self.assertEqual(len({path for _, path, _ in rows}), int(count))
                for _, path, sentence in rows:
                    self.check_declared(CODE.findall(sentence), path)

    def test_contracts(self) -> None:
        """The table of contracts lists exactly those that the stories name, with the files that declare them."""
        rows = table("Contract")
        for name, path, _ in rows:
            self.check_declared(CODE.findall(name), *CODE.findall(path))
        named = set().union(*(
            CODE.findall(names)
            for names in re.findall(r"^Contracts[^:\n]*:(.*?)\n\n", self.text, re.MULTILINE | re.DOTALL)))
        self.assertEqual(named, {name for row in rows for name in CODE.findall(row[0])})

    def test_pictures(self) -> None:
        """In a picture, each function is declared in the file on its line, or on the next one."""
        count = 0
        for picture in self.pictures:
            lines = picture.splitlines()
            for line, following in zip(lines, [*lines[1:], ""]):
                names = re.findall(r"(\w+)\(\)", line)
                if names:
                    paths = FILE.findall(line) or FILE.findall(following)
                    self.assertEqual(len(paths), 1, line)
                    self.check_declared(names, paths[0])
                    count += len(names)
        self.assertGreater(count, 25)


class ErrorTests(unittest.TestCase):
    def test_replies_of_nginx(self) -> None:
        """The error replies that nginx generates itself are rows of the protocol's table; tests in Swift compare that
        table with the server's replies."""
        files = (REPOSITORY / "nginx/syncd-http.conf").read_text(encoding="ascii")

        def entries(variable: str) -> dict[str, str]:
            block = re.search(r"map \$status \$" + variable + r" \{(.*?)\}", files, re.DOTALL)
            assert block
            return dict(re.findall(r'^\s+"?([^"\s]+)"? "([^"]*)";', block[1], re.MULTILINE))

        codes, retryable = entries("syncd_error_code"), entries("syncd_error_retryable")
        pattern = next(key for key in retryable if key.startswith("~")).removeprefix("~")
        rows = {}
        for line in (REPOSITORY / "docs/protocol.md").read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 4 and cells[2] in ("yes", "no"):
                for status, code in zip(cells[0].split(", "), CODE.findall(cells[1])):
                    rows[code] = (status, cells[2] == "yes")
        self.assertGreater(len(codes), 10)
        for status, code in codes.items():
            with self.subTest(code):
                status = "500" if status == "default" else status
                self.assertEqual(rows[code], (status, re.search(pattern, status) is not None))

    def test_classes(self) -> None:
        """The table of classes lists every error code in its class."""
        source = (REPOSITORY / "Sources/Protocol/SyncProtocol/Routing/ErrorCode.swift").read_text(encoding="utf-8")
        names = dict(re.findall(r'^    case (\w+) = "(\w+)"$', source, re.MULTILINE))
        rows = re.findall(r"case \.(\w+):\s+Row\(\s*\d+, \.(\w+),", source)
        self.assertGreater(len(rows), 100)
        text = (REPOSITORY / "docs/protocol.md").read_text(encoding="utf-8")
        section = re.search(r"^### 4\.3 Classes\n(.*?)^### ", text, re.MULTILINE | re.DOTALL)
        assert section
        listed = {
            code: cells[0] for cells in re.findall(r"^\| `(\w+)` \|.*\|.*\| (.*) \|$", section[1], re.MULTILINE)
            for code in CODE.findall(cells[1])}
        self.assertEqual(listed, {names.get(name, name): refusal_class for name, refusal_class in rows})


class DoctorTests(unittest.TestCase):
    def test_each_finding_is_provoked(self) -> None:
        """For each finding of `syncctl doctor` listed in docs/operations.md, a test provokes it on a host."""
        text = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
        rows = re.search(r"^\| Finding \| Check .*\n.*\n((?:\|.*\n)+)", text, re.MULTILINE)
        assert rows
        findings = re.findall(r"^\| `(\w+)` ", rows[1], re.MULTILINE)
        self.assertGreater(len(findings), 40)
        tests = "".join(
            file.read_text(encoding="utf-8")
            for file in (REPOSITORY / "Tests/AcceptanceTests/Administration/Doctor").glob("*Tests.swift"))
        self.assertEqual([finding for finding in findings if f'"{finding}"' not in tests], [])


class ClientConformanceTests(unittest.TestCase):
    def test_quoted_tests_exist(self) -> None:
        """Each line of the list contains the display name of a test, or states that there is none."""
        existing = set().union(*(
            TEST_NAME.findall(file.read_text(encoding="utf-8")) for file in (REPOSITORY / "Tests").rglob("*.swift")))
        text = (REPOSITORY / "docs/client-conformance.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (\d+) \| .* \| (.*) \|$", text, re.MULTILINE)
        self.assertEqual([int(number) for number, _ in rows], list(range(1, len(rows) + 1)))
        self.assertIn(f"in {len(rows)} lines", text)
        for number, name in rows:
            with self.subTest(line=int(number)):
                if name != "`open`" and not name.startswith("None: "):
                    self.assertIn(name, existing)



if __name__ == "__main__":
    unittest.main()
