"""nginx with our include files: its own replies, and what it forwards.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests

A minimal FastCGI responder replaces syncd, and replies with the parameters that it received.
"""

import collections
import contextlib
import http.client
import json
import os
import re
import select
import socket
import socketserver
import ssl
import struct
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from http2frames import frame, prefixed  # noqa: E402
import nginxsite  # noqa: E402
from syncstack import certificates  # noqa: E402
from syncstack.layout import Layout  # noqa: E402
from syncstack.ports import choose  # noqa: E402
from syncstack.processes import raise_open_files  # noqa: E402
from syncstack.webserver import WebServer, adapted  # noqa: E402

VERSION = (REPOSITORY / "VERSION").read_text(encoding="ascii").strip()
REFUSAL = '{"error":"a $sentence","code":"some_code","requestId":"x","retryable":false}'
# For transfers, which are rejected without credentials; each caller has a separate token.
CREDENTIALS = {"X-token-type": "GoogleToken", "access_token": "a token"}
CREDENTIAL_LINES = "X-token-type: GoogleToken\r\naccess_token: token %NUMBER%\r\n"
PARAMS, STDIN, STDOUT, END_REQUEST = 4, 5, 6, 3  # record types of the FastCGI specification, section 8


class Responder(socketserver.StreamRequestHandler):
    """Reads one FastCGI request completely, and replies with its parameters and the length of its body as JSON."""

    def handle(self) -> None:
        with self.server.counting():
            self.answer()

    def answer(self) -> None:
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
        parameters = dict(pairs(block))
        with self.server.lock:
            ResponderServer.asked.append(parameters)
        if "SYNCD_ADMISSION" in parameters:
            self.admit(parameters["QUERY_STRING"])
            return
        if "SYNCD_ADMISSION_LOCATION" in parameters and "known" not in parameters["QUERY_STRING"]:
            self.end(f"Status: 200 OK\r\nX-Accel-Redirect: {parameters['SYNCD_ADMISSION_LOCATION']}\r\n\r\n")
            return
        if parameters["QUERY_STRING"] == "hold":
            self.server.release.wait(300)
        reply = json.dumps({"parameters": parameters, "bodyBytes": body_bytes})
        unlogged = "syncd-unlogged: 1\r\n" if parameters["QUERY_STRING"] == "unlogged" else ""
        head = (
            f"Status: 200 OK\r\nContent-Type: application/json\r\nsyncserver-version: {VERSION}\r\n"
            f"{unlogged}\r\n")
        text = (head + reply).encode()
        for start in range(0, len(text), 60000):
            self.send(STDOUT, text[start:start + 60000])
        self.send(STDOUT, b"")
        self.send(END_REQUEST, bytes(8))

    def admit(self, query: str) -> None:
        """Decides whether a transfer may begin, like syncd: rejects it if the query specifies a status."""
        refusal = re.fullmatch(r"refuse=(\d+)(&problem)?(&unlogged)?", query)
        head = "Status: 204 No Content\r\nsyncd-signed-in: the-ticket\r\n\r\n"
        if refusal:
            head = (
                f"Status: 403 Forbidden\r\nsyncserver-version: {VERSION}\r\nsyncserver-error-code: some_code\r\n"
                f"retry-after: 7\r\nallow: POST\r\nsyncd-refusal-status: {refusal[1]}\r\n"
                + ("syncd-unlogged: 1\r\n" if refusal[3] else "") +
                f"syncd-refusal-form: {'problem' if refusal[2] else 'json'}\r\n"
                f"syncd-refusal-body: {REFUSAL}\r\n\r\n")
        self.end(head)

    def end(self, head: str) -> None:
        """Replies with a head and no body."""
        self.send(STDOUT, head.encode())
        self.send(STDOUT, b"")
        self.send(END_REQUEST, bytes(8))

    def send(self, kind: int, content: bytes) -> None:
        self.wfile.write(struct.pack("!BBHHBB", 1, kind, 1, len(content), 0, 0) + content)


class ResponderServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Answers the query `hold` only once `release` is set."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 2048
    release = threading.Event()
    in_progress = 0  # requests, of all servers
    asked: list = []  # their parameters, in order of arrival
    lock = threading.Lock()

    @contextlib.contextmanager
    def counting(self):
        with ResponderServer.lock:
            ResponderServer.in_progress += 1
        try:
            yield
        finally:
            with ResponderServer.lock:
                ResponderServer.in_progress -= 1

    def handle_error(self, request, client_address) -> None:
        """A phone that disconnected is not a test failure."""
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            super().handle_error(request, client_address)


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
        raise_open_files()  # this process has both ends of hundreds of connections
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

    def connect(self, address: str) -> http.client.HTTPConnection:
        """A connection from this address of the loopback network."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.ports["http"], timeout=20, source_address=(address, 0))
        self.addCleanup(connection.close)
        return connection

    def request(self, method: str, target: str, body: bytes | None = None, headers: dict | None = None,
                address: str = "127.0.0.1"):
        connection = self.connect(address)
        connection.request(method, target, body, CREDENTIALS if headers is None else headers)
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
                "SyncServer-authorization-code": "e", "SyncServer-redirect-uri": "j", "SyncServer-code-verifier": "k",
                "X-account-details": "f", "X-microsoft-access-token": "g",
                "If-None-Match": '"h"', "Accept": "i", "Accept-Encoding": "m", "Range": "bytes=1-2", "If-Range": '"l"',
                "Cookie": "no", "X-Other": "no", "Proxy": "no"}

        _, body = self.request("PATCH", "/Some%20Path/?b=1+2%20&a=%2F", headers=sent)

        parameters = json.loads(body)["parameters"]
        self.assertEqual({name: value for name, value in parameters.items() if name.startswith("HTTP_")}, {
            "HTTP_ACCESS_TOKEN": "a", "HTTP_X_TOKEN_TYPE": "b", "HTTP_SYNCSERVER_DEVICE_UUID": "c",
            "HTTP_X_ACCOUNT_ID": "d", "HTTP_SYNCSERVER_AUTHORIZATION_CODE": "e",
            "HTTP_SYNCSERVER_REDIRECT_URI": "j", "HTTP_SYNCSERVER_CODE_VERIFIER": "k",
            "HTTP_X_ACCOUNT_DETAILS": "f",
            "HTTP_X_MICROSOFT_ACCESS_TOKEN": "g",
            "HTTP_IF_NONE_MATCH": '"h"', "HTTP_ACCEPT": "i", "HTTP_ACCEPT_ENCODING": "m",
            "HTTP_RANGE": "bytes=1-2", "HTTP_IF_RANGE": '"l"'})
        self.assertEqual(parameters["REQUEST_METHOD"], "PATCH")
        self.assertEqual(parameters["QUERY_STRING"], "b=1+2%20&a=%2F")
        self.assertEqual(parameters["DOCUMENT_URI"], "/Some Path/")
        self.assertRegex(parameters["REQUEST_ID"], "^[0-9a-f]{32}$")

    def test_the_token_s_header_may_have_a_hyphen(self) -> None:
        """For proxies that drop names with underscores. Of both spellings, nginx below 1.23 forwards the first."""
        for method, path in (("GET", "/Index/"), ("POST", "/UploadFile/"), ("GET", "/DownloadFile/")):
            for name in ("access-token", "Access-Token", "access_token", "ACCESS_TOKEN"):
                with self.subTest(path=path, name=name):
                    ResponderServer.asked.clear()
                    reply, _ = self.request(method, path, headers={"X-token-type": "GoogleToken", name: "a token"})
                    self.assertEqual(reply.status, 200)
                    self.assertEqual({one.get("HTTP_ACCESS_TOKEN") for one in ResponderServer.asked}, {"a token"})

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

    def test_a_transfer_is_asked_for_before_its_body_is_read(self) -> None:
        for method, path in (("POST", "/UploadFile/"), ("GET", "/DownloadFile")):
            with self.subTest(path=path):
                ResponderServer.asked.clear()
                sent = {"access_token": "a", "X-token-type": "b", "SYNCD-ADMISSION": "no", "SYNCD-SIGNED-IN": "no",
                        "SYNCD-ADMISSION-LOCATION": "no"}

                reply, _ = self.request(method, f"{path}?b=1+2%20", b"12345" if method == "POST" else None, sent)

                self.assertEqual(reply.status, 200)
                *first, question, transfer = ResponderServer.asked
                self.assertEqual(question.pop("SYNCD_ADMISSION"), "1")
                self.assertEqual(transfer.pop("SYNCD_SIGNED_IN"), "the-ticket")
                self.assertEqual(question, transfer)
                self.assertEqual(question["DOCUMENT_URI"], path)
                self.assertEqual(question["REQUEST_METHOD"], method)
                self.assertEqual(question["CONTENT_LENGTH"], "5" if method == "POST" else "")
                if method == "GET":  # The responder requested the admission.
                    self.assertEqual([one.pop("SYNCD_ADMISSION_LOCATION") for one in first], ["@syncd_download"])
                    self.assertEqual(first, [transfer])
                else:
                    self.assertEqual(first, [])

    def test_a_download_is_asked_for_only_if_the_responder_wants_it(self) -> None:
        ResponderServer.asked.clear()

        reply, body = self.request("GET", "/DownloadFile/?known&a=%20")

        self.assertEqual(reply.status, 200)
        self.assertEqual([json.loads(body)["parameters"]], ResponderServer.asked)
        self.assertNotIn("SYNCD_SIGNED_IN", ResponderServer.asked[0])
        self.assertEqual(ResponderServer.asked[0]["QUERY_STRING"], "known&a=%20")

    def test_the_place_of_the_question_cannot_be_called_from_outside(self) -> None:
        for path in ("/@syncd_download", "/%40syncd_download", "@syncd_download"):
            ResponderServer.asked.clear()
            self.request("GET", path)
            self.assertFalse(any("SYNCD_SIGNED_IN" in one for one in ResponderServer.asked))

    def test_a_refused_upload_gets_its_reply_at_once_and_holds_no_responder(self) -> None:
        for status in (400, 401, 403, 404, 405, 409, 410, 411, 413, 414, 422, 429, 500, 502, 503, 504, 507):
            with self.subTest(status=status):
                ResponderServer.asked.clear()
                connection = self.hold("127.0.4.1", 1, (
                    f"POST /UploadFile/?refuse={status} HTTP/1.1\r\nHost: a\r\n{CREDENTIAL_LINES}"
                    "Content-Length: 134217728\r\n\r\nslow"))[0]

                reply = http.client.HTTPResponse(connection)
                reply.begin()

                self.assertEqual(reply.status, status)
                self.assertEqual(reply.read().decode(), REFUSAL)
                for name, value in (("syncserver-version", VERSION), ("syncserver-error-code", "some_code"),
                                    ("Retry-After", "7"), ("Allow", "POST"), ("Content-Type", "application/json")):
                    self.assertEqual(reply.headers.get_all(name), [value], name)
                self.wait_for(0)
                self.assertEqual(["SYNCD_ADMISSION" in one for one in ResponderServer.asked], [True])

    def test_a_refusal_may_be_a_problem_document(self) -> None:
        reply, body = self.request("GET", "/DownloadFile/?refuse=410&problem")

        self.assertEqual((reply.status, body.decode()), (410, REFUSAL))
        self.assertEqual(reply.headers.get_all("Content-Type"), ["application/problem+json"])

    def test_a_refused_upload_is_dropped_for_seconds_only(self) -> None:
        connection = self.hold("127.0.4.2", 1, (
            f"POST /UploadFile/?refuse=401 HTTP/1.1\r\nHost: a\r\n{CREDENTIAL_LINES}"
            "Content-Length: 134217728\r\n\r\nslow"))[0]
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass
        self.assertLess(time.monotonic() - began, 8)

    def test_a_refused_upload_may_be_sent_to_its_end(self) -> None:
        reply, body = self.request("POST", "/UploadFile/?refuse=401", bytes(3_000_000))

        self.assertEqual((reply.status, body.decode()), (401, REFUSAL))

    def test_a_refused_upload_without_a_length_gets_its_reply(self) -> None:
        """Regression: 502 for 3 of 40, since the responder did not read the body."""
        for _ in range(40):
            connection = self.connect("127.0.0.1")
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request("POST", "/UploadFile/?refuse=411", iter([bytes(65536)] * 16), encode_chunked=True,
                                   headers=CREDENTIALS | {"Transfer-Encoding": "chunked"})
            self.assertEqual(connection.getresponse().status, 411)

    def test_without_the_api_role_a_transfer_is_answered_with_502(self) -> None:
        hidden = self.layout.api_socket.with_suffix(".hidden")
        self.layout.api_socket.rename(hidden)
        try:
            self.expect_error(*self.request("POST", "/UploadFile/", b"x"), 502, "server_unavailable")
            self.expect_error(*self.request("GET", "/DownloadFile/"), 502, "server_unavailable")
        finally:
            hidden.rename(self.layout.api_socket)

    def test_half_requests_of_large_headers_cost_little(self) -> None:
        """Regression: 340 MB for 500 of them."""
        workers = WebServer(self.layout).pids()[1:]
        def memory() -> int:
            return sum(int(re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
                       for pid in workers)
        for headers in (9, 40):  # the most that nginx stores, and more than it may store
            with self.subTest(headers=headers):
                before, grown = memory(), 0
                head = "GET /Index/ HTTP/1.1\r\nHost: a\r\n" + f"X: {'x' * 15_000}\r\n" * headers + "X-Last: "
                for number in range(200):
                    with contextlib.suppress(ConnectionError):  # refused before the end
                        self.hold(f"127.0.5.{number % 40 + 1}", 1, head)
                deadline = time.monotonic() + 1
                while time.monotonic() < deadline:
                    grown = max(grown, memory() - before)
                    time.sleep(0.02)
                self.assertLess(grown, 200 * 200, "KiB for 200 of them")

    def test_what_is_no_http_gets_400_in_json(self) -> None:
        address = ("127.0.0.1", self.ports["http"])
        for line in (b"GARBAGE", b"GET /%zz HTTP/1.1\r\nHost: a", b"GET / HTTP/1.1\r\nHost: a b"):
            request = line + b"\r\n\r\n"
            with self.subTest(request=request), socket.create_connection(address, 20) as connection:
                connection.sendall(request)
                reply = http.client.HTTPResponse(connection)
                reply.begin()
                self.expect_error(reply, reply.read(), 400, "bad_request")

    def test_a_closed_host_replies_with_the_file_and_asks_nobody(self) -> None:
        folder = self.layout.directory / "maintenance"
        folder.mkdir()
        text = '{"error":"Back at noon.","code":"maintenance","requestId":"-","retryable":true,"title":"T","status":503}'
        (folder / "message.txt").write_text("Back at noon.", encoding="utf-8")
        (folder / "reply.json").write_text(text, encoding="utf-8")
        self.addCleanup(folder.rmdir)
        for name in ("message.txt", "reply.json"):
            self.addCleanup((folder / name).unlink)
        asked = len(ResponderServer.asked)
        conditions = {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT", "Range": "bytes=0-1"}
        for method, path in (("GET", "/Index/"), ("GET", "/CheckCreds"), ("POST", "/AddUser"), ("POST", "/UploadFile"),
                             ("POST", "/UploadAppMetaData/"), ("GET", "/DownloadFile/")):
            body = b"x" * 100_000 if path == "/UploadFile" else None
            reply, got = self.request(method, path, body, CREDENTIALS | conditions)
            self.expect_error(reply, got, 503, "maintenance")
            self.assertEqual(got.decode(), text)
            self.assertEqual(reply.headers.get_all("Retry-After"), ["120"])
        reply, got = self.request("GET", "/FailoverMessage", headers=conditions)
        self.assertEqual((reply.status, got), (200, b"Back at noon."))
        self.assertEqual(reply.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(len(ResponderServer.asked), asked)
        reply, _ = self.request("GET", "/HealthCheck")
        self.assertEqual(reply.status, 200)

    def test_without_a_file_syncd_is_asked_for_the_failover_message(self) -> None:
        reply, body = self.request("GET", "/FailoverMessage")
        self.assertEqual(reply.status, 200)
        self.assertEqual(json.loads(body)["parameters"]["SYNCD_PAGE"], "failover")

    def test_syncd_is_asked_for_the_keys_of_manifests(self) -> None:
        reply, body = self.request("GET", "/.well-known/syncserver-manifest-keys")
        self.assertEqual(reply.status, 200)
        self.assertEqual(json.loads(body)["parameters"]["SYNCD_PAGE"], "manifestKeys")

    def test_the_internal_location_is_not_served(self) -> None:
        for path in ("/syncd-error", "/syncd-admission", "/syncd-maintenance", "/syncd-refusal/reply.json"):
            self.expect_error(*self.request("GET", path), 404, "not_found")

    def test_without_a_responder_the_answer_is_502(self) -> None:
        hidden = self.layout.api_socket.with_suffix(".hidden")
        self.layout.api_socket.rename(hidden)
        try:
            self.expect_error(*self.request("GET", "/HealthCheck/"), 502, "server_unavailable")
        finally:
            hidden.rename(self.layout.api_socket)

    def statuses(self, address: str, target: str, count: int) -> list[int]:
        """The statuses of consecutive requests on one connection."""
        connection = self.connect(address)
        found = []
        for _ in range(count):
            connection.request("GET", target)
            reply = connection.getresponse()
            reply.read()
            found.append(reply.status)
        return found

    def expect_too_many(self, reply, body: bytes) -> None:
        self.expect_error(reply, body, 429, "too_many_requests")
        self.assertEqual(reply.headers.get_all("Retry-After"), ["5"])
        self.assertEqual(json.loads(body)["retryable"], True)

    def test_joining_and_sign_in_are_limited_for_each_address(self) -> None:
        for number, (path, burst) in enumerate((
                ("/AddUser", 100), ("/RedeemSharingInvitation/", 100), ("/GetSharingInvitationInfo/", 100),
                ("/CheckCreds/", 400))):
            with self.subTest(path=path):
                address = f"127.0.1.{number + 1}"

                self.assertEqual(set(self.statuses(address, path, burst + 1)), {200})
                # More requests are admitted during the test, at the rate of 2 or 20 a second.
                reply, body = self.request("GET", path, address=address)
                for _ in range(3 * burst // 20):
                    if reply.status == 200:
                        self.statuses(address, path, 20)
                        reply, body = self.request("GET", path, address=address)
                self.expect_too_many(reply, body)
                self.assertEqual(self.request("GET", path, address="127.0.1.100")[0].status, 200)
                self.assertEqual(self.request("GET", "/Index/", address=address)[0].status, 200)

    def lines(self, address: str) -> collections.Counter:
        """The number of an address's lines in the access log, by status."""
        text = (self.layout.logs / "nginx-access.log").read_text(encoding="utf-8")
        lines = [json.loads(line) for line in text.splitlines()]
        return collections.Counter(line["status"] for line in lines if line["remote_addr"] == address)

    def test_what_syncd_says_not_to_log_is_not_logged(self) -> None:
        address = "127.0.9.1"
        for target in ("/Index/?unlogged", "/Index/", "/Index/?unlogged"):
            reply, _ = self.request("GET", target, address=address)
            self.assertEqual(reply.status, 200)
            self.assertIsNone(reply.headers["syncd-unlogged"])
        for query in ("refuse=429&unlogged", "refuse=401", "refuse=429&unlogged"):
            reply, _ = self.request("POST", f"/UploadFile/?{query}", b"x", address=address)
            self.assertIn(reply.status, (401, 429))
            self.assertIsNone(reply.headers["syncd-unlogged"])
        # A line is written after its reply, and an address's lines in order.
        self.request("GET", "/NoSuchPath/", address="127.0.9.2")
        end = time.monotonic() + 10
        while not self.lines("127.0.9.2") and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.lines(address), {"200": 1, "401": 1})

    def test_all_requests_together_are_limited(self) -> None:
        """2,000 are admitted at once, the last 500 of them delayed, and 200 more during each second of the test."""
        hidden = self.layout.api_socket.with_suffix(".hidden")
        # A machine that needs 7 s for these requests rejects none of them, so it may try again from another address.
        for address in (f"127.0.2.{number}" for number in range(10, 20)):
            # Without a responder, nginx replies as quickly as a busy machine allows.
            self.layout.api_socket.rename(hidden)
            begin = time.monotonic()
            try:
                found = self.at_once(address, connections=700, requests=5)
            finally:
                hidden.rename(self.layout.api_socket)
            seconds = time.monotonic() - begin
            self.assertEqual(found.total(), 3_500)
            self.assertGreaterEqual(found[b"502"], 2_001)
            self.assertLessEqual(found[b"502"], 2_001 + 200 * (seconds + 1))
            if b"429" in found:
                break
        self.assertEqual(found.keys(), {b"502", b"429"}, f"in {seconds} s")
        # Only one in a hundred of nginx's rejections is logged.
        self.assertLess(self.lines(address)["429"], found[b"429"] / 20)

    def test_a_client_that_asks_as_fast_as_it_can_gets_the_rate(self) -> None:
        """None of its requests is rejected, so that it cannot occupy nginx with rejections."""
        begin = time.monotonic()
        found = self.at_once("127.0.2.2", connections=60, requests=30)
        seconds = time.monotonic() - begin
        self.assertEqual(found, {b"200": 1_800})
        self.assertGreaterEqual(seconds, (1_800 - 1_501) / 200 - 0.1)

    def at_once(self, address: str, connections: int, requests: int) -> collections.Counter:
        """Sends all requests before it reads the first reply; returns the number of replies by status."""
        request = b"GET /Index/ HTTP/1.1\r\nHost: a\r\n"
        text = (request + b"\r\n") * (requests - 1) + request + b"Connection: close\r\n\r\n"
        opened = [socket.create_connection(("127.0.0.1", self.ports["http"]), 60, (address, 0))
                  for _ in range(connections)]
        found: collections.Counter = collections.Counter()
        for connection in opened:
            connection.sendall(text)
        for connection in opened:
            with connection, connection.makefile("rb") as replies:
                found.update(re.findall(rb"HTTP/1\.1 (\d{3}) ", replies.read()))
        return found

    def test_addresses_that_are_exempt_are_not_limited(self) -> None:
        self.assertEqual(set(self.statuses("127.0.0.1", "/AddUser/", 300)), {200})

    def hold(self, address: str, count: int, head: str) -> list[socket.socket]:
        """Keeps this many requests in progress, without a reply."""
        held = []
        for number in range(count):
            connection = socket.create_connection(("127.0.0.1", self.ports["http"]), 20, (address, 0))
            self.addCleanup(connection.close)
            connection.sendall(head.replace("%NUMBER%", str(number)).encode())
            held.append(connection)
        return held

    def expect_limit(self, address: str, limit: int, head: str, target: str, others_head: str | None = None,
                     headers: dict | None = None) -> None:
        """`limit` requests may be in progress, and one more is 429, but not another client's; when one ends, another is
        admitted.

        `headers` are those of a short request that counts against the limit.
        """
        self.wait_for(0)
        ResponderServer.release.clear()
        self.addCleanup(ResponderServer.release.set)
        held = self.hold(address, limit, head)
        self.wait_for(limit)

        extra = self.hold(address, 1, head)[0]
        reply = http.client.HTTPResponse(extra)
        reply.begin()
        self.expect_too_many(reply, reply.read())
        # Not select(2): this process has both ends of each connection, so descriptors may exceed 1,023.
        answered = select.poll()
        for connection in held:
            answered.register(connection, select.POLLIN)
        self.assertEqual(answered.poll(0), [], "a request below the limit was answered")
        self.hold("127.0.3.100", 1, others_head or head)
        self.wait_for(limit + 1)

        held.pop().close()
        deadline = time.monotonic() + 60
        while self.request("GET", target, headers=headers, address=address)[0].status != 200:
            self.assertLess(time.monotonic(), deadline, "a place did not become free")

    def wait_for(self, count: int) -> None:
        """Waits until this many requests are in progress at the responders."""
        deadline = time.monotonic() + 120
        while ResponderServer.in_progress != count:
            self.assertLess(time.monotonic(), deadline, f"{ResponderServer.in_progress} instead of {count}")
            time.sleep(0.005)

    def test_uploads_in_progress_are_limited_for_each_address(self) -> None:
        head = f"POST /UploadFile/ HTTP/1.1\r\nHost: a\r\n{CREDENTIAL_LINES}Content-Length: 1000\r\n\r\nslow"
        self.expect_limit("127.0.3.1", 128, head, "/UploadFile/")
        self.assertEqual(self.request("GET", "/DownloadFile/", address="127.0.3.1")[0].status, 200)

    def test_downloads_in_progress_are_limited_for_each_address(self) -> None:
        head = f"GET /DownloadFile/?hold HTTP/1.1\r\nHost: a\r\n{CREDENTIAL_LINES}\r\n"
        self.expect_limit("127.0.3.2", 128, head, "/DownloadFile/")

    def test_transfers_of_one_token_in_progress_are_limited(self) -> None:
        """A token longer than nginx's keys is also limited; tokens with different ends are counted separately."""
        headers = {"X-token-type": "GoogleToken", "access_token": "long" * 300}
        head = "".join([
            "GET /DownloadFile/?hold HTTP/1.1\r\nHost: a\r\n", *(f"{name}: {value}\r\n" for name, value in headers.items()),
            "\r\n"])
        self.expect_limit("127.0.3.4", 64, head, "/DownloadFile/", head.replace("long\r\n", "short\r\n"), headers)

    def test_a_transfer_without_credentials_is_refused_without_asking(self) -> None:
        for method, path in (("POST", "/UploadFile"), ("POST", "/UploadFile/"), ("GET", "/DownloadFile/")):
            for headers in ({}, {"X-token-type": "GoogleToken"}, {"access_token": "a:b:"}, {"access-token": "a"},
                            {"X-token-type": "", "access_token": "a"}):
                with self.subTest(path=path, headers=headers):
                    ResponderServer.asked.clear()

                    reply, body = self.request(method, path, b"12345" if method == "POST" else None, headers)

                    self.expect_error(reply, body, 401, "credentials_missing")
                    self.assertEqual("a proxy may have dropped it" in body.decode(), bool(headers.get("X-token-type")))
                    self.assertEqual(json.loads(body)["retryable"], False)
                    self.assertEqual(ResponderServer.asked, [])
        # Other credentials reach syncd, which reports what is wrong with them.
        for method, path, headers in (("GET", "/UploadFile", {}), ("POST", "/UploadFile", {
                "X-token-type": "GoogleToken", "access_token": ":"})):
            ResponderServer.asked.clear()
            self.assertEqual(self.request(method, path, headers=headers)[0].status, 200)
            self.assertEqual(len(ResponderServer.asked), 2)

    def test_all_requests_in_progress_are_limited_for_each_address(self) -> None:
        self.expect_limit("127.0.3.3", 512, "GET /Index/?hold HTTP/1.1\r\nHost: a\r\n\r\n", "/Index/")

    def test_long_queries_get_414_by_http_2_too(self) -> None:
        """Manual, since libraries do not send so much: frames of RFC 9113, header fields of RFC 7541, 6.2.2."""
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


