"""The emulated Drive as seen by a person's own program, through nginx alone."""

import json
from functools import cached_property

from demonstration.web import Reply, Website

from .bench_stack import BenchStack
from .load import LoadError
from .people import Person

# The fields of a new file that syncd requests from Drive (DriveFile.fields); the sandbox computes a hash only on
# request.
FIELDS = "id,name,size,md5Checksum,sha256Checksum,headRevisionId,trashed,mimeType,createdTime"


class Drive:
    """One person's Drive."""

    def __init__(self, stack: BenchStack, person: Person):
        self.stack, self.person = stack, person

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.person.access_token}"}

    @cached_property
    def _website(self) -> Website:
        return Website(self.stack.proxy_url, self.stack.environment["CA_FILE"])

    def begin_upload(self, name: str, size: int) -> str:
        """Returns the path of a resumable session, which accepts the bytes by PUT."""
        reply = self._website.call(
            "POST", f"/upload/drive/v3/files?uploadType=resumable&fields={FIELDS}",
            {**self.authorization, "Content-Type": "application/json", "X-Upload-Content-Length": str(size)},
            json.dumps({"name": name}).encode())
        if reply.status != 200:
            raise LoadError(f"The sandbox started no upload session: {reply.status} {reply.body[:300]!r}")
        return "/" + reply.headers["Location"].partition("://")[2].partition("/")[2]

    def abandon_upload(self, path: str) -> None:
        """Cancels the session; Drive replies 499."""
        self._website.call("DELETE", path, self.authorization)

    def describe(self, object_id: str, fields: str) -> Reply:
        return self._website.call("GET", f"/drive/v3/files/{object_id}?fields={fields}", self.authorization)

    def remove(self, name: str) -> None:
        """Frees space in the cloud."""
        reply = self.stack.sandbox.call("DELETE", f"/sandbox/accounts/{self.person.account}/files/{name}")
        if reply.status >= 300:
            raise LoadError(f"The sandbox did not delete {name}: {reply.status}")
