"""People with storage: at a provider that the sandbox emulates, or in a bucket of a real server."""

import json
import secrets

from .bucket import NAME, REGION
from .calls import S3_HOST


class Sandboxed:
    """A person with an account of the sandbox (docs/sandbox.md)."""

    def __init__(self, stage, provider: str):
        self.stage, self.provider = stage, provider
        account = stage.sandbox.json("POST", "/sandbox/accounts", {"provider": provider, "name": "Alice"})
        self.id = account["id"]
        self.headers = account["headers"]

    def sign_in_again(self) -> None:
        """Asks the person for consent again."""
        if self.provider != "webdav":  # There, a new app password replaces an invalid one.
            self.stage.change_account(self.id, "expire-access-token", which="device")
            self.stage.change_account(self.id, "new-authorization-code",
                                      **({"prompt": "consent"} if self.provider == "google" else {}))
        self.headers = self._present_headers()

    def has_other_credentials(self) -> bool:
        """Whether the server needs new credentials, because a Nextcloud's app password was withdrawn and replaced."""
        return self.provider == "webdav" and self._present_headers() != self.headers

    def _present_headers(self) -> dict[str, str]:
        return self.stage.sandbox.json("GET", f"/sandbox/accounts/{self.id}")["headers"]

    def revoke(self) -> None:
        """Revokes the app's rights."""
        # With Nextcloud, the server uses the app password of the person's device.
        self.stage.change_account(self.id, "revoke", which="device" if self.provider == "webdav" else "server")

    def expire_token(self) -> None:
        self.stage.change_account(self.id, "expire-access-token", which="server")

    def stored(self) -> list[tuple[str, int]]:
        """Names and sizes of the objects in the app's folder."""
        files = self.stage.sandbox.json("GET", f"/sandbox/accounts/{self.id}/files")
        return [(file["name"], file["size"]) for file in files]

    def replace(self, name: str, contents: bytes) -> None:
        self.stage.change_file(self.id, "PUT", name, contents)

    def remove(self, name: str) -> None:
        self.stage.change_file(self.id, "DELETE", name)

    def clear_up(self) -> None:
        """Removes remains of earlier cells, for which the next one would be blamed."""

    def leave(self) -> None:
        """Ends the use of this person."""


class BucketOwner:
    """A person with an access key to a part of a bucket."""

    def __init__(self, stage):
        self.bucket = stage.bucket
        self.id = secrets.token_hex(12)
        self.prefix = self.id + "/"
        self.key = ""
        self.headers: dict[str, str] = {}
        self.sign_in_again()

    def sign_in_again(self) -> None:
        """Uses a new key. The previous one still works, unless it was withdrawn."""
        self.key, secret = "AK" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30)
        self.bucket.admit(self.key, secret)
        details = {"address": f"https://{S3_HOST}/", "region": REGION, "bucket": NAME, "accessKeyID": self.key,
                   "prefix": self.id}
        self.headers = {
            "X-token-type": "S3Token", "access_token": secret, "X-account-details": json.dumps(details)}

    def has_other_credentials(self) -> bool:
        return self.key in self.bucket.withdrawn

    def revoke(self) -> None:
        self.bucket.withdraw(self.key)

    def stored(self) -> list[tuple[str, int]]:
        return self.bucket.objects(self.prefix) + [
            ("an unfinished upload", 0) for _ in range(self.bucket.unfinished(self.prefix))]

    def replace(self, name: str, contents: bytes) -> None:
        self.bucket.call("PUT", f"/{self.prefix}{name}", contents)

    def remove(self, name: str) -> None:
        self.bucket.call("DELETE", f"/{self.prefix}{name}")

    def clear_up(self) -> None:
        self.bucket.abort_without_parts(self.prefix)

    def leave(self) -> None:
        """moto keeps objects in memory."""
        for name, _ in self.bucket.objects(self.prefix):
            self.remove(name)
