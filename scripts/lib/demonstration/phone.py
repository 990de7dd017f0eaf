"""A device with the app on it, signed in as somebody."""

import hashlib
import json
import uuid

from .web import Deviation, Reply, Website, query


def new_uuid() -> str:
    return str(uuid.uuid4()).upper()


class Phone:
    """One device of one account; remembers nothing, so that each step shows what it needs.

    With `credentials`, the account is one at a real server, which the sandbox does not know.
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
        """Sends one request with the credentials that are valid now, and perhaps more headers; any status comes back."""
        own = self.credentials or self.sandbox.json("GET", f"/sandbox/accounts/{self.account}")["headers"]
        reply = self.server.call(
            method, f"/{endpoint}/{query(parameters)}",
            {**own, "SyncServer-Device-UUID": self.device, **(headers or {})}, body)
        if "syncserver-version" not in reply.headers:
            raise Deviation(f"The reply to {endpoint} lacks the header syncserver-version.")
        return reply

    def ask(self, method: str, endpoint: str, body: bytes | None = None, status: int = 200, **parameters) -> dict:
        """Sends one request that has to be answered with `status`, and returns the JSON of its reply."""
        reply = self.request(method, endpoint, body, **parameters)
        if reply.status != status:
            raise Deviation(f"{self.name}: {endpoint} is answered with {reply.status}: {reply.body[:300].decode()}")
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
        """A file as the index lists it, and its metadata, once the bytes fit the checksum announced before them."""
        reply = self.request(
            "GET", "DownloadFile", fileUUID=file["fileUUID"], fileVersion=file["fileVersion"],
            masterVersion=master_version, sharingGroupUUID=group, appMetaDataVersion=file.get("appMetaDataVersion"))
        if reply.status != 200:
            raise Deviation(f"{self.name}: DownloadFile is answered with {reply.status}: {reply.body[:300].decode()}")
        message = reply.json()
        if message.get("checkSum") != hashlib.md5(reply.body).hexdigest():
            raise Deviation(f"{self.name}: the bytes do not have the checksum that was announced: {message}")
        return reply.body, message.get("appMetaData")
