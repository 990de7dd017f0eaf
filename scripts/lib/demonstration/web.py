"""HTTP as the client of the app speaks it, over TLS with the stack's own authority."""

import http.client
import json
import ssl
from urllib.parse import quote, urlsplit

# What the client leaves as it is in "key=value"; all else is percent-encoded as UTF-8.
LITERAL = "!$&'()*+,-.;=_~"
SECONDS = 60.0


class Deviation(Exception):
    """Something did not go as it must; a sentence for the reader."""


class Reply:
    def __init__(self, status: int, headers: http.client.HTTPMessage, body: bytes):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        """The reply's object: from the header where the body is a file, else from the body."""
        try:
            return json.loads(self.headers.get("syncserver-message-params") or self.body)
        except ValueError:
            raise Deviation(f"The reply is no JSON: {self.body[:200]!r}") from None


class Website:
    """One base URL; each call is a connection of its own."""

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
        """A call to the sandbox's control interface, whose answer has to be a success."""
        headers = {} if value is None else {"Content-Type": "application/json"}
        reply = self.call(method, path, headers, None if value is None else json.dumps(value).encode())
        if not 200 <= reply.status < 300:
            raise Deviation(f"The sandbox answers {reply.status} to {method} {path}: {reply.body[:300]!r}")
        return reply.json()


def query(parameters: dict) -> str:
    """Parameters as the client writes them: sorted by name, those without a value left out."""
    pairs = sorted((name, value) for name, value in parameters.items() if value is not None)
    text = "&".join(quote(f"{name}={value}", safe=LITERAL) for name, value in pairs)
    return "?" + text if text else ""