NETWORKS = """\
{user}pid {directory}/networks.pid;
error_log {directory}/log/error.log;
events {{ }}
http {{
    access_log off;
    include syncd-version.conf;
    include syncd-exempt.conf;
    include syncd/syncd-http.conf;
    set_real_ip_from 127.0.0.1;
    real_ip_header X-Address;
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200 "$syncd_client"; }}
    }}
}}
"""


class ReleaseTests(unittest.TestCase):
    """Releases before 1.25.1 reject `http2 on;`, and later ones warn about `listen ... http2`."""

    def test_http_2_is_written_as_the_release_knows_it(self) -> None:
        for name in ("syncd.conf", "sandbox.conf"):
            text = (REPOSITORY / "nginx" / name).read_text(encoding="utf-8")
            self.assertEqual(adapted(text, (1, 25, 1)), text)
            self.assertIsNone(re.search(r"(?m)^[^#]*listen .*http2", text), text)
            older = adapted(text, (1, 25, 0))
            self.assertNotIn("http2 on", older)
            self.assertEqual(re.findall(r"(?m)^[ #]*listen .* ssl(?! http2)\b.*", older), [])

    def test_this_release_says_nothing(self) -> None:
        """nginx would warn at each start and reload."""
        with tempfile.TemporaryDirectory() as folder:
            layout = nginxsite.prepare(folder)
            for configuration in (layout.nginx / "nginx.conf", nginxsite.production(layout)[0]):
                done = nginxsite.nginx(configuration, "-q", "-t")
                self.assertEqual((done.returncode, done.stdout), (0, ""))


