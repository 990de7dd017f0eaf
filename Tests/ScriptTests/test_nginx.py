"""nginx with our include files: what it answers by itself, and what it passes on.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests

A few lines of FastCGI stand in for syncd and answer with the parameters that they got.
"""

import http.client
import json
import socket
import socketserver
import ssl
import struct
import sys
import tempfile
import threading
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from syncstack import certificates  # noqa: E402
from syncstack.layout import Layout  # noqa: E402
from syncstack.webserver import WebServer  # noqa: E402

VERSION = (REPOSITORY / "VERSION").read_text(encoding="ascii").strip()
PARAMS, STDIN, STDOUT, END_REQUEST = 4, 5, 6, 3  # record types of the FastCGI specification, section 8


class Responder(socketserver.StreamRequestHandler):
    """One FastCGI request: reads all of it, answers with its parameters and the length of its body as JSON."""

    def handle(self) -> None:
        block, body_bytes = b"", 0
        while True:
            header = self.rfile.read(8)
            if len(header) < 8:
                return
            _, kind, _, length, padding, _ = struct.unpack("!BBHHBB", header)
            content = self.rfile.read(length + padding)[:length]
            if kind == PARAMS:
                block += content
            if kind == STDIN:
                body_bytes += length
                if length == 0:
                    break
        reply = json.dumps({"parameters": dict(pairs(block)), "bodyBytes": body_bytes})
        head = f"Status: 200 OK\r\nContent-Type: application/json\r\nsyncserver-version: {VERSION}\r\n\r\n"
        text = (head + reply).encode()
        for start in range(0, len(text), 60000):
            self.send(STDOUT, text[start:start + 60000])
        self.send(STDOUT, b"")
        self.send(END_REQUEST, bytes(8))

    def send(self, kind: int, content: bytes) -> None:
        self.wfile.write(struct.pack("!BBHHBB", 1, kind, 1, len(content), 0, 0) + content)


class ResponderServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def pairs(block: bytes):
    """The name-value pairs of a parameter block (FastCGI specification, section 3.4)."""
    position = 0

    def length() -> int:
        nonlocal position
        size = 1 if block[position] < 128 else 4
        position += size
        return int.from_bytes(block[position - size:position], "big") & (0x7F if size == 1 else 0x7FFFFFFF)

    while position < len(block):
        sizes = length(), length()
        name = block[position:position + sizes[0]].decode()
        yield name, block[position + sizes[0]:position + sum(sizes)].decode("latin-1")
        position += sum(sizes)


class WebServerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.layout = Layout(folder.name)
        cls.layout.create()
        certificates.prepare(cls.layout)
        for path in (cls.layout.api_socket, cls.layout.transfer_socket):
            server = ResponderServer(str(path), Responder)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            cls.addClassCleanup(server.server_close)
            cls.addClassCleanup(server.shutdown)
        web_server = WebServer(cls.layout)
        cls.addClassCleanup(web_server.down)
        settings: dict = {}
        web_server.up(settings, None)
        cls.ports = settings["ports"]

    def request(self, method: str, target: str, body: bytes | None = None, headers: dict | None = None):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["http"], timeout=20)
        self.addCleanup(connection.close)
        connection.request(method, target, body, headers or {})
        reply = connection.getresponse()
        return reply, reply.read()

    def expect_error(self, reply, body: bytes, status: int, code: str) -> None:
        self.assertEqual(reply.status, status, body)
        self.assertEqual(reply.headers.get_all("syncserver-version"), [VERSION])
        self.assertEqual(reply.headers["syncserver-error-code"], code)
        self.assertEqual(reply.headers["Content-Type"], "application/json")
        self.assertEqual(json.loads(body)["code"], code)
        self.assertEqual(json.loads(body)["status"], status)
        self.assertTrue(json.loads(body)["title"])
        self.assertLess(len(body), 1024)

    def test_only_the_protocol_s_headers_are_passed_on(self) -> None:
        sent = {"access_token": "a", "X-token-type": "b", "SyncServer-Device-UUID": "c", "X-account-id": "d",
                "SyncServer-authorization-code": "e", "X-account-details": "f", "X-microsoft-access-token": "g",
                "If-None-Match": '"h"', "Accept": "i",
                "Cookie": "no", "X-Other": "no", "Proxy": "no"}

        _, body = self.request("PATCH", "/Some%20Path/?b=1+2%20&a=%2F", headers=sent)

        parameters = json.loads(body)["parameters"]
        self.assertEqual({name: value for name, value in parameters.items() if name.startswith("HTTP_")}, {
            "HTTP_ACCESS_TOKEN": "a", "HTTP_X_TOKEN_TYPE": "b", "HTTP_SYNCSERVER_DEVICE_UUID": "c",
            "HTTP_X_ACCOUNT_ID": "d", "HTTP_SYNCSERVER_AUTHORIZATION_CODE": "e", "HTTP_X_ACCOUNT_DETAILS": "f",
            "HTTP_X_MICROSOFT_ACCESS_TOKEN": "g",
            "HTTP_IF_NONE_MATCH": '"h"', "HTTP_ACCEPT": "i"})
        self.assertEqual(parameters["REQUEST_METHOD"], "PATCH")
        self.assertEqual(parameters["QUERY_STRING"], "b=1+2%20&a=%2F")
        self.assertEqual(parameters["DOCUMENT_URI"], "/Some Path/")
        self.assertRegex(parameters["REQUEST_ID"], "^[0-9a-f]{32}$")

    def test_nearly_60_000_bytes_of_query_and_headers_arrive(self) -> None:
        query = "a=" + "x" * 29_000

        reply, body = self.request("GET", f"/Index/?{query}", headers={"access_token": "y" * 30_900})

        self.assertEqual(reply.status, 200)
        self.assertEqual(json.loads(body)["parameters"]["QUERY_STRING"], query)

    def test_longer_requests_get_414_everywhere(self) -> None:
        for path in ("/Index/", "/UploadFile", "/UploadFile/", "/DownloadFile/"):
            for length in (60_001, 70_000, 126_000, 140_000, 400_000):
                with self.subTest(path=path, length=length):
                    self.expect_error(*self.request("GET", f"{path}?a={'x' * length}"), 414, "request_too_long")

    def test_long_headers_get_414(self) -> None:
        for length in (60_001, 140_000):
            with self.subTest(length=length):
                reply = self.request("GET", "/Index/", headers={"access_token": "x" * length})
                self.expect_error(*reply, 414, "request_too_long")

    def test_bodies_have_a_limit_for_each_location(self) -> None:
        for path in ("/Index/", "/DownloadFile/", "/UploadFil/"):
            with self.subTest(path=path):
                self.expect_error(*self.request("POST", path, bytes(65_537)), 413, "body_too_large")
        for path in ("/UploadAppMetaData", "/UploadAppMetaData/"):
            self.assertEqual(self.request("POST", path, bytes(524_288))[0].status, 200)
            self.expect_error(*self.request("POST", path, bytes(524_289)), 413, "body_too_large")
        reply = self.request("POST", "/UploadFile/", headers={"Content-Length": "5368709121"})
        self.expect_error(*reply, 413, "body_too_large")

    def test_uploads_stream_to_the_transfer_role(self) -> None:
        for path in ("/UploadFile", "/UploadFile/"):
            reply, body = self.request("POST", path, bytes(3_000_000))

            self.assertEqual(reply.status, 200)
            self.assertEqual(json.loads(body)["bodyBytes"], 3_000_000)
            self.assertEqual(reply.headers.get_all("syncserver-version"), [VERSION])

    def test_what_is_no_http_gets_400_in_json(self) -> None:
        address = ("127.0.0.1", self.ports["http"])
        for line in (b"GARBAGE", b"GET /%zz HTTP/1.1\r\nHost: a", b"GET / HTTP/1.1\r\nHost: a b"):
            request = line + b"\r\n\r\n"
            with self.subTest(request=request), socket.create_connection(address, 20) as connection:
                connection.sendall(request)
                reply = http.client.HTTPResponse(connection)
                reply.begin()
                self.expect_error(reply, reply.read(), 400, "bad_request")

    def test_the_internal_location_is_not_served(self) -> None:
        self.expect_error(*self.request("GET", "/syncd-error"), 404, "not_found")

    def test_without_a_responder_the_answer_is_502(self) -> None:
        hidden = self.layout.api_socket.with_suffix(".hidden")
        self.layout.api_socket.rename(hidden)
        try:
            self.expect_error(*self.request("GET", "/HealthCheck/"), 502, "server_unavailable")
        finally:
            hidden.rename(self.layout.api_socket)

    def test_long_queries_get_414_by_http_2_too(self) -> None:
        """By hand, as libraries refuse to send so much: frames of RFC 9113, header fields of RFC 7541, 6.2.2."""
        context = ssl.create_default_context(cafile=str(self.layout.ca_file))
        context.set_alpn_protocols(["h2"])
        fields = b"".join(
            b"\0" + prefixed(len(name)) + name + prefixed(len(value)) + value
            for name, value in ((b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"localhost"),
                                (b":path", b"/Index/?a=" + b"x" * 70_000)))
        parts = [fields[start:start + 16_000] for start in range(0, len(fields), 16_000)]
        frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"")
        for index, part in enumerate(parts):
            flags = (1 if index == 0 else 0) | (4 if index == len(parts) - 1 else 0)
            frames += frame(1 if index == 0 else 9, flags, 1, part)
        address = ("127.0.0.1", self.ports["https"])
        with context.wrap_socket(socket.create_connection(address, 20), server_hostname="localhost") as connection:
            connection.sendall(frames)
            received = b""
            while b"retryable" not in received and (part := connection.recv(65536)):
                received += part

        self.assertIn(b'"code":"request_too_long"', received)


def prefixed(number: int) -> bytes:
    """An integer with a prefix of seven bits (RFC 7541, 5.1)."""
    if number < 127:
        return bytes([number])
    result, number = bytearray([127]), number - 127
    while number >= 128:
        result.append(number % 128 | 128)
        number //= 128
    return bytes([*result, number])


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return struct.pack("!I", len(content))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + content


if __name__ == "__main__":
    unittest.main()
