"""Shared by the push checks: a private stack, its users, and a list of failures."""

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

DEADLINE_SECONDS = 20.0

failures = 0


def check(what: str, holds: bool, found: object = "") -> None:
    """Records whether the statement is true."""
    global failures
    print(f"ok: {what}" if holds else f"not ok: {what}: {found}", flush=True)
    failures += 0 if holds else 1


def eventually(condition, seconds: float = DEADLINE_SECONDS) -> bool:
    """Whether the condition becomes true within the time."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if condition():
            return True
        time.sleep(0.1)
    return False


def call(url: str, method: str = "GET", headers: dict | None = None, body: bytes | None = None) -> tuple[int, dict]:
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.loads(reply.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


class Stack:
    """A stack in `folder`, with one responder of each kind; `overrides` replace members of syncd's configuration."""

    def __init__(self, script: str, folder: Path, build: str, overrides: dict):
        self.script, self.folder, self.build = script, folder, build
        self.environment: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "syncd-overrides.json").write_text(json.dumps(overrides), encoding="ascii")

    def up(self) -> None:
        subprocess.run([self.script, "up", str(self.folder), "--responders", "1", "--build", self.build], check=True,
                       stdout=subprocess.DEVNULL)
        lines = subprocess.run([self.script, "env", str(self.folder)], check=True, capture_output=True, text=True).stdout
        self.environment = {key: value.strip("'\"") for key, _, value in
                            (line.partition("=") for line in lines.splitlines() if "=" in line)}

    def down(self) -> None:
        subprocess.run([self.script, "down", str(self.folder)], check=False, stdout=subprocess.DEVNULL)

    def logs(self) -> bytes:
        """The output of all its programs."""
        return b"".join(path.read_bytes() for path in (self.folder / "log").rglob("*") if path.is_file())


class Person:
    """A signed-in person on one device."""

    def __init__(self, stack: Stack, provider: str, name: str, like: "Person | None" = None):
        self.stack = stack
        self.device = str(uuid.uuid4()).upper()
        if like is not None:
            self.headers = like.headers
            return
        body = json.dumps({"provider": provider, "name": name}).encode()
        status, account = call(stack.environment["SANDBOX_URL"] + "/sandbox/accounts", "POST",
                               {"Content-Type": "application/json"}, body)
        assert status == 201, account
        self.headers = account["headers"]

    def ask(self, endpoint: str, method: str = "POST", **parameters: object) -> tuple[int, dict]:
        query = urllib.parse.urlencode(sorted(parameters.items()), quote_via=urllib.parse.quote)
        return call(f"{self.stack.environment['SYNC_HTTP_URL']}/{endpoint}/?{query}", method,
                    self.headers | {"SyncServer-Device-UUID": self.device})

    def must(self, endpoint: str, **parameters: object) -> dict:
        """The reply to a request that must succeed."""
        status, reply = self.ask(endpoint, **parameters)
        assert status == 200, (endpoint, status, reply)
        return reply

    def on_another_device(self) -> "Person":
        return Person(self.stack, "", "", like=self)