class NetworkTests(unittest.TestCase):
    """Addresses that count as one client."""

    def test_an_ipv6_address_counts_with_its_network(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        layout = nginxsite.prepare(folder.name)
        nginxsite.turn_signals_off(layout)
        configuration = layout.nginx / "networks.conf"
        port = choose(set())
        configuration.write_text(NETWORKS.format(
            directory=layout.directory, port=port, user="user root;\n" if os.geteuid() == 0 else ""))
        started = nginxsite.nginx(configuration)
        self.assertEqual(started.returncode, 0, started.stdout)
        self.addCleanup(nginxsite.nginx, configuration, "-s", "stop")

        for address, key in (
                ("2001:db8:1:2:3:4:5:6", b"2001:db8:1:2"), ("2001:db8:1:2::6", b"2001:db8:1:2"),
                ("2001:db8:1::6", b"2001:db8:1"), ("2001:db8::6", b"2001:db8"), ("2001:db8:0:1:2::", b"2001:db8:0:1"),
                ("192.0.2.7", bytes([192, 0, 2, 7])), ("::ffff:192.0.2.7", None), ("127.0.0.1", b"")):
            with self.subTest(address=address):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                self.addCleanup(connection.close)
                connection.request("GET", "/", headers={"X-Address": address})
                body = connection.getresponse().read()
                self.assertEqual(body, key) if key is not None else self.assertTrue(body)


class LoadBalancerTests(unittest.TestCase):
    """The production site behind a TCP load balancer with the PROXY protocol, with its commented lines enabled."""

    BALANCER, STRANGER = "127.0.5.1", "127.0.5.2"

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.layout = nginxsite.prepare(folder.name)
        for path in (cls.layout.api_socket, cls.layout.transfer_socket):
            server = ResponderServer(str(path), Responder)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            cls.addClassCleanup(server.server_close)
            cls.addClassCleanup(server.shutdown)
        configuration, _ = nginxsite.production(cls.layout, "user root;\n" if os.geteuid() == 0 else "")
        cls.ports = cls.put_behind_balancer(cls.layout.nginx / "site.conf")
        started = nginxsite.nginx(configuration)
        if started.returncode != 0:
            raise AssertionError(started.stdout)
        cls.addClassCleanup(nginxsite.nginx, configuration, "-s", "stop")

    @classmethod
    def put_behind_balancer(cls, site: Path) -> dict[str, int]:
        """Replaces the usual listeners with the template's lines for a load balancer; returns the ports."""
        usual, behind, ports = [], [], {}
        lines = site.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if re.fullmatch(r" +listen \S+ ssl(?: http2)?;", line):
                usual.append(line)
            elif match := re.fullmatch(r"    # (listen .* ssl.*;|set_real_ip_from .*;|real_ip_header .*;)", line):
                behind.append(match[1])
        assert len(usual) == 2 and len(behind) == 5, (usual, behind)
        replaced = []
        for number, line in enumerate(behind):
            if line.startswith("listen"):
                name = ("own", "balanced", "balanced6")[number]
                ports[name] = choose(set(ports.values()))
                line = re.sub(r"listen \S+", f"listen 127.0.0.1:{ports[name]}", line)
            replaced.append(line.replace("192.0.2.0/24", cls.BALANCER))
        text = "\n".join(line for line in lines if line not in usual)
        for path in (cls.layout.api_socket, cls.layout.transfer_socket):
            text = text.replace(f"unix:/run/syncd/{path.name}", f"unix:{path}")
        text = text.replace("    # real_ip_header proxy_protocol;", "\n".join(replaced))
        site.write_text(text, encoding="utf-8")
        return ports

    def phone(self, header: bytes, sender: str, port: str = "balanced") -> ssl.SSLSocket | None:
        """A phone's connection forwarded by `sender`, with a header before the first byte of TLS."""
        connection = socket.create_connection(("127.0.0.1", self.ports[port]), 20, source_address=(sender, 0))
        self.addCleanup(connection.close)
        connection.sendall(header)
        context = ssl.create_default_context(cafile=str(self.layout.ca_file))
        try:
            secured = context.wrap_socket(connection, server_hostname="localhost")
        except (ssl.SSLError, ConnectionError):
            return None
        self.addCleanup(secured.close)
        return secured

    def address(self, *arguments) -> str:
        """The address that syncd sees."""
        phone = self.phone(*arguments)
        self.assertIsNotNone(phone)
        phone.sendall(b"GET /Index/ HTTP/1.1\r\nHost: sync.example.com\r\nConnection: close\r\n\r\n")
        reply = http.client.HTTPResponse(phone)
        reply.begin()
        self.assertEqual(reply.status, 200)
        return json.loads(reply.read())["parameters"]["REMOTE_ADDR"]

    def test_the_phone_s_address_is_the_one_that_the_balancer_names(self) -> None:
        for header, address in (
                (b"PROXY TCP4 198.51.100.7 192.0.2.1 40000 443\r\n", "198.51.100.7"),
                (b"PROXY TCP6 2001:db8::7 2001:db8::1 40000 443\r\n", "2001:db8::7"),
                # The second version (haproxy.org, proxy-protocol.txt, section 2.2).
                (b"\r\n\r\n\0\r\nQUIT\n" + struct.pack("!BBH4s4sHH", 0x21, 0x11, 12, bytes([198, 51, 100, 9]),
                                                       bytes([192, 0, 2, 1]), 40000, 443), "198.51.100.9")):
            with self.subTest(address=address):
                self.assertEqual(self.address(header, self.BALANCER), address)

    def test_nobody_else_names_an_address(self) -> None:
        header = b"PROXY TCP4 198.51.100.7 192.0.2.1 40000 443\r\n"
        self.assertEqual(self.address(header, self.STRANGER), self.STRANGER)
        self.assertIsNone(self.phone(b"", self.BALANCER))
        # This host's own checks send no header, and need none.
        self.assertEqual(self.address(b"", self.STRANGER, "own"), self.STRANGER)
        self.assertIsNone(self.phone(header, self.STRANGER, "own"))

    def test_phones_do_not_share_the_limits_of_the_balancer(self) -> None:
        """One of two phones behind the same balancer has reached its limit of transfers; the other continues."""
        ResponderServer.release.clear()
        self.addCleanup(ResponderServer.release.set)
        held = []
        head = f"GET /DownloadFile/?hold HTTP/1.1\r\nHost: sync.example.com\r\n{CREDENTIAL_LINES}\r\n"
        deadline = time.monotonic() + 120
        for number in range(128):
            phone = self.phone(b"PROXY TCP4 198.51.100.21 192.0.2.1 40000 443\r\n", self.BALANCER)
            phone.sendall(head.replace("%NUMBER%", str(number)).encode())
            held.append(phone)
        while ResponderServer.in_progress < 128:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        for address, status in (("198.51.100.21", 429), ("198.51.100.22", 200)):
            phone = self.phone(f"PROXY TCP4 {address} 192.0.2.1 40000 443\r\n".encode(), self.BALANCER)
            phone.sendall(head.replace("?hold", "?known").replace("%NUMBER%", address).encode())
            reply = http.client.HTTPResponse(phone)
            reply.begin()
            self.assertEqual(reply.status, status, address)


if __name__ == "__main__":
    unittest.main()
