"""Phones that use a server continuously, and record every failed request."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from host import CA_FILE, SANDBOX_URL, URL

# pylint: disable=import-error
from demonstration.phone import Phone, new_uuid
from demonstration.web import Deviation, Website

CONTENTS = bytes(range(256)) * 2_000
# The rate of all phones together, each of which makes five requests per round. nginx permits an address 200 per second
# in the long run (syncd-http.conf), and a fast machine would reply to more.
REQUESTS_PER_SECOND = 150
REQUESTS_PER_ROUND = 5


class Load:
    """Some users, each with their own group and thread."""

    def __init__(self, people: int = 4):
        self.server = Website(URL, str(CA_FILE))
        self.sandbox = Website(SANDBOX_URL)
        self.failures: list[str] = []
        self.requests = 0
        self._lock = threading.Lock()
        self._round_seconds = people * REQUESTS_PER_ROUND / REQUESTS_PER_SECOND
        self._over = threading.Event()
        self._rounds = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._live, args=(number,)) for number in range(people)]

    @contextmanager
    def running(self) -> Iterator["Load"]:
        for thread in self._threads:
            thread.start()
        try:
            self.wait_for_rounds(len(self._threads))
            yield self
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join()

    def wait_for_rounds(self, count: int) -> None:
        """Returns after this many more rounds of requests."""
        for _ in range(count):
            if not self._rounds.acquire(timeout=60):
                raise AssertionError(f"The load has stalled: {self.failures}")

    def _live(self, number: int) -> None:
        try:
            account = self.sandbox.json("POST", "/sandbox/accounts", {"provider": "google", "name": f"Load {number}"})
            phone = Phone(f"load {number}", self.server, self.sandbox, account["id"])
            group = new_uuid()
            self._ask(phone, "POST", "AddUser", sharingGroupUUID=group, cloudFolderName="Load")
            version = 0
            while not self._over.is_set():
                began = time.monotonic()
                file = new_uuid()
                phone.upload(CONTENTS, fileUUID=file, fileVersion=0, mimeType="image/jpeg", masterVersion=version,
                             sharingGroupUUID=group)
                self._count()
                self._ask(phone, "POST", "DoneUploads", masterVersion=version, sharingGroupUUID=group)
                version += 1
                index = self._ask(phone, "GET", "Index", sharingGroupUUID=group)
                listed = {entry["fileUUID"]: entry for entry in index["fileIndex"]}[file]
                contents, _ = phone.download(listed, group, version)
                self._count()
                if contents != CONTENTS:
                    raise Deviation("A download differs from the uploaded bytes.")
                self._ask(phone, "GET", "HealthCheck")
                self._rounds.release()
                self._over.wait(began + self._round_seconds - time.monotonic())
        except Exception as error:  # any exception must be reported to the test
            self.failures.append(f"{type(error).__name__}: {error}")
            self._rounds.release()

    def _ask(self, phone: Phone, method: str, endpoint: str, **parameters) -> dict:
        answer = phone.ask(method, endpoint, **parameters)
        self._count()
        return answer

    def _count(self) -> None:
        with self._lock:
            self.requests += 1
