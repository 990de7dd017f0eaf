"""Uploads in pieces by third-party clients: tuspy, aiotus, and plain HTTP with the IETF draft's headers.

usage: uploads.py [--uploads N] [--seed S] [--providers google,dropbox,…]

N uploads of random sizes, whose connections are cut after random numbers of bytes until all of them are complete: each
must end as a staged file with the right bytes, at most 512 KiB may be sent again for each cut, and nothing may be left
over. Environment: that of a stack (scripts/stack env).
"""

import argparse
import asyncio
import base64
import hashlib
import http.client
import io
import json
import os
import random
import socket
import sys
import time
import urllib.parse
import uuid
from collections import Counter
from dataclasses import dataclass, field

import aiotus
import requests
from tusclient import client as tus
from tusclient.exceptions import TusCommunicationError, TusUploadFailed

SERVER = os.environ["SYNC_HTTP_URL"]
SANDBOX = os.environ["SANDBOX_URL"]
HOST, PORT = urllib.parse.urlsplit(SERVER).netloc.split(":")
MOST_SENT_TWICE = 512 * 1024
DRAFT = {"Upload-Draft-Interop-Version": "6"}
TUS = {"Tus-Resumable": "1.0.0"}

failures: list[str] = []
checks = 0  # pylint: disable=invalid-name


def check(condition: bool, sentence: str) -> None:
    global checks  # pylint: disable=global-statement
    if condition:
        checks += 1
    else:
        failures.append(sentence)
        print("not ok:", sentence, flush=True)


def new_uuid() -> str:
    return str(uuid.uuid4()).upper()


def check_sum(provider: str, data: bytes) -> str:
    if provider == "dropbox":
        blocks = [hashlib.sha256(data[at:at + (4 << 20)]).digest() for at in range(0, len(data), 4 << 20)]
        return hashlib.sha256(b"".join(blocks)).hexdigest()
    if provider == "microsoft":
        return hashlib.sha1(data).hexdigest().upper()
    return hashlib.md5(data).hexdigest()


