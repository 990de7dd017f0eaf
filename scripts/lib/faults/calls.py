"""Calls to the providers, as the relay sees them, and their replies."""

from dataclasses import dataclass, field
from urllib.parse import parse_qs

PROVIDERS = ("google", "dropbox", "microsoft", "webdav", "s3")
S3_HOST = "s3.sandbox.test"
# The provider of each host; credentials must not go to any other host.
HOSTS = {
    "accounts.google.com": "google", "oauth2.googleapis.com": "google", "openidconnect.googleapis.com": "google",
    "www.googleapis.com": "google",
    "api.dropboxapi.com": "dropbox", "content.dropboxapi.com": "dropbox",
    "ucsandbox.dl.dropboxusercontent.com": "dropbox",
    "graph.microsoft.com": "microsoft", "login.microsoftonline.com": "microsoft",
    "my.microsoftpersonalcontent.com": "microsoft", "api.onedrive.com": "microsoft",
    "nextcloud.sandbox.test": "webdav", S3_HOST: "s3",
}
# Where Nextcloud keeps the chunks of an upload until they are assembled.
DAV_UPLOADS, DAV_FILES = "/remote.php/dav/uploads/", "/remote.php/dav/files/"


@dataclass
class Call:
    """A request to a provider."""

    method: str
    host: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def provider(self) -> str:
        return HOSTS.get(self.host, "")

    @property
    def is_for_tokens(self) -> bool:
        """Exchanges a code, renews an access token, or obtains one on behalf of a user."""
        return self.method == "POST" and (
            (self.host, self.path) in (("oauth2.googleapis.com", "/token"), ("api.dropboxapi.com", "/oauth2/token"))
            or self.host == "login.microsoftonline.com")

    @property
    def renews(self) -> bool:
        return self.is_for_tokens and b"grant_type=refresh_token" in self.body

    @property
    def code(self) -> str:
        """The authorization code to exchange; empty for other calls."""
        return parse_qs(self.body.decode("latin-1")).get("code", [""])[0] if self.is_for_tokens else ""

    @property
    def is_of_session(self) -> bool:
        """Concerns an existing upload session."""
        return ("upload_id=" in self.target or self.host in ("my.microsoftpersonalcontent.com", "api.onedrive.com")
                or self.path.startswith(("/2/files/upload_session/append", "/2/files/upload_session/finish"))
                or self.path.startswith(DAV_UPLOADS) and self.method in ("PUT", "MOVE")
                or self.provider == "s3" and "uploadId=" in self.target and self.method in ("PUT", "POST"))

    @property
    def is_upload(self) -> bool:
        """Announces or contains content."""
        return (self.path.startswith(("/upload/drive/", "/2/files/upload"))
                or self.host == "graph.microsoft.com" and (
                    self.path.endswith("/createUploadSession") or self.method == "PUT")
                or self.host == "my.microsoftpersonalcontent.com" and self.method == "PUT"
                or self.provider == "webdav" and self.method == "PUT"
                or self.provider == "s3" and self.method in ("PUT", "POST"))

    @property
    def is_download(self) -> bool:
        return (self.method == "GET" and ("alt=media" in self.target or self.path.endswith("/content")
                                          or self.host == "my.microsoftpersonalcontent.com"
                                          or self.path.startswith(DAV_FILES) or self.is_of_object)
                or self.path == "/2/files/download")

    @property
    def is_of_object(self) -> bool:
        """Concerns an object of S3, not a multipart upload."""
        return self.provider == "s3" and "?" not in self.target

    @property
    def completes_parts(self) -> bool:
        """CompleteMultipartUpload of S3, whose reply may begin with 200 and end with an error."""
        return self.provider == "s3" and self.method == "POST" and "uploadId=" in self.target

    @property
    def asks_for_xml(self) -> bool:
        """The reply is a multistatus (RFC 4918, section 13), or S3's description of its objects or actions."""
        return (self.method in ("PROPFIND", "SEARCH", "REPORT")
                or self.provider == "s3" and self.method in ("GET", "POST") and not self.is_of_object)

    @property
    def proves_password(self) -> bool:
        """Signs in with only a password, which is not retried for a while after a rejection."""
        return self.method == "PROPFIND" and self.path.startswith(DAV_FILES) and self.path.count("/") == 5

    @property
    def describes_itself(self) -> str:
        """Method, host and the part of the path without identifiers, for people."""
        return f"{self.method} {self.host}{self.path[:80]}"


@dataclass
class Answer:
    """A complete reply of a provider."""

    status: int
    reason: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def is_json(self) -> bool:
        return "json" in self.header("content-type") and self.body[:1] in (b"{", b"[")

    @property
    def is_xml(self) -> bool:
        return "xml" in self.header("content-type") and self.body[:1] == b"<"

    def head(self, length: int | None = None) -> bytes:
        """Status line and headers; `length` replaces that of the body, and -1 leaves it out."""
        lines = [f"HTTP/1.1 {self.status} {self.reason or 'Status'}"]
        lines += [f"{name}: {value}" for name, value in self.headers
                  if name.lower() not in ("content-length", "transfer-encoding", "connection", "keep-alive")]
        if length != -1 and self.status not in (204, 304):
            lines.append(f"Content-Length: {len(self.body) if length is None else length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
