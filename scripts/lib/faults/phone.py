"""A phone that repeats temporary failures, as the app does, and its person's storage."""

import json
import time

from demonstration.check_sums import check_sum
from demonstration.phone import new_uuid
from demonstration.web import Deviation, Reply, query

from .people import BucketOwner, Sandboxed
from .stage import Stage

ATTEMPTS = 5
PAUSE_SECONDS = 0.2
# The server's longest pause, even if a provider requests an hour.
LONGEST_PAUSE_SECONDS = 66
WARNING_FILE = "README.txt"
REVOKED = "authTokenExpiredOrRevoked"
CODE_REJECTED = "authorization_code_rejected"
# The first attempt failed, and the jobs role is removing its possible remains.
UPLOAD_CONFLICT = "upload_conflict"
# S3's errors about rights and buckets: its owner has to check.
STORAGE_STATES = ("storage_permission_missing", "storage_unusable")
# 401: the token is not accepted; 409: the code may have been used already; 410: the rights were revoked; 507: the
# storage is full. The server must handle everything else, or make it retryable.
EXPECTED = {200, 401, 410, 429, 502, 503, 504, 507}


class Finding(Exception):
    """A violated expectation, as a sentence for the reader."""


def is_version(name: str, uuid: str, version: int) -> bool:
    """Whether an object has that name in the storage: the second attempt at an upload appends `~` and digits to the
    version."""
    parts = name.split(".")
    return len(parts) == 4 and parts[0] == uuid and parts[2].partition("~")[0] == str(version)


