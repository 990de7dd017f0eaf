"""HTTP as the app's client uses it, over TLS with the stack's own authority."""

import http.client
import json
import ssl
from urllib.parse import quote, urlsplit

# The characters that the client leaves unchanged in "key=value"; all others are percent-encoded as UTF-8.
LITERAL = "!$&'()*+,-.;=_~"
SECONDS = 60.0


class Deviation(Exception):
    """A deviation from the expected behaviour, as a sentence for the reader."""


class Reply:
    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        """The reply's object: from the header if the body is a file, otherwise from the body."""
        try:
            return json.loads(self.headers.get("syncserver-message-params") or self.body)
        except ValueError:
            raise Deviation(f"The reply is not JSON: {self.body[:200]!r}") from None


class Website:
    """One base URL; each call uses a new connection."""

    def __init__(self, url: str, ca_file: str | None = None):
        self.parts = urlsplit(url)
        self.context = ssl.create_default_context(cafile=ca_file) if self.parts.scheme == "https" else None

    def call(self, method: str, path: str, headers: dict | None = None, body: bytes | None = None) -> Reply:
        host, port = self.parts.hostname, self.parts.port
        if self.context is not None:
            connection = http.client.HTTPSConnection(host, port, timeout=SECONDS, context=self.context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
        try:
            connection.request(method, self.parts.path + path, body=body, headers=headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, reply.headers, reply.read())
        except OSError as error:
            raise Deviation(f"{method} {self.parts.netloc}{path.partition('?')[0]}: {error}") from None
        finally:
            connection.close()

    def json(self, method: str, path: str, value: dict | None = None):
        """Calls the sandbox's control interface; the reply must be a success."""
        headers = {} if value is None else {"Content-Type": "application/json"}
        reply = self.call(method, path, headers, None if value is None else json.dumps(value).encode())
        if not 200 <= reply.status < 300:
            raise Deviation(f"The sandbox replied {reply.status} to {method} {path}: {reply.body[:300]!r}")
        return reply.json()


def query(parameters: dict) -> str:
    """Parameters as the client writes them: sorted by name, without those that have no value."""
    pairs = sorted((name, value) for name, value in parameters.items() if value is not None)
    text = "&".join(quote(f"{name}={value}", safe=LITERAL) for name, value in pairs)
    return "?" + text if text else ""
