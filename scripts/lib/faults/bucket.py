"""A bucket of a real server with the interface of Amazon S3: moto, which accepts any key, behind Amazon's initial checks."""

import hashlib
import hmac
import http.client
import subprocess
import threading
import urllib.parse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from demonstration.web import Deviation
from syncstack.layout import REPOSITORY

from .calls import S3_HOST, Answer, Call
from .failures import failure

NAME, REGION = "photos", "us-east-1"
# For moto, which checks only the form.
ANY_SIGNATURE = f"AWS4-HMAC-SHA256 Credential=ANY/20150830/{REGION}/s3/aws4_request, SignedHeaders=host, Signature=0"
SECONDS = 60.0


class Bucket:
    """Runs between `__init__` and `close`."""

    def __init__(self, folder: Path):
        folder.mkdir()
        with open(folder / "log", "wb") as log:
            # pylint: disable-next=consider-using-with  it lives as long as this object
            self.process = subprocess.Popen(
                [REPOSITORY / "scripts" / "lib" / "storage-server", "s3-moto", folder], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            raise Deviation(f"The S3 server did not start: {line!r}")
        self.port = int(line)
        self.lock = threading.Lock()
        # The secrets of the valid keys, and of the withdrawn ones.
        self.secrets: dict[str, str] = {}
        self.withdrawn: dict[str, str] = {}
        self.violations: list[str] = []

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.process.stdout.close()

    def admit(self, key: str, secret: str) -> None:
        with self.lock:
            self.secrets[key] = secret

    def withdraw(self, key: str) -> None:
        with self.lock:
            if key in self.secrets:
                self.withdrawn[key] = self.secrets.pop(key)

    def refusal(self, call: Call) -> Answer | None:
        """Amazon's reply to a wrong key or signature; a wrong signature is a violation."""
        fields = {name.lower(): value for name, value in call.headers}
        authorization = dict(part.strip().partition("=")[::2] for part in
                             fields.get("authorization", "").removeprefix("AWS4-HMAC-SHA256").split(","))
        key, _, scope = authorization.get("Credential", "").partition("/")
        with self.lock:
            secret = self.secrets.get(key)
            is_withdrawn = key in self.withdrawn
        if secret is None:
            if not is_withdrawn:
                self.violations.append(f"{call.describes_itself}: the key {key!r} does not exist")
            return failure(call, 403, "InvalidAccessKeyId")
        expected = signature(call, fields, secret, scope, authorization.get("SignedHeaders", ""))
        if not hmac.compare_digest(expected, authorization.get("Signature", "")):
            self.violations.append(f"{call.describes_itself}: the signature is wrong")
            return failure(call, 403, "SignatureDoesNotMatch")
        return None

    # Bypasses the server under test.

    def call(self, method: str, target: str, body: bytes | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, f"/{NAME}{target}", body, {"Host": S3_HOST, "Authorization": ANY_SIGNATURE})
            reply = connection.getresponse()
            contents = reply.read()
        finally:
            connection.close()
        if not 200 <= reply.status < 300:
            raise Deviation(f"The S3 server replied {reply.status} to {method} {target}: {contents[:300]!r}")
        return contents

    def objects(self, prefix: str) -> list[tuple[str, int]]:
        """Names after the prefix, and sizes."""
        page = ElementTree.fromstring(self.call("GET", f"?list-type=2&max-keys=1000&prefix={quoted(prefix)}"))
        return [(entry.findtext("{*}Key")[len(prefix):], int(entry.findtext("{*}Size")))
                for entry in page.findall("{*}Contents")]

    def unfinished(self, prefix: str) -> int:
        """Multipart uploads that were neither completed nor aborted, which cost money forever.

        One without parts costs nothing, and may be forgotten (docs/providers.md).
        """
        return sum(self._has_parts(upload) for upload in self._begun(prefix))

    def abort_without_parts(self, prefix: str) -> None:
        """Aborts the other uploads: otherwise the server would abort them together with the next upload of that name,
        and its calls would be counted in a cell that did not cause them."""
        for upload in self._begun(prefix):
            if not self._has_parts(upload):
                self.call("DELETE", upload)

    def _begun(self, prefix: str) -> list[str]:
        page = ElementTree.fromstring(self.call("GET", f"?uploads=&prefix={quoted(prefix)}"))
        uploads = [(entry.findtext("{*}Key"), entry.findtext("{*}UploadId")) for entry in page.findall("{*}Upload")]
        return [f"/{quoted(key)}?uploadId={quoted(upload)}" for key, upload in uploads if key.startswith(prefix)]

    def _has_parts(self, upload: str) -> bool:
        return ElementTree.fromstring(self.call("GET", upload)).find("{*}Part") is not None


def quoted(key: str) -> str:
    return urllib.parse.quote(key, safe="")


def signature(call: Call, fields: dict[str, str], secret: str, scope: str, signed: str) -> str:
    """Version 4, by the book ("Create a signed AWS API request")."""
    _, _, query = call.target.partition("?")
    canonical = "\n".join([
        call.method, call.path, "&".join(sorted(query.split("&"))),
        *(f"{name}:{' '.join(fields.get(name, '').split())}" for name in signed.split(";")), "", signed,
        fields.get("x-amz-content-sha256", "")])
    text = "\n".join(["AWS4-HMAC-SHA256", fields.get("x-amz-date", ""), scope,
                      hashlib.sha256(canonical.encode("latin-1")).hexdigest()])
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode("latin-1"), "sha256").hex()