class Person:
    """A user with a sharing group."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.web = requests.Session()
        self.account = self.web.post(
            f"{SANDBOX}/sandbox/accounts", json={"provider": provider, "name": "Piece Sender"}).json()
        self.headers = {**self.account["headers"], "SyncServer-Device-UUID": new_uuid()}
        self.group = new_uuid()
        self.call("POST", "AddUser", sharingGroupUUID=self.group, cloudFolderName="Pieces").raise_for_status()

    def call(self, method: str, endpoint: str, headers=None, data=None, **parameters) -> requests.Response:
        return self.web.request(
            method, f"{SERVER}/{endpoint}", params=parameters, headers={**self.headers, **(headers or {})}, data=data)

    def version(self) -> int:
        return self.call("GET", "Index", sharingGroupUUID=self.group).json()["masterVersion"]

    def parameters(self, data: bytes, version: int) -> dict:
        return {"fileUUID": new_uuid(), "sharingGroupUUID": self.group, "mimeType": "image/jpeg", "fileVersion": 0,
                "masterVersion": version, "checkSum": check_sum(self.provider, data)}

    def objects(self) -> list[dict]:
        return self.web.get(f"{SANDBOX}/sandbox/accounts/{self.account['id']}/files").json()

    def settle(self) -> None:
        """Waits up to half a minute until the server has nothing left to delete."""
        for _ in range(300):
            if not any(item["name"].endswith((".part", ".uploading", ".tail")) for item in self.objects()):
                return
            time.sleep(0.1)


def target(reply: requests.Response) -> str:
    """The path and query of the upload that a reply has created."""
    address = urllib.parse.urlsplit(urllib.parse.urljoin(reply.url, reply.headers["Location"]))
    return f"{address.path}?{address.query}"


class CutConnection:
    """A connection to the server that ends after a number of bytes of the body, sent as fast as possible."""

    def __init__(self, person: Person, target: str, headers: dict) -> None:
        self.request = f"{target} HTTP/1.1\r\nHost: {HOST}:{PORT}\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in {**person.headers, **headers}.items()) + "\r\n"

    def send(self, body: bytes, cut: int | None) -> tuple[int, dict, int]:
        """The status, headers, and number of body bytes sent; status 0 if the connection was cut."""
        with socket.create_connection((HOST, int(PORT)), timeout=120) as connection:
            connection.sendall(self.request.encode())
            sent = len(body) if cut is None else min(cut, len(body))
            try:
                connection.sendall(body[:sent])
            except OSError:
                pass
            if cut is not None and sent < len(body):
                # Like a phone that has lost its network: it sends and receives nothing more.
                return 0, {}, sent
            reply = http.client.HTTPResponse(connection)
            reply.begin()
            reply.read()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, sent


@dataclass
class Tally:
    uploads: int = 0
    cuts: int = 0
    sent_twice: int = 0
    most_twice: int = 0
    statuses: Counter = field(default_factory=Counter)


class CutUpload:
    """One upload with repeated connection cuts, using the headers of tus or of the draft."""

    def __init__(self, person: Person, data: bytes, words: dict, chance: random.Random, tally: Tally) -> None:
        self.person, self.data, self.words, self.chance, self.tally = person, data, words, chance, tally

    def run(self, cuts: list[int] | None = None) -> dict | None:
        """Cuts connections after the given numbers of bytes, otherwise at random; returns the last reply's headers."""
        reply = self.person.call(
            "POST", "CreateUpload", headers={**self.words, "Upload-Length": str(len(self.data))},
            **self.person.parameters(self.data, self.person.version()))
        check(reply.status_code == 201, f"CreateUpload: {reply.status_code} {reply.text}")
        if reply.status_code != 201:
            return None
        self.path = target(reply)
        position = 0
        chosen = list(cuts or [])
        number = self.chance.randrange(1, 5) if cuts is None else len(chosen)
        for _ in range(40):
            left = len(self.data) - position
            cut = None
            if number > 0 and left > 0:
                cut = min(chosen.pop(0), left - 1) if chosen else self.chance.randrange(0, left)
            number -= 1
            status, headers, sent = self.append(position, cut)
            self.tally.statuses[status] += 1
            if status in (200, 204):
                return headers
            self.tally.cuts += 1
            at = self.offset()
            if at is None:
                return None
            twice = position + sent - at
            self.tally.sent_twice += max(0, twice)
            self.tally.most_twice = max(self.tally.most_twice, twice)
            check(twice <= MOST_SENT_TWICE,
                  f"{self.person.provider}: cut at {position + sent} of {len(self.data)}, and it resumes at {at}: status {status}")
            position = at
        check(False, "an upload does not end")
        return None

    def append(self, position: int, cut: int | None) -> tuple[int, dict, int]:
        body = self.data[position:]
        kind = "application/offset+octet-stream" if "Tus-Resumable" in self.words else "application/partial-upload"
        headers = {**self.words, "Content-Length": str(len(body)), "Upload-Offset": str(position), "Content-Type": kind}
        if "Tus-Resumable" not in self.words:
            headers["Upload-Complete"] = "?1"
        return CutConnection(self.person, f"PATCH {self.path}", headers).send(body, cut)

    def offset(self) -> int | None:
        reply = self.person.web.head(SERVER + self.path, headers={**self.person.headers, **self.words})
        check(reply.status_code == 204, f"HEAD: {reply.status_code} {dict(reply.headers)}")
        return int(reply.headers["Upload-Offset"]) if reply.status_code == 204 else None


def staged(person: Person) -> set[str]:
    """The files that the person has staged."""
    return {entry["fileUUID"] for entry in person.call("GET", "GetUploads", sharingGroupUUID=person.group).json()["uploads"]}


def commit(person: Person) -> int:
    reply = person.call("POST", "DoneUploads", sharingGroupUUID=person.group, masterVersion=person.version()).json()
    return reply.get("numberUploadsTransferred", -1)


def downloaded(person: Person, file: str) -> bytes:
    reply = person.call("GET", "DownloadFile", fileUUID=file, sharingGroupUUID=person.group, fileVersion=0,
                        masterVersion=person.version())
    return reply.content if reply.status_code == 200 else b"status " + str(reply.status_code).encode()


def soon_cut_uploads(person: Person, chance: random.Random) -> None:
    """Connections that repeatedly break soon after they were opened."""
    for words in (TUS, DRAFT):
        data = chance.randbytes(1_200_000)
        upload = CutUpload(person, data, words, chance, Tally())
        cuts = [400_000, 1, 20_000, 70_000, 100_000, 130_000, 200_000]
        headers = upload.run(cuts)
        check(headers is not None and "creationDate" in json.loads(headers.get("syncserver-message-params", "{}")),
              f"{person.provider}: an upload that was cut after {cuts} bytes ends with {headers}")
    check(commit(person) == 2, f"{person.provider}: uploads with early cuts are committed")


