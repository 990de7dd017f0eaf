"""A browser on the sandbox's consent page for access to a storage, which stands in for the providers' pages."""

import html
import http.client
import re
import socket
import ssl
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

SANDBOX = ("127.0.0.1", 9443)
MOST_STEPS = 10


def agree(address: str, account: str, authority: Path) -> str:
    """Grants consent as an account of the sandbox; returns the redirect's target, or the final page."""
    form: bytes | None = None
    for _ in range(MOST_STEPS):
        parts = urlsplit(address)
        if parts.scheme != "https":
            return address
        connection = http.client.HTTPSConnection(parts.hostname)
        connection.sock = ssl.create_default_context(cafile=str(authority)).wrap_socket(
            socket.create_connection(SANDBOX), server_hostname=parts.hostname)
        connection.request(
            "GET" if form is None else "POST", f"{parts.path}?{parts.query}", form,
            {"Content-Type": "application/x-www-form-urlencoded"} if form else {})
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        form = None
        if reply.headers["Location"]:
            address = urljoin(address, reply.headers["Location"])
        elif action := re.search(r'<form method=post action="([^"]*)">', body):
            address = urljoin(address, html.unescape(action[1]))
            form = urlencode({"account": account, "decision": "allow"}).encode()
        else:
            return body
    raise AssertionError(f"Too many redirects, the last to {address}")
