"""Commands in documents: in Markdown, in manual pages (mdoc(7)), and in Debian's README files.

A command is in a display (a fence, `Bd` or `Dl`, indented lines), one per line unless the line ends with a backslash or
opens a shell's `for`; or within a sentence, in code, if it begins with a program's name and has further words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
# The first words of commands, besides the scripts of this repository.
PROGRAMS = frozenset("""
    CREATE SELECT aa-enforce apt apt-get cat certbot curl debconf-set-selections echo eval for getent gpg install journalctl ln
    make mariadb mkdir mv nginx openssl promtool rclone rm runuser ssh swift syncctl syncd syncdir syncsandbox systemctl
    systemd-sysusers systemd-tmpfiles tar timedatectl zcat
""".split())
SCRIPTS = ("scripts/", "bench/")
NO_COMMANDS = {"json", "swift", "diff", "nginx", "sql", "http", "xml", "yaml", "toml", "text"}
# Decision records and release notes are history.
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "debian/*.README.Debian", "debian/*.NEWS", "man/*")


@dataclass(frozen=True)
class Command:
    document: str
    line: int
    # Shell source: the command as written, without the document's explanation.
    source: str
    is_displayed: bool
    # The output that the document shows next; in displays with prompts.
    reply: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The command as one line."""
        return " ".join(self.source.split())


def documents() -> list[Path]:
    return sorted(path for pattern in DOCUMENTS for path in REPOSITORY.glob(pattern))


def commands(path: Path) -> list[Command]:
    """All commands of a document, in order."""
    text = path.read_text(encoding="utf-8")
    find = markdown if path.suffix == ".md" else manual if path.parent.name == "man" else readme
    name = str(path.relative_to(REPOSITORY))
    found: list[Command] = []
    for line, command, is_displayed in find(text):
        if command.startswith(REPLY):
            found[-1] = replace(found[-1], reply=(*found[-1].reply, command.removeprefix(REPLY)))
        else:
            found.append(Command(name, line, command, is_displayed))
    return found


Found = Iterator[tuple[int, str, bool]]
# Marks a line that is not a command, but the output of one.
REPLY = "\0"


def markdown(text: str) -> Found:
    display: list[tuple[int, str]] | None = None
    kind = ""
    prose: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(\w*)$", line)
        if fence is None:
            (prose if display is None else display).append((number, line))
        elif display is None:
            yield from codes(prose)
            prose, display, kind = [], [], fence[1]
        else:
            if kind not in NO_COMMANDS:
                yield from displayed(display, prompts=kind == "console")
            display = None
    yield from codes(prose)


def codes(lines: list[tuple[int, str]]) -> Found:
    """Commands within sentences, whose lines may break within a command, and in the cells of tables."""
    text = "\n".join(line for _, line in lines)
    begin = lines[0][0] if lines else 0
    for found in re.finditer(r"`([^`]+)`", text):
        command = re.sub(r"\s+", " ", found[1].replace(r"\|", "|")).strip()
        if is_command(command):
            yield begin + text.count("\n", 0, found.start()), command, False


def is_command(text: str) -> bool:
    words = [word for word in text.split(" ") if not re.match(r"[A-Z_]+=", word)]
    return len(words) > 1 and is_program(words[0])


def is_program(word: str) -> bool:
    return word in PROGRAMS or word.startswith(SCRIPTS)


def displayed(lines: list[tuple[int, str]], prompts: bool = False) -> Found:
    """Commands of a display; with prompts, only lines that have one, and their continuations."""
    if lines and lines[0][1].startswith("#!"):
        # The source of a program.
        yield lines[0][0], "\n".join(line for _, line in lines) + "\n", True
        return
    pending, begin = "", 0
    for number, line in lines:
        line = line.strip()
        if prompts and not pending:
            if not re.match(r"[#$] ", line):
                yield number, REPLY + line, True
                continue
            line = line[2:]
        line = re.sub(r"(^|\s+)# .*", "", line)
        begin = number if not pending else begin
        pending += line.removesuffix("\\")
        if line.endswith("\\") or is_unfinished(pending):
            pending += "" if line.endswith("\\") else "\n"
            continue
        if is_program(pending.split(" ")[0]) or re.match(r"[A-Z]+=\$\(", pending):
            yield begin, pending, True
        pending = ""


def is_unfinished(command: str) -> bool:
    return (command.startswith("for ") and not command.endswith("done")) or command.count("'") % 2 == 1


def manual(text: str) -> Found:
    """Commands of a page's own text, without the inserted help of the programs."""
    display: list[tuple[int, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.replace(r"\-", "-").replace(r"\e", "\\")
        if line.startswith(".Bd "):
            display = []
        elif line.startswith(".Ed"):
            yield from displayed(display or [])
            display = None
        elif display is not None:
            display.append((number, plain))
        elif line.startswith(".Dl "):
            yield from displayed([(number, plain[4:].removeprefix("$ "))])
        elif line.startswith(".Ql ") and is_command(re.sub(r" [.,]$", "", plain[4:])):
            yield number, re.sub(r" [.,]$", "", plain[4:]), False


def readme(text: str) -> Found:
    prose: list[tuple[int, str]] = []
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        # The explanation of the command is in a separate column.
        if re.match(r"    \S", line) and (not lines[number - 2].strip() or lines[number - 2].startswith("    ")):
            yield from codes(prose)
            prose = []
            yield from displayed([(number, re.sub(r"\s{4,}.*", "", line.strip()))])
        else:
            prose.append((number, line))
    yield from codes(prose)
