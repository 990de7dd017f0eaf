"""P11 and P12: a phone with a slow uplink, and a provider whose replies are delayed, as over a real network.

The clock runs from the phone's first byte, including the connection, to the end of the reply (P11) or to the first byte
of the file (P12). The baseline is the same phone, on the same uplink, that sends to the provider itself.
"""

import hashlib
import http.client
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from demonstration.phone import new_uuid
from demonstration.web import query

from .bench_stack import BenchStack
from .load import LoadError
from .people import commit, sign_up
from .provider_requests import requests_during
from .requests import interleaved
from .table import Result
from .drive import FIELDS
from .uplink import SlowUplink

LATENCY_MILLISECONDS = 200
SIZES = (("a", "100 kB", 100_000), ("b", "2 MB", 2_000_000), ("c", "20 MB", 20_000_000))
PHOTOGRAPH_BYTES = 2_000_000
MULTIPART_BYTES = 5_000_000  # Drive accepts at most this in one request
GOOGLE = "www.googleapis.com"
AT_ONCE = 8


class DistantCloud:
    """One person's phone, which reaches our server and Google through its uplink; delays last until the end of the block."""

    def __init__(self, stack: BenchStack, name: str):
        self.stack = stack
        self.person = sign_up(stack, name)
        self.to_us = SlowUplink(urlsplit(stack.environment["SYNC_URL"]).port)
        self.to_google = SlowUplink(int(stack.environment["SANDBOX_TLS_PORT"]))

    def __enter__(self) -> "DistantCloud":
        self.to_us.__enter__()
        self.to_google.__enter__()
        self._several_times(*self._upload_request(b"one to warm up"))
        # After the request took effect: before, bytes still in transit would hide the delay.
        self.stack.sandbox.json(
            "POST", "/sandbox/faults", {"latencyMs": LATENCY_MILLISECONDS, "afterEffect": True})
        return self

    def __exit__(self, *_) -> None:
        self.stack.sandbox.call("DELETE", "/sandbox/faults")
        self.to_us.__exit__()
        self.to_google.__exit__()

    def upload(self, contents: bytes) -> float:
        request = self._upload_request(contents)
        return self._milliseconds(self.to_us, lambda phone: ask(phone, *request))

    def upload_past_us(self, contents: bytes) -> float:
        """Uploads with a resumable session, and all bytes in one request."""
        def send(phone: http.client.HTTPSConnection) -> None:
            headers = self._google | {
                "Content-Type": "application/json", "X-Upload-Content-Length": str(len(contents))}
            session = ask(phone, "POST", f"/upload/drive/v3/files?uploadType=resumable&fields={FIELDS}", headers,
                          json.dumps({"name": new_uuid()}).encode())
            location = urlsplit(session.headers["Location"])
            ask(phone, "PUT", f"{location.path}?{location.query}", self._google, contents)

        return self._milliseconds(self.to_google, send)

    def upload_past_us_at_once(self, contents: bytes) -> float:
        """Uploads name and bytes in one multipart request."""
        head = f"--part\r\nContent-Type: application/json\r\n\r\n{json.dumps({'name': new_uuid()})}"
        body = f"{head}\r\n--part\r\nContent-Type: image/jpeg\r\n\r\n".encode() + contents + b"\r\n--part--\r\n"
        headers = self._google | {"Content-Type": "multipart/related; boundary=part"}
        path = f"/upload/drive/v3/files?uploadType=multipart&fields={FIELDS}"
        return self._milliseconds(self.to_google, lambda phone: ask(phone, "POST", path, headers, body))

    def first_byte(self, uuid: str) -> float:
        return self._first_byte(self.to_us, self._download_path(uuid), self.person.headers)

    def first_byte_with_new_token(self, uuid: str) -> float:
        """Measures with a sign-in that no process has cached."""
        return self._first_byte(self.to_us, self._download_path(uuid), self.person.headers, self._renew_token)

    def first_byte_past_us(self, object_id: str) -> float:
        path = f"/drive/v3/files/{object_id}?alt=media"
        return self._first_byte(self.to_google, path, lambda: self._google)

    def _download_path(self, uuid: str) -> str:
        parameters = {
            "fileUUID": uuid, "fileVersion": 0, "masterVersion": 1, "sharingGroupUUID": self.person.group}
        return f"/DownloadFile/{query(parameters)}"

    def _renew_token(self) -> None:
        path = f"/sandbox/accounts/{self.person.account}"
        reply = self.stack.sandbox.call("POST", path + "/expire-access-token", {"Content-Type": "application/json"},
                                        b'{"which": "device"}')
        token = self.stack.sandbox.json("GET", path)["accessToken"]
        if token == self.person.access_token:
            raise LoadError(f"The sandbox issued no new token: {reply.status} {reply.body[:300]!r}")
        self.person.access_token = token

    @property
    def _google(self) -> dict[str, str]:
        return {"Host": GOOGLE, "Authorization": f"Bearer {self.person.access_token}"}

    def _upload_request(self, contents: bytes) -> tuple[str, str, dict[str, str], bytes]:
        parameters = {
            "fileUUID": new_uuid(), "fileVersion": 0, "mimeType": "image/jpeg", "masterVersion": 0,
            "sharingGroupUUID": self.person.group, "checkSum": hashlib.md5(contents).hexdigest()}
        return "POST", f"/UploadFile/{query(parameters)}", self.person.headers(), contents

    def _several_times(self, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> None:
        """Sends a request directly to the server, so many at the same time that every responder gets one."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            replies = pool.map(lambda _: self.stack.server.call(method, path, headers, body), range(AT_ONCE))
        for reply in replies:
            if reply.status != 200:
                raise LoadError(f"{path.partition('?')[0]} returned {reply.status}: {reply.body[:300]!r}")

    def _first_byte(self, uplink: SlowUplink, path: str, headers, prepare=lambda: None) -> float:
        rest: list[http.client.HTTPResponse] = []

        def receive(phone: http.client.HTTPSConnection) -> None:
            phone.request("GET", path, headers=headers())
            rest.append(phone.getresponse())
            rest[0].read(1)

        def finish() -> None:
            if rest[0].status != 200 or 1 + len(rest[0].read()) != PHOTOGRAPH_BYTES:
                raise LoadError(f"{path.partition('?')[0]} returned {rest[0].status}, or not the whole file.")

        return self._milliseconds(uplink, receive, finish, prepare)

    def _milliseconds(self, uplink: SlowUplink, action, finish=lambda: None, prepare=lambda: None) -> float:
        """The duration of `action` on a new connection; `prepare` and `finish` do not count."""
        # The person's sign-in is cached only for a while.
        self._several_times("GET", f"/Index/?sharingGroupUUID={self.person.group}", self.person.headers())
        prepare()
        phone = uplink.connect(self.stack.environment["CA_FILE"])
        try:
            began = time.monotonic()
            action(phone)
            took = time.monotonic() - began
            finish()
        except (OSError, http.client.HTTPException) as error:
            raise LoadError(f"The phone's request failed: {error}") from None
        finally:
            phone.close()
        return took * 1e3


def ask(
    phone: http.client.HTTPSConnection, method: str, path: str, headers: dict[str, str], body: bytes
) -> http.client.HTTPResponse:
    """Reads the whole reply, which must be a success."""
    phone.request(method, path, body, headers)
    reply = phone.getresponse()
    text = reply.read()
    if reply.status != 200:
        raise LoadError(f"{path.partition('?')[0]} returned {reply.status}: {text[:300]!r}")
    return reply


def uploads(stack: BenchStack, repetitions: int) -> list[Result]:
    results = []
    with DistantCloud(stack, "Petra") as cloud:
        for letter, what, size in SIZES:
            contents = os.urandom(size)
            ways = [cloud.upload, cloud.upload_past_us]
            if size < MULTIPART_BYTES:
                ways.append(cloud.upload_past_us_at_once)
            ours, baseline, *at_once = interleaved(
                *(lambda _, way=way, contents=contents: way(contents) for way in ways), repetitions=repetitions,
                warm_up=False)
            result = Result(
                f"P11{letter}", f"UploadFile of {what}, slow uplink, distant cloud", "ms", 1.25, 1.1, ours, baseline,
                is_cost=True)
            if at_once:
                alone = Result("", "", "ms", 1.25, 1.1, ours, at_once[0], is_cost=True)
                result.note = f"against a single multipart request to the provider: {alone.ratio:.2f}"
            results.append(result)
    return results


def downloads(stack: BenchStack, repetitions: int) -> list[Result]:
    with DistantCloud(stack, "Paula") as cloud:
        contents = os.urandom(PHOTOGRAPH_BYTES)
        uuid = new_uuid()
        cloud.person.phone.upload(contents, fileUUID=uuid, fileVersion=0, mimeType="image/jpeg", masterVersion=0,
                                  sharingGroupUUID=cloud.person.group)
        commit(cloud.person)
        object_id = stack.sql(f"SELECT object_id FROM files WHERE file_uuid = '{uuid}'").strip()
        cloud.first_byte(uuid)  # From then on the sign-in is cached.
        asked = requests_during(stack, lambda: cloud.first_byte(uuid))
        ours, baseline, unknown = interleaved(
            lambda _: cloud.first_byte(uuid), lambda _: cloud.first_byte_past_us(object_id),
            lambda _: cloud.first_byte_with_new_token(uuid), repetitions=repetitions)
    return [Result(
        "P12", "first byte of DownloadFile, distant cloud", "ms", 1.5, 1.15, ours, baseline, is_cost=True,
        note=f"one download through us sends {len(asked)} requests to the provider; with a token that is not cached,"
             f" the first byte takes {statistics.median(unknown):.0f} ms")]
