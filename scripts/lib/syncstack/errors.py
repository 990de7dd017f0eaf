"""Errors, as sentences for the person at the terminal."""

from pathlib import Path


class StackError(Exception):
    """A sentence to print; the end of the file `log` explains more."""

    def __init__(self, sentence: str, log: Path | None = None):
        super().__init__(sentence)
        self.log = log

    def explanation(self, lines: int = 25) -> str:
        text = str(self)
        if self.log is not None and self.log.exists():
            end = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
            text += f"\nThe end of {self.log}:\n" + "\n".join("    " + line for line in end)
        return text
