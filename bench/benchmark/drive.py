"""The emulated Drive as a person's own program sees it, through nginx alone."""

import json
from functools import cached_property

from demonstration.web import Reply, Website

from .bench_stack import BenchStack
from .load import LoadError
from .people import Person

# What syncd asks Drive to say of a new file (DriveFile.fields); the sandbox computes a hash only if it is asked for it.
FIELDS = "id,name,size,md5Checksum,sha256Checksum,headRevisionId,trashed,mimeType,createdTime"


class Drive:
    """One person's."""

    def __init__(self, stack: BenchStack, person: Person):
        self.stack, self.person = stack, person

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.person.access_token}"}

    @cached_property
    def _website(self) -> Website:
        return Website(self.stack.proxy_url, self.stack.environment["CA_FILE"])

    def begin_upload(self, name: str, size: int) -> str:
        """Returns the path of a resumable session, which takes the bytes by PUT."""
        reply = self._website.call(
            "POST", f"/upload/drive/v3/files?uploadType=resumable&fields={FIELDS}",
            {**self.authorization, "Content-Type": "application/json", "X-Upload-Content-Length": str(size)},
            json.dumps({"name": name}).encode())
        if reply.status != 200:
            raise LoadError(f"The sandbox starts no upload session: {reply.status} {reply.body[:300]!r}")
        return "/" + reply.headers["Location"].partition("://")[2].partition("/")[2]

    def abandon_upload(self, path: str) -> None:
        """Drive answers 499 to that."""
        self._website.call("DELETE", path, self.authorization)

    def describe(self, object_id: str, fields: str) -> Reply:
        return self._website.call("GET", f"/drive/v3/files/{object_id}?fields={fields}", self.authorization)

    def remove(self, name: str) -> None:
        """Makes room in the cloud."""
        reply = self.stack.sandbox.call("DELETE", f"/sandbox/accounts/{self.person.account}/files/{name}")
        if reply.status >= 300:
            raise LoadError(f"The sandbox does not delete {name}: {reply.status}")
