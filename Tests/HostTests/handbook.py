"""Shared by the tests of docs/operations.md: its commands are typed as written, on the machine of the first hour. Each
test is a chapter, and compares the commands and their output with a transcript
(scripts/lib/documents/transcript.py)."""

import json
import unittest
from collections.abc import Callable

from container import wait_for
from host import CONFIGURATION, START_SECONDS
from machine import HOST, Machine

from documents.transcript import Transcript

DOCUMENT = "docs/operations.md"
SECRETS = "/etc/syncd/secrets"


class HandbookCase(unittest.TestCase):
    """Chapters on the machine of the first hour; each leaves it in the state that the next one requires."""

    machine: Machine

    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = Machine.shared()
        cls.machine.set_up()

    def chapter(self, name: str, document: str = DOCUMENT, machine: Machine | None = None) -> Transcript:
        return Transcript(self, document, name, (machine or self.machine).type)

    def inside(self, command: str, check: bool = True) -> str:
        return self.machine.run("/bin/sh", "-c", f"cd /root && {command}", check=check).stdout

    def configure(self, change: Callable[[dict], object]) -> None:
        """Changes the configuration, as a person does with an editor."""
        path = self.machine.path(CONFIGURATION)
        settings = json.loads(path.read_text(encoding="utf-8"))
        change(settings)
        path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    def answer_gpg(self) -> None:
        """Answers gpg's prompt in place of a person."""
        self.inside("mkdir -p -m 700 /root/.gnupg")
        self.machine.write("/root/.gnupg/passphrase", "only for a test\n", 0o600)
        self.machine.write("/root/.gnupg/gpg.conf",
                           "batch\npinentry-mode loopback\npassphrase-file /root/.gnupg/passphrase\n")

    def is_healthy(self) -> bool:
        return self.inside(f"curl --silent --output /dev/null --write-out '%{{http_code}}' https://{HOST}/HealthCheck",
                           check=False) == "200"

    def wait_until_healthy(self) -> None:
        wait_for("the server is healthy", self.is_healthy, START_SECONDS)

    def pid(self, instance: str) -> str:
        return self.inside(f"systemctl show --property=MainPID --value {instance}").strip()


def in_order(tests: type[unittest.TestCase]) -> unittest.TestSuite:
    """The line in the source."""
    return unittest.TestSuite(tests(name) for name in vars(tests) if name.startswith("test_"))
