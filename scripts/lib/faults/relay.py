"""The relay to which syncd connects instead of the sandbox: passes calls on, and makes selected ones fail.

Terminates TLS with the sandbox's own certificate. Each provider has a separate lane: it counts that provider's calls, and
has at most one fault for the Nth of them.
"""

import contextlib
import http.client
import os
import socket
import ssl
import struct
import threading
import time
from pathlib import Path

from syncstack.name_server import TYPE_A, NameServer, Question

from .bucket import Bucket
from .calls import HOSTS, PROVIDERS, S3_HOST, Answer, Call
from .certificates import Certificates

PATIENCE_SECONDS = 100.0
HTTPS_PORT = 443
LONGEST_HEAD = 1 << 20


class Dropped(Exception):
    """The connection ends with a reset."""


class Lane:
    """The calls to one provider."""

    def __init__(self, provider: str):
        self.provider = provider
        self.lock = threading.Lock()
        self.calls: list[Call] = []
        self.connections: set[socket.socket] = set()
        self.fault = None
        self.number = 0
        self.connection_count = 0
        self.struck: Call | None = None
        # The queries of the failing lookup, by the type of address.
        self.lookup: dict[int, Question] = {}

    def arm(self, fault, number: int) -> None:
        """Counts calls from 1 from now on; the call with this number meets the fault. With a fault of connections, the
        connection with this number meets it, and each call has a separate connection. Each connection looks the name
        up; with a fault of names, the lookup with this number fails."""
        with self.lock:
            self.calls = []
            self.fault, self.number, self.connection_count, self.struck = fault, number, 0, None
            self.lookup = {}
            idle = list(self.connections) if fault is not None and fault.is_of_connection else []
        for connection in idle:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def disarm(self) -> tuple[list[Call], Call | None]:
        """The calls since `arm`, and the one that met the fault."""
        with self.lock:
            self.fault = None
            return list(self.calls), self.struck

    def strikes_connection(self) -> object | None:
        """The fault that a new connection meets."""
        with self.lock:
            self.connection_count += 1
            fault = self.fault
            if (fault is None or not fault.is_of_connection or fault.is_of_name
                    or self.connection_count != self.number):
                return None
            self.struck = Call("CONNECT", self.provider, "/", [], b"")
            return fault

    def strikes_lookup(self, question: Question) -> str | None:
        """How the lookup of a name fails."""
        with self.lock:
            fault = self.fault
            if fault is None or not fault.is_of_name:
                return None
            # Both types are queried at once: with the second one alone, the lookup would succeed.
            if self.struck is None and self.connection_count == self.number - 1 and question.type == TYPE_A:
                self.struck = Call("LOOKUP", question.name, "/", [], b"")
            if self.struck is None or self.struck.host != question.name:
                return None
            # Repeated queries belong to the same lookup, a different query of the same type to the next one.
            is_same = self.lookup.setdefault(question.type, question) == question
            return fault.act if is_same else None

    def strikes(self, call: Call) -> tuple[object | None, bool]:
        """The fault that a call meets, and whether its connection is closed afterwards."""
        with self.lock:
            self.calls.append(call)
            fault = self.fault
            if fault is None:
                return None, False
            if fault.is_of_connection:
                return None, True
            # A fault that does not fit applies to the next call that it fits.
            if self.struck is None and len(self.calls) >= self.number and fault.fits(call):
                self.struck = call
                return fault, False
            return None, False


class Relay:
    """Listens from the start; call `lead` before the first connection arrives.

    As root, clients find it by name through its own name server, so that lookups can also fail.
    """

    def __init__(self) -> None:
        self.names: NameServer | None = None
        if os.geteuid() == 0:
            number = os.getpid()
            self.host, port = f"127.54.{number >> 8 & 0xFF}.{1 + number % 254}", HTTPS_PORT
            self.names = NameServer(self.host, self.host, self._fault_of_lookup)
        else:
            self.host, port = "127.0.0.1", 0
        self.listener = socket.create_server((self.host, port), backlog=128)
        self.address = f"{self.host}:{self.listener.getsockname()[1]}"
        self.lanes = {provider: Lane(provider) for provider in PROVIDERS}
        # Calls to hosts of no provider.
        self.strangers: list[Call] = []
        # The person of the current operation, by provider (people.py).
        self.people: dict = {}
        self.bucket: Bucket | None = None
        self._sandbox_port = 0
        self._certificates: Certificates | None = None
        self._upstream = ssl.create_default_context()
        self._upstream.check_hostname = False
        self._upstream.verify_mode = ssl.CERT_NONE

    def lead(self, sandbox_port: int, tls_folder: Path, bucket: Bucket) -> None:
        """From now on, passes connections on to the sandbox's port, or to the server of the bucket."""
        self._sandbox_port, self.bucket = sandbox_port, bucket
        self._certificates = Certificates(tls_folder)
        threading.Thread(target=self._run, daemon=True).start()
        if self.names is not None:
            self.names.start()

    def _fault_of_lookup(self, question: Question) -> dict:
        lane = self.lanes.get(HOSTS.get(question.name, ""))
        kind = lane.strikes_lookup(question) if lane is not None else None
        return {"kind": kind} if kind is not None else {}

    def close(self) -> None:
        self.listener.close()
        if self.names is not None:
            self.names.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(PATIENCE_SECONDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            host = host_in(client_hello(connection))
            lane = self.lanes.get(HOSTS.get(host, ""))
            fault = lane.strikes_connection() if lane is not None else None
            context = self._certificates.proper
            if fault is not None:
                context = fault.context(self._certificates)
                if context is None:
                    raise Dropped
            with context.wrap_socket(connection, server_side=True) as secure:
                if lane is not None:
                    lane.connections.add(secure)
                try:
                    Conversation(self, secure, host, lane).run()
                finally:
                    if lane is not None:
                        lane.connections.discard(secure)
        except Dropped:
            reset(connection)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        finally:
            connection.close()

    def upstream(self, host: str) -> http.client.HTTPConnection:
        """A connection to the sandbox as this host, or to the server of the bucket."""
        if host == S3_HOST:
            return http.client.HTTPConnection("127.0.0.1", self.bucket.port, timeout=PATIENCE_SECONDS)
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_SECONDS)
        connection.sock = self._upstream.wrap_socket(
            socket.create_connection(("127.0.0.1", self._sandbox_port), PATIENCE_SECONDS), server_hostname=host)
        return connection


