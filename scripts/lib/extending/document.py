"""The steps of docs/extending.md, in their order: diffs, new files and commands.

A file is a block of Swift or SQL after a paragraph that ends with its path in code and a colon. A diff names each file
with `--- PATH`, and separates places in it with `@@`; the lines of a place that are not added must occur in the file
exactly once, one after the other. Every other block is a command, for bash.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATH_BEFORE = re.compile(r"`([\w./+-]+)`:\n\n$")
COMMAND_SECONDS = 60.0


class Problem(Exception):
    """A step that cannot be followed; the text is a sentence."""


@dataclass(frozen=True)
class Step:
    kind: str
    text: str
    # Of a new file.
    path: str = ""


def steps(document: str) -> list[Step]:
    found = []
    for block in BLOCK.finditer(document):
        kind, text = block[1], block[2]
        path = PATH_BEFORE.search(document, 0, block.start()) if kind not in ("diff", "sh") else None
        if kind not in ("diff", "sh") and path is None:
            raise Problem(f"No path precedes the block that begins with {text.splitlines()[:1]}.")
        found.append(Step(kind, text, path[1] if path else ""))
    return found


def follow(step: Step, tree: Path) -> None:
    if step.kind == "sh":
        done = subprocess.run(["/bin/bash", "-euc", step.text], cwd=tree, check=False, timeout=COMMAND_SECONDS)
        if done.returncode != 0:
            raise Problem(f"The command that begins with {step.text.splitlines()[0]} fails.")
    elif step.kind == "diff":
        parts = re.split(r"^--- (\S+)\n", step.text, flags=re.MULTILINE)
        for name, edits in zip(parts[1::2], parts[2::2]):
            file = tree / name
            if not file.is_file():
                raise Problem(f"There is no {name}.")
            text = file.read_text(encoding="utf-8")
            for edit in re.split(r"^@@\n", edits, flags=re.MULTILINE):
                text = edited(text, edit.splitlines(), name)
            file.write_text(text, encoding="utf-8")
    else:
        file = tree / step.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(step.text, encoding="utf-8")


def edited(text: str, edit: list[str], name: str) -> str:
    """The text after one edit of a diff."""
    before = "".join(f"{line[1:]}\n" for line in edit if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in edit if not line.startswith("-"))
    # Whole lines only.
    times = f"\n{text}".count(f"\n{before}")
    if times != 1 or not before or before == after:
        raise Problem(f"An edit of {name} does not apply; its place occurs {times} times:\n{before}")
    return f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:]