def cut_uploads(person: Person, count: int, chance: random.Random, largest: int) -> None:
    tally = Tally()
    expected: dict[str, bytes] = {}
    for number in range(count):
        size = chance.choice([0, 1, 1000, 300_000, 2_000_000, largest])
        data = chance.randbytes(chance.randrange(size // 2, size + 1) if size else 0)
        upload = CutUpload(person, data, chance.choice([TUS, DRAFT]), chance, tally)
        before = staged(person)
        headers = upload.run()
        tally.uploads += 1
        check(headers is not None and "creationDate" in json.loads(headers.get("syncserver-message-params", "{}")),
              f"{person.provider}: upload {number} of {len(data)} bytes ends with {headers}")
        for file in staged(person) - before:
            expected[file] = data
    check(commit(person) == count, f"{person.provider}: all {count} uploads are committed")
    for file, data in expected.items():
        check(downloaded(person, file) == data, f"{person.provider}: a file of {len(data)} bytes has other bytes")
    person.settle()
    objects = [item for item in person.objects() if item["name"] != "README.txt"]
    check(len(objects) <= count + 1, f"{person.provider}: {len(objects)} objects of {count} files")
    print(f"{person.provider}: {tally.uploads} uploads, {tally.cuts} cuts, {tally.sent_twice} bytes sent again, "
          f"at most {tally.most_twice} for a cut; {dict(tally.statuses)}", flush=True)


def tuspy_uploads(person: Person, sizes: list[int], chunk: int | None, chance: random.Random) -> None:
    for size in sizes:
        data = chance.randbytes(size)
        query = urllib.parse.urlencode(person.parameters(data, person.version()))
        client = tus.TusClient(f"{SERVER}/CreateUpload?{query}", headers=person.headers)
        options = {"chunk_size": chunk} if chunk else {}
        uploader = client.uploader(file_stream=io.BytesIO(data), **options)
        try:
            uploader.upload()
            check(uploader.offset == size, f"tuspy: {size} bytes in chunks of {chunk} end at {uploader.offset}")
        except (TusCommunicationError, TusUploadFailed) as error:
            check(False, f"tuspy: {size} bytes in chunks of {chunk}: {error} {getattr(error, 'response_content', '')}")
    check(commit(person) == len(sizes), f"tuspy: {len(sizes)} files in chunks of {chunk} are committed")


async def aiotus_uploads(person: Person, sizes: list[int], chance: random.Random) -> None:
    for size in sizes:
        data = chance.randbytes(size)
        query = urllib.parse.urlencode(person.parameters(data, person.version()))
        config = aiotus.RetryConfiguration(retry_attempts=3)
        location = await aiotus.upload(
            f"{SERVER}/CreateUpload?{query}", io.BytesIO(data), config=config, headers=person.headers)
        check(location is not None, f"aiotus: {size} bytes")
    check(commit(person) == len(sizes), f"aiotus: {len(sizes)} files are committed")


def rules(person: Person) -> None:
    """Requirements of both protocols for errors and edge cases."""
    data = b"x" * 700_000
    options = person.web.options(f"{SERVER}/CreateUpload")
    check(options.status_code == 204 and options.headers.get("Tus-Version") == "1.0.0"
          and "creation" in options.headers.get("Tus-Extension", ""), f"OPTIONS: {options.status_code} {options.headers}")

    def create(**more):
        return person.call("POST", "CreateUpload", headers={**TUS, "Upload-Length": str(len(data)), **more},
                           **person.parameters(data, person.version()))

    check(create(**{"Tus-Resumable": "0.2.2"}).status_code == 412, "another version of tus is rejected")
    check(create(**{"Upload-Length": "-1"}).status_code == 400, "a negative length is rejected")
    check(create(**{"Upload-Length": str(1 << 50)}).status_code == 413, "a length beyond the limit is rejected")
    first = create()
    path = target(first)
    again = person.web.request(first.request.method, first.url, headers=first.request.headers)
    check(again.status_code == 201 and again.headers["Location"] == first.headers["Location"],
          "creating an upload twice creates only one")

    def patch(body, offset, **more):
        headers = {**TUS, "Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream", **more}
        return person.web.patch(SERVER + path, data=body, headers={**person.headers, **headers})

    wrong = patch(data, 5)
    check(wrong.status_code == 409 and wrong.headers.get("Upload-Offset") == "0",
          f"another offset is rejected: {wrong.status_code} {dict(wrong.headers)}")
    check(patch(data, 0, **{"Content-Type": "text/plain"}).status_code == 415, "another media type is rejected")
    check(patch(data + b"y", 0).status_code == 413, "more bytes than announced are rejected")
    bad = base64.b64encode(hashlib.sha1(b"other").digest()).decode()
    check(patch(data, 0, **{"Upload-Checksum": f"sha1 {bad}"}).status_code == 460, "a wrong digest is rejected")
    check(person.web.head(SERVER + path, headers={**person.headers, **TUS}).headers.get("Upload-Offset") == "0",
          "a piece with a wrong digest leaves nothing behind")
    good = base64.b64encode(hashlib.sha1(data[:524_288]).digest()).decode()
    piece = patch(data[:524_288], 0, **{"Upload-Checksum": f"sha1 {good}"})
    check(piece.status_code == 204, f"a piece with its digest is accepted: {piece.status_code} {piece.text}")
    at = int(piece.headers.get("Upload-Offset", "0"))
    other = Person(person.provider)
    check(other.web.head(SERVER + path, headers={**other.headers, **TUS}).status_code == 404,
          "another user's upload is not visible")
    check(person.web.get(SERVER + path, headers=person.headers).status_code == 405, "GET is rejected")
    last = patch(data[at:], at)
    check(last.status_code == 204 and "creationDate" in last.headers.get("syncserver-message-params", ""),
          f"the last piece stages the file: {last.status_code} {last.text}")
    repeated = patch(b"", len(data))
    check(repeated.headers.get("syncserver-message-params") == last.headers.get("syncserver-message-params"),
          "a repeated last piece has the same reply")
    check(commit(person) == 1, "the file is committed")
    gone = create()
    path = target(gone)
    patch(data[:524_288], 0)
    check(person.web.delete(SERVER + path, headers={**person.headers, **TUS}).status_code == 204,
          "an upload can be abandoned")
    check(person.web.head(SERVER + path, headers={**person.headers, **TUS}).status_code == 404,
          "an abandoned upload does not exist any longer")
    lying = create()
    path = target(lying)
    check(patch(b"z" * len(data), 0).status_code == 422, "bytes that do not match the checksum are rejected")
    check(patch(b"z" * len(data), 0).status_code == 404, "the rejected upload does not exist any longer")


def stale(person: Person) -> None:
    """If the master version changes during the upload, only the metadata are sent again."""
    data = os.urandom(900_000)
    reply = person.call("POST", "CreateUpload", headers={**DRAFT, "Upload-Length": str(len(data))},
                        **person.parameters(data, person.version()))
    path = target(reply)
    tuspy_uploads(person, [1000], None, random.Random(7))
    headers = {**person.headers, **DRAFT, "Upload-Offset": "0", "Content-Type": "application/partial-upload"}
    first = person.web.patch(SERVER + path, data=data[:600_000], headers=headers)
    if first.status_code == 200:
        version = json.loads(first.headers["syncserver-message-params"]).get("masterVersionUpdate")
        check(version == person.version(), f"a stale upload receives the version: {first.headers}")
        path += f"&masterVersion={version}"
        first = person.web.patch(SERVER + path, data=data[:600_000], headers=headers)
    at = int(first.headers["Upload-Offset"])
    tuspy_uploads(person, [1001], None, random.Random(8))
    headers["Upload-Offset"] = str(at)
    last = person.web.patch(SERVER + path, data=data[at:], headers=headers)
    params = json.loads(last.headers.get("syncserver-message-params", "{}"))
    check(last.status_code == 200 and params.get("masterVersionUpdate") == person.version(),
          f"a stale last piece receives the version: {last.status_code} {params}")
    headers["Upload-Offset"] = str(len(data))
    path = path.split("&")[0] + f"&masterVersion={params.get('masterVersionUpdate')}"
    again = person.web.patch(SERVER + path, data=b"", headers=headers)
    check("creationDate" in again.headers.get("syncserver-message-params", ""),
          f"no byte is sent again: {again.status_code} {again.headers.get('syncserver-message-params')} {again.text}")
    check(commit(person) == 1, "the file is committed")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--uploads", type=int, default=10, help="for each provider")
    parser.add_argument("--largest", type=int, default=9_000_000, help="bytes")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--providers", default="google,dropbox,microsoft")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    for provider in options.providers.split(","):
        chance = random.Random(f"{options.seed} {provider}")
        rules(Person(provider))
        stale(Person(provider))
        tuspy_uploads(Person(provider), [0, 1, 512 * 1024, 5_000_000], None, chance)
        tuspy_uploads(Person(provider), [1_000_000, 5_000_000], 700_000, chance)
        asyncio.run(aiotus_uploads(Person(provider), [1, 3_000_000], chance))
        soon_cut_uploads(Person(provider), chance)
        cut_uploads(Person(provider), options.uploads, chance, options.largest)
    print(f"{checks} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
