"""A bare Debian, and a person who types the documents' commands, with names in DNS, an authority in place of Let's
Encrypt, and our packages and a picture in root's folder."""

import atexit
import re
import shutil
import subprocess
import sys
from pathlib import Path

from authority import DIRECTORY, Authority
from container import Answers, Container
from host import PACKAGES, REPOSITORY, STATE
from image import unpack

sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

# pylint: disable=wrong-import-position
from documents.commands import commands  # noqa: E402

SILENCE_SECONDS = 180.0
HOST = "sync.example.com"
PICTURE = bytes(range(256)) * 4_000
# A person's answers, by the ends of the questions; all others are answered with Enter, for the value in brackets.
ANSWERS: Answers = {
    "Do you want to continue? [Y/n] ": "",
    "Continue? [Y/n] ": "",  # apt 3
    "(e.g. sync.example.com): ": HOST,
    "]: ": "",
}


def quick_start() -> list[str]:
    """The commands of the README's quick start."""
    displayed = [command.text for command in commands(REPOSITORY / "README.md") if command.is_displayed]
    begin = next(number for number, text in enumerate(displayed) if text.startswith("apt update"))
    end = next(number for number, text in enumerate(displayed) if text.startswith("make run"))
    return displayed[begin:end]


class Machine:
    _shared: "Machine | None" = None

    @classmethod
    def shared(cls) -> "Machine":
        """The machine shared by all tests of this process."""
        if cls._shared is None:
            cls._shared = Machine("first-hour", Authority(STATE / "authority"))
        return cls._shared

    def __init__(self, name: str, authority: Authority | None):
        """Without an authority, the host's name is not in DNS, and certificates cannot be obtained."""
        self.authority = authority
        self.container = Container(unpack(STATE, name))
        self.is_set_up = False
        atexit.register(self.end)
        self.container.boot()
        self.container.enter_network()
        for package in PACKAGES.glob("sync*.deb"):
            shutil.copy(package, self.path("/root"))
        self.path("/root/photo.jpg").write_bytes(PICTURE)
        if authority is None:
            return
        authority.start()
        names = ["localhost", HOST, *(f"{name}.example.com" for name in ("new", "renamed", "other", "packages")), "db"]
        with self.path("/etc/hosts").open("a", encoding="ascii") as hosts:
            hosts.write(f"127.0.0.1 {' '.join(names)}\n")
        shutil.copy(authority.root_file, self.path("/usr/local/share/ca-certificates/authority.crt"))
        self.run("update-ca-certificates")

    def end(self) -> None:
        atexit.unregister(self.end)
        self.container.halt()
        shutil.rmtree(self.container.root, ignore_errors=True)
        if self._shared not in (None, self):
            self._shared.container.enter_network()

    def path(self, inside: str) -> Path:
        return self.container.path(inside)

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.container.run(*command, check=check)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text, encoding="utf-8")
        self.path(path).chmod(mode)

    def type(self, command: str, answers: Answers | None = None) -> tuple[int, str]:
        """Types a command on a terminal, in root's folder; returns the exit status and the output."""
        # Only the test skips waiting for disks.
        quick = command.replace("apt install", "eatmydata apt install")
        return self.container.converse(
            answers or ANSWERS, "/bin/sh", "-c", f"cd /root && {quick}", seconds=SILENCE_SECONDS)

    def set_up(self) -> None:
        """Follows the README's quick start, once."""
        if self.is_set_up:
            return
        for command in quick_start():
            self.type_of_quick_start(command)
        self.is_set_up = True

    def type_of_quick_start(self, command: str) -> str:
        status, written = self.type(command)
        if status != 0:
            raise AssertionError(f"{command}:\n{written[-6000:]}")
        if re.match(r"apt update && apt install .*certbot", command) and self.authority is not None:
            self.use_own_authority()
        return written

    def use_own_authority(self) -> None:
        """Points certbot, which would use Let's Encrypt, at the test's authority."""
        with self.path("/etc/letsencrypt/cli.ini").open("a", encoding="ascii") as settings:
            settings.write(f"server = {DIRECTORY}\n")