class Phone:
    """One device of a person with storage."""

    def __init__(self, stage: Stage, provider: str):
        self.stage, self.provider = stage, provider
        self.person = BucketOwner(stage) if provider == "s3" else Sandboxed(stage, provider)
        self.device, self.group = new_uuid(), new_uuid()
        self.user_id = 0
        # Committed files that were not deleted: UUID -> version and contents.
        self.live: dict[str, tuple[int, bytes]] = {}
        # Those of them that the person has changed in their storage.
        self.changed: set[str] = set()
        # For the current operation.
        self.requests = self.repetitions = self.sign_ins = self.hastened = 0
        self.seen: list[str] = []

    def begin(self) -> None:
        """Begins a new operation: counts from 0."""
        self.requests = self.repetitions = self.sign_ins = self.hastened = 0
        self.seen = []

    def sign_in_again(self) -> None:
        """Signs the person in again, with a new consent."""
        self.sign_ins += 1
        self.person.sign_in_again()
        if self.user_id:
            self.once("GET", "CheckCreds")

    def once(self, method: str, endpoint: str, body: bytes | None = None, **parameters) -> Reply | None:
        """Sends one request; `None` if the reply does not arrive completely."""
        self.requests += 1
        headers = dict(self.person.headers) | {"SyncServer-Device-UUID": self.device}
        try:
            reply = self.stage.server.call(method, f"/{endpoint}/{query(parameters)}", headers, body)
        except Exception as error:  # pylint: disable=broad-except  http.client.IncompleteRead, among others
            if not isinstance(error, Deviation) and type(error).__module__ != "http.client":
                raise
            self.seen.append(f"{endpoint}: cut")
            return None
        code = reply.headers.get("syncserver-error-code", "")
        self.seen.append(f"{endpoint}: {reply.status} {code}".strip())
        # A newcomer receives the error that no WebDAV server is at their address; the person retries.
        is_hint = endpoint == "AddUser" and self.provider == "webdav" and code == "malformed_header"
        is_state = self.provider == "s3" and code in STORAGE_STATES
        is_expected = reply.status in EXPECTED or code in (CODE_REJECTED, UPLOAD_CONFLICT)
        if not is_expected and not is_hint and not is_state:
            raise Finding(f"{endpoint} returned {reply.status}: {reply.body[:300].decode('utf-8', 'replace')}")
        return reply

    def ask(self, method: str, endpoint: str, body: bytes | None = None, **parameters) -> Reply:
        """Sends a request that must succeed eventually, after repetitions and another sign-in."""
        for attempt in range(ATTEMPTS):
            reply = self.once(method, endpoint, body, **parameters)
            if reply is not None and reply.status == 200 and not self._is_revoked(reply):
                return reply
            self.repetitions += 1
            code = reply.headers.get("syncserver-error-code", "") if reply is not None else ""
            if reply is not None and (
                    reply.status in (401, 410) or code == CODE_REJECTED or self._is_revoked(reply)):
                self.sign_in_again()
            elif reply is not None and (told := reply.headers.get("retry-after")):
                if int(told) > LONGEST_PAUSE_SECONDS:
                    raise Finding(f"{endpoint} must be repeated after {told} s")
                time.sleep(int(told))
            elif attempt > 0:
                time.sleep(PAUSE_SECONDS)
        raise Finding(f"{endpoint} does not succeed: {self.seen}")

    @staticmethod
    def _is_revoked(reply: Reply) -> bool:
        parameters = reply.headers.get("syncserver-message-params")
        return parameters is not None and json.loads(parameters).get("gone") == REVOKED

    def sign_up(self) -> None:
        reply = self.ask("POST", "AddUser", sharingGroupUUID=self.group,
                         cloudFolderName="Faults" if self.provider in ("google", "webdav") else None)
        self.user_id = reply.json()["userId"]

    def master_version(self) -> int:
        return self.ask("GET", "Index", sharingGroupUUID=self.group).json()["masterVersion"]

    def upload(self, uuid: str, version: int, contents: bytes, master_version: int) -> None:
        self.ask("POST", "UploadFile", contents, fileUUID=uuid, sharingGroupUUID=self.group, mimeType="image/jpeg",
                 fileVersion=version, masterVersion=master_version, checkSum=check_sum(self.provider, contents))

    def commit(self, master_version: int) -> None:
        """A repeated commit reports that the group has changed: this phone has changed it."""
        reply = self.ask("POST", "DoneUploads", masterVersion=master_version, sharingGroupUUID=self.group).json()
        if reply.get("numberUploadsTransferred") != 1 and reply.get("masterVersionUpdate") != master_version + 1:
            raise Finding(f"the commit returned {reply}")

    def publish(self, uuid: str, version: int, contents: bytes) -> None:
        master_version = self.master_version()
        self.upload(uuid, version, contents, master_version)
        self.commit(master_version)
        self.live[uuid] = (version, contents)

    def delete(self, uuid: str) -> None:
        master_version = self.master_version()
        self.ask("DELETE", "UploadDeletion", fileUUID=uuid, fileVersion=self.live[uuid][0],
                 masterVersion=master_version, sharingGroupUUID=self.group)
        self.commit(master_version)
        del self.live[uuid]

    def download(self, uuid: str) -> Reply:
        """Downloads the complete file; the caller checks its bytes."""
        version = self.live[uuid][0]
        return self.ask("GET", "DownloadFile", fileUUID=uuid, fileVersion=version,
                        masterVersion=self.master_version(), sharingGroupUUID=self.group)

    def expect_download(self, uuid: str) -> None:
        reply = self.download(uuid)
        contents = self.live[uuid][1]
        if reply.body != contents:
            raise Finding(f"a download of {len(contents)} bytes has {len(reply.body)} others: {self.seen}, "
                          f"{reply.headers.get('syncserver-message-params')}")
        message = reply.json()
        if (message.get("contentsChanged") is not (uuid in self.changed)
                or message.get("checkSum") != check_sum(self.provider, contents)):
            raise Finding(f"a download returned {message}")

    def stored(self) -> dict[str, int]:
        """The objects in the app's folder: names and sizes."""
        files = self.person.stored()
        if len(dict(files)) != len(files):
            raise Finding(f"objects with the same name: {sorted(files)}")
        return dict(files)

    def work(self) -> list[list[str]]:
        """The outbox's rows: the kind of work, whether it was postponed, and why."""
        rows = self.stage.sql(f"""
            SELECT kind, lease_owner IS NULL AND available_at > UTC_TIMESTAMP(), COALESCE(last_error, '') FROM outbox
             WHERE user_id = {self.user_id}""")
        return [row.split("\t") for row in rows.splitlines()]

    def hasten_work(self) -> None:
        """Makes postponed work due, which may have been postponed for a day."""
        self.hastened += 1
        self.stage.sql(f"""
            UPDATE outbox SET available_at = UTC_TIMESTAMP() WHERE user_id = {self.user_id} AND lease_owner IS NULL""")

    def missing_and_excess(self) -> list[str]:
        """The differences between the storage and the live versions and the warning file."""
        stored = self.stored()
        differences = []
        for uuid, (version, contents) in self.live.items():
            names = [name for name in stored if is_version(name, uuid, version)]
            if len(names) != 1 or stored[names[0]] != len(contents):
                differences.append(f"version {version} of {uuid} is stored as {names}")
            for name in names[:1]:
                del stored[name]
        if stored.pop(WARNING_FILE, None) is None:
            differences.append("the warning file is missing")
        return differences + [f"{name} besides" for name in stored]