class Conversation:
    """The calls of one connection."""

    def __init__(self, relay: Relay, secure: ssl.SSLSocket, host: str, lane: Lane | None):
        self.relay, self.secure, self.host, self.lane = relay, secure, host, lane
        self.stream = secure.makefile("rb")
        self._upstream: http.client.HTTPConnection | None = None
        self._upstream_is_new = True

    def run(self) -> None:
        try:
            while (call := self._read()) is not None:
                if not self._answer(call):
                    return
        finally:
            self.stream.close()
            if self._upstream is not None:
                self._upstream.close()

    def _answer(self, call: Call) -> bool:
        """False if the connection must be closed."""
        if self.lane is None:
            self.relay.strangers.append(call)
        fault, closes = self.lane.strikes(call) if self.lane is not None else (None, False)
        if fault is not None:
            return bool(fault.strike(call, self))
        answer = self.forward(call)
        if closes:
            answer.headers = [header for header in answer.headers if header[0].lower() != "connection"]
        head = answer.head()
        if closes:
            head = head[:-2] + b"Connection: close\r\n\r\n"
        self.send(head + (b"" if call.method == "HEAD" else answer.body))
        return not closes

    def send(self, data: bytes) -> None:
        self.secure.sendall(data)

    @staticmethod
    def pause(seconds: float) -> None:
        """Keeps the other side waiting."""
        time.sleep(seconds)

    def drop(self) -> None:
        """Ends the connection with a reset."""
        reset(self.secure)
        raise Dropped

    def forward(self, call: Call) -> Answer:
        """Has the provider process the call."""
        refusal = self.relay.bucket.refusal(call) if call.provider == "s3" else None
        if refusal is not None:
            return refusal
        try:
            return self._forward(call)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            if self._upstream is None or self._upstream_is_new:
                raise
            self._upstream.close()
            self._upstream = None  # was idle for too long
            return self._forward(call)

    def _forward(self, call: Call) -> Answer:
        self._upstream_is_new = self._upstream is None
        if self._upstream is None:
            self._upstream = self.relay.upstream(call.host)
        connection = self._upstream
        connection.putrequest(call.method, call.target, skip_host=True, skip_accept_encoding=True)
        for name, value in call.headers:
            if name.lower() not in ("expect", "transfer-encoding", "content-length", "connection"):
                connection.putheader(name, value)
        if call.body or call.method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(call.body)))
        connection.endheaders(call.body or None)
        reply = connection.getresponse()
        body = reply.read()
        return Answer(reply.status, reply.reason, reply.getheaders(), body)

    def _read(self) -> Call | None:
        """The next call; `None` at the end."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.stream.readline(LONGEST_HEAD)
            if not line or len(head) > LONGEST_HEAD:
                return None
            head += line
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = first.split(" ", 2)
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        fields = {name.lower(): value for name, value in headers}
        if fields.get("expect", "").lower() == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in fields.get("transfer-encoding", "").lower():
            body = self._read_chunks()
        else:
            length = int(fields.get("content-length", "0"))
            body = self.stream.read(length)
            if len(body) < length:
                return None
        return Call(method, self.host, target, headers, body)

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.stream.readline().partition(b";")[0], 16):
            body += self.stream.read(size)
            self.stream.readline()
        while self.stream.readline().strip():
            pass
        return body


def client_hello(connection: socket.socket) -> bytes:
    """The first TLS record (RFC 8446, section 5.1), which stays in the socket's buffer."""
    wanted = 5
    while len(peeked := connection.recv(wanted, socket.MSG_PEEK | socket.MSG_WAITALL)) < wanted:
        if not peeked:
            return b""
    wanted += int.from_bytes(peeked[3:5], "big")
    return connection.recv(wanted, socket.MSG_PEEK | socket.MSG_WAITALL)


def host_in(hello: bytes) -> str:
    """The name of the server in a ClientHello: extension 0 with a list of one host name (RFC 6066, section 3)."""
    position = 5 + 4 + 2 + 32
    position += 1 + hello[position]
    position += 2 + int.from_bytes(hello[position:position + 2], "big")
    position += 1 + hello[position]
    position += 2
    while position + 4 <= len(hello):
        kind, size = struct.unpack("!HH", hello[position:position + 4])
        if kind == 0:
            return hello[position + 9:position + 4 + size].decode("ascii", "replace").lower()
        position += 4 + size
    return ""


def reset(connection: socket.socket) -> None:
    """Makes the closing of a connection a TCP reset."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
