"""The attacked stack, the people who use it, and how long they wait."""

import http.client
import json
import resource
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from benchmark import people
from benchmark.running_stack import RunningStack
from demonstration.phone import new_uuid
from demonstration.web import Deviation
from syncstack.layout import REPOSITORY

# Legitimate users have addresses that count for nginx's limits.
GUEST_ADDRESS = "127.0.200.1"
PATIENCE_SECONDS = 60.0
# The limits of an installed server; other stacks have wider ones.
OVERRIDES = {"failedSignInsPerMinute": 60, "refusalsLoggedPerMinute": 60, "webdav": {"anyPublicServer": True}}


class Stage(RunningStack):
    """Up between `__enter__` and `__exit__`."""

    def __init__(self, small: bool, build: str, options: tuple[str, ...] = ()):
        super().__init__()
        self.small = small
        self.build = build
        self.options = options
        self.folder: tempfile.TemporaryDirectory | None = None
        self.check_credentials_count = 0

    def __enter__(self) -> "Stage":
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.folder = tempfile.TemporaryDirectory(prefix="syncserver-attack-")
        try:
            self.directory.mkdir()
            (self.directory / "syncd-overrides.json").write_text(json.dumps(OVERRIDES), encoding="ascii")
            self._stack("up", "--build", self.build, *self.options)
            self.environment = dict(
                part.partition("=")[::2] for part in shlex.split(self._stack("env")))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if self.folder is not None:
            self._stack("down")
            self.folder.cleanup()

    @property
    def directory(self) -> Path:
        """Where the stack keeps its state."""
        return Path(self.folder.name) / "stack"

    new_uuid = staticmethod(new_uuid)

    def _stack(self, verb: str, *options: str) -> str:
        command = [REPOSITORY / "scripts" / "stack", verb, self.directory, *options]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    @property
    def address(self) -> tuple[str, int]:
        """The server's plain HTTP address."""
        parts = urlsplit(self.environment["SYNC_HTTP_URL"])
        return parts.hostname, parts.port

    @property
    def secure_address(self) -> tuple[str, int]:
        parts = urlsplit(self.environment["SYNC_URL"])
        return parts.hostname, parts.port

    def sign_up(self, name: str) -> people.Person:
        """A user with storage and a group."""
        return people.sign_up(self, name)

    def guest(self, provider: str) -> dict[str, str]:
        """The sign-in headers of a person with an account at the provider who is not a user yet."""
        account = self.sandbox.json("POST", "/sandbox/accounts", {"provider": provider, "name": "Guest"})
        return account["headers"] | {"SyncServer-Device-UUID": new_uuid()}

    def check_credentials(self, headers: dict[str, str], expected: int | None = None) -> float:
        """The duration of a legitimate user's CheckCreds, in milliseconds; each from a new address, because nginx
        limits sign-ins."""
        self.check_credentials_count += 1
        source = f"127.0.{201 + self.check_credentials_count // 200 % 50}.{1 + self.check_credentials_count % 200}"
        return self.request("GET", "/CheckCreds/", headers, expected=expected, source=source)[0]

    def give_many_files(self, person: people.Person, count: int) -> None:
        people.give_many_files(self, person, count)

    def request(self, method: str, target: str, headers: dict[str, str], body: bytes | None = None,
                expected: int | None = 200, source: str = GUEST_ADDRESS) -> tuple[float, http.client.HTTPResponse, bytes]:
        """Sends one request of a legitimate user on a new connection; returns milliseconds, reply and its body."""
        began = time.monotonic()
        connection = http.client.HTTPConnection(
            *self.address, timeout=PATIENCE_SECONDS, source_address=(source, 0))
        try:
            connection.request(method, target, body, headers)
            reply = connection.getresponse()
            text = reply.read()
        except OSError as error:
            raise Deviation(f"{method} {target.partition('?')[0]} fails: {error}") from None
        finally:
            connection.close()
        took = (time.monotonic() - began) * 1e3
        if expected is not None and reply.status != expected:
            raise Deviation(f"{method} {target.partition('?')[0]}: {reply.status} {text[:300]!r}")
        return took, reply, text


def slowest_hundredth(measure: Callable[[], float], count: int) -> float:
    """The 99th percentile."""
    times = sorted(measure() for _ in range(count))
    return times[min(len(times) - 1, len(times) * 99 // 100)]
