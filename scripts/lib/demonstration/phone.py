"""A device with the app, signed in to an account."""

import hashlib
import json
import uuid

from .web import Deviation, Reply, Website, query


def new_uuid() -> str:
    return str(uuid.uuid4()).upper()


class Phone:
    """One device of one account; stateless, so that each step shows its inputs.

    With `credentials`, the account is at a real server, which the sandbox does not know.
    """

    def __init__(self, name: str, server: Website, sandbox: Website, account: str,
                 credentials: dict[str, str] | None = None):
        self.name = name
        self.credentials = credentials
        self.server = server
        self.sandbox = sandbox
        self.account = account
        self.device = new_uuid()

    def request(self, method: str, endpoint: str, body: bytes | None = None, headers: dict[str, str] | None = None,
                **parameters) -> Reply:
        """Sends one request with the currently valid credentials, and optional headers; returns a reply of any
        status."""
        own = self.credentials or self.sandbox.json("GET", f"/sandbox/accounts/{self.account}")["headers"]
        reply = self.server.call(
            method, f"/{endpoint}/{query(parameters)}",
            {**own, "SyncServer-Device-UUID": self.device, **(headers or {})}, body)
        if "syncserver-version" not in reply.headers:
            raise Deviation(f"The reply to {endpoint} lacks the header syncserver-version.")
        return reply

    def ask(self, method: str, endpoint: str, body: bytes | None = None, status: int = 200, **parameters) -> dict:
        """Sends one request whose reply must have `status`, and returns its JSON."""
        reply = self.request(method, endpoint, body, **parameters)
        if reply.status != status:
            raise Deviation(f"{self.name}: {endpoint} returned {reply.status}: {reply.body[:300].decode()}")
        return reply.json()

    def upload(self, contents: bytes, metadata: str | None = None, **parameters) -> dict:
        nested = None
        if metadata is not None:
            nested = json.dumps({"version": 0, "contents": metadata})
        reply = self.ask(
            "POST", "UploadFile", contents, checkSum=hashlib.md5(contents).hexdigest(), appMetaData=nested,
            **parameters)
        if "masterVersionUpdate" not in reply and not {"creationDate", "updateDate"} <= reply.keys():
            raise Deviation(f"{self.name}: UploadFile's reply lacks dates: {reply}")
        return reply

    def index(self, group: str) -> dict:
        return self.ask("GET", "Index", sharingGroupUUID=group)

    def download(self, file: dict, group: str, master_version: int) -> tuple[bytes, str | None]:
        """Downloads a file of the index with its metadata, after checking its bytes against the announced checksum."""
        reply = self.request(
            "GET", "DownloadFile", fileUUID=file["fileUUID"], fileVersion=file["fileVersion"],
            masterVersion=master_version, sharingGroupUUID=group, appMetaDataVersion=file.get("appMetaDataVersion"))
        if reply.status != 200:
            raise Deviation(f"{self.name}: DownloadFile returned {reply.status}: {reply.body[:300].decode()}")
        message = reply.json()
        if message.get("checkSum") != hashlib.md5(reply.body).hexdigest():
            raise Deviation(f"{self.name}: the bytes do not have the announced checksum: {message}")
        return reply.body, message.get("appMetaData")
