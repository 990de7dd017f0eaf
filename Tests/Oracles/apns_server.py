"""Apple's push service at the level of HTTP/2 frames: replies as scripted, and records clients' violations.

https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns; RFC 9113.
"""

import json
import re
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field

import jwt
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, PingAckReceived, RequestReceived, StreamEnded
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame

HOST = "api.push.apple.com"
TOKEN_LIFE_SECONDS = 3_600
TOKEN_CHANGE_SECONDS = 1_200
PAYLOAD_BYTES = 4_096
# The client may send only so much of a body immediately; the rest waits for a WINDOW_UPDATE, which leaves time for
# other frames.
WINDOW_BYTES = 16
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass
class Attempt:
    """One notification request, from its headers on."""

    device: str
    connection: int
    stream: int
    headers: dict
    time: float = field(default_factory=time.monotonic)
    body: bytes = b""
    is_whole: bool = False
    action: tuple = ("accept",)
    is_accepted: bool = False

    @property
    def id(self) -> str:
        return self.headers.get("apns-id", "")


class APNsServer:
    """Serves the given connections, each in its own thread.

    `script[device]` lists the outcomes of the first attempts at a device; later attempts are accepted. An outcome:
    ("accept",) · ("status", code, reason, more headers) · ("refuse",) and ("reset",): RST_STREAM · ("hang up",): the
    connection closes without a frame · ("go away, refused",): GOAWAY, the stream was not processed · ("go away, then
    accept",): GOAWAY that allows the stream to finish · ("accept, then go away",) · ("go away amid the body",).
    """

    def __init__(self, public_key, key_id: str, team_id: str, topic: str):
        self.public_key, self.key_id, self.team_id, self.topic = public_key, key_id, team_id, topic
        self.script: dict[str, list[tuple]] = {}
        self.attempts: list[Attempt] = []
        self.violations: list[str] = []
        self.connections = 0
        self.pings_answered = 0
        self.ended: set[int] = set()
        self._accepted: set[str] = set()
        self._tokens: dict[str, int] = {}
        self._lock = threading.Lock()

    def serve(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        """Serves an accepted connection until one side closes it."""
        with self._lock:
            self.connections += 1
            number = self.connections
        try:
            connection.settimeout(60)
            with context.wrap_socket(connection, server_side=True) as secure:
                if secure.selected_alpn_protocol() != "h2":
                    self.note(f"a connection speaks {secure.selected_alpn_protocol()}, not h2")
                    return
                Conversation(self, number, secure).run()
        except OSError:
            connection.close()

    def note(self, sentence: str) -> None:
        with self._lock:
            self._note(sentence)

    def _note(self, sentence: str) -> None:
        if sentence not in self.violations:
            self.violations.append(sentence)

    def of(self, device: str) -> list[Attempt]:
        """The attempts for a device, in order."""
        with self._lock:
            return [attempt for attempt in self.attempts if attempt.device == device]

    def accepted(self, device: str) -> list[Attempt]:
        return [attempt for attempt in self.of(device) if attempt.is_accepted]

    def bearer_tokens(self) -> list[str]:
        """All provider tokens that were presented, in order."""
        return list(self._tokens)

    # Called by a conversation.

    def begin(self, attempt: Attempt) -> None:
        with self._lock:
            self.attempts.append(attempt)
            script = self.script.get(attempt.device, [])
            attempt.action = script.pop(0) if script else ("accept",)
            if attempt.id in self._accepted:
                self._note(f"{attempt.device} receives an accepted notification again")
        self._check_headers(attempt.headers)
        self._check_token(attempt.headers.get("authorization", ""))

    def ends(self, connection: int) -> None:
        """The client has received GOAWAY: its acknowledgement of a later PING has arrived."""
        with self._lock:
            self.ended.add(connection)

    def answered(self, attempt: Attempt) -> None:
        with self._lock:
            attempt.is_accepted = True
            self._accepted.add(attempt.id)

    def _check_headers(self, headers: dict) -> None:
        wanted = {
            ":method": "POST", ":scheme": "https", ":authority": HOST, "apns-topic": self.topic,
            "apns-push-type": "alert", "apns-priority": "10",
        }
        for name, value in wanted.items():
            if headers.get(name) != value:
                self.note(f"{name} is {headers.get(name)}")
        if not re.fullmatch("/3/device/[0-9a-f]+", headers.get(":path", "")):
            self.note(f":path is {headers.get(':path')}")
        if not UUID.fullmatch(headers.get("apns-id", "")):
            self.note("apns-id is not a UUID in lower case")
        if not 0 < len(headers.get("apns-collapse-id", "").encode()) <= 64:
            self.note("apns-collapse-id has 1 to 64 bytes")
        if not headers.get("apns-expiration", "").isdigit():
            self.note("apns-expiration is seconds since 1970")
        if "expect" in headers:
            self.note("expect: APNs does not reply with 100")

    def _check_token(self, header: str) -> None:
        scheme, _, text = header.partition(" ")
        if scheme != "bearer":
            return self.note("authorization is not a bearer token")
        try:
            claims = jwt.decode(text, self.public_key, algorithms=["ES256"], options={"verify_iat": False})
            header = jwt.get_unverified_header(text)
        except jwt.InvalidTokenError as error:
            return self.note(f"the provider token is invalid: {error}")
        if header.get("kid") != self.key_id or claims.get("iss") != self.team_id:
            self.note("the provider token has the wrong key or team")
        age = time.time() - claims["iat"]
        if not -5 <= age <= TOKEN_LIFE_SECONDS:
            self.note(f"the provider token is {age:.0f} s old")
        with self._lock:
            for other, issued in self._tokens.items():
                if other != text and abs(issued - claims["iat"]) < TOKEN_CHANGE_SECONDS:
                    self._note("two provider tokens within 20 minutes")
            self._tokens[text] = claims["iat"]
        return None

    def check_body(self, attempt: Attempt) -> None:
        try:
            alert = json.loads(attempt.body)["aps"]["alert"]
        except (ValueError, KeyError, TypeError):
            alert = None
        if not isinstance(alert, str) or len(attempt.body) > PAYLOAD_BYTES:
            self.note("the payload is not an alert of at most 4,096 bytes")
        length = attempt.headers.get("content-length")
        if length is not None and int(length) != len(attempt.body):
            self.note(f"content-length is {length}, the body has {len(attempt.body)}")


class Conversation:
    """One connection."""

    def __init__(self, server: APNsServer, number: int, connection: ssl.SSLSocket):
        self.server, self.number, self.connection = server, number, connection
        self.streams: dict[int, Attempt] = {}
        self.is_over = False
        # Streams above it are ignored once GOAWAY was sent: their frames crossed it in transit.
        self.last_stream: int | None = None
        self.http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))

    def run(self) -> None:
        self.http.initiate_connection()
        # Takes effect once the client acknowledges it; the first stream may have begun by then.
        self.http.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES, SettingCodes.MAX_CONCURRENT_STREAMS: 1})
        self.http.ping(b"stillthe")
        self.flush()
        while not self.is_over and (data := self.connection.recv(65_536)):
            try:
                events = self.http.receive_data(data)
            except ProtocolError as error:
                self.server.note(f"HTTP/2: {error}")
                return
            for event in events:
                if isinstance(event, RequestReceived):
                    self.begin(event)
                elif isinstance(event, DataReceived):
                    self.take(event)
                elif isinstance(event, StreamEnded):
                    self.end(event.stream_id)
                elif isinstance(event, PingAckReceived):
                    self.server.pings_answered += 1
                    if event.ping_data == b"go away!":
                        self.server.ends(self.number)
            self.flush()

    def begin(self, event: RequestReceived) -> None:
        if self.last_stream is not None and event.stream_id > self.last_stream:
            if self.number in self.server.ended:
                self.server.note("a stream begins after GOAWAY")
            return None
        headers = dict(event.headers)
        device = headers.get(":path", "").rpartition("/")[2]
        attempt = Attempt(device, self.number, event.stream_id, headers)
        self.streams[event.stream_id] = attempt
        self.server.begin(attempt)
        if attempt.action[0] == "go away amid the body":
            # Whatever its outcome, the rest of the body is not requested.
            return self.go_away(event.stream_id - 2)
        self.http.increment_flow_control_window(PAYLOAD_BYTES * 4, event.stream_id)
        return None

    def take(self, event: DataReceived) -> None:
        if event.stream_id in self.streams:
            self.streams[event.stream_id].body += event.data
        if event.flow_controlled_length:
            self.http.increment_flow_control_window(event.flow_controlled_length)

    def end(self, stream: int) -> None:
        if stream not in self.streams:
            return
        attempt = self.streams[stream]
        attempt.is_whole = True
        self.server.check_body(attempt)
        match attempt.action:
            case ("accept",):
                self.accept(attempt)
            case ("accept, then go away",):
                self.accept(attempt)
                self.go_away(stream)
            case ("go away, then accept",):
                self.go_away(stream)
                self.accept(attempt)
            case ("go away, refused",):
                self.go_away(stream - 2)
            case ("refuse",):
                self.http.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
            case ("reset",):
                self.http.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)
            case ("hang up",):
                self.is_over = True
            case ("status", status, reason, more):
                body = json.dumps(reason).encode()
                self.http.send_headers(
                    stream, [(":status", str(status)), ("apns-id", attempt.id), *more,
                             ("content-length", str(len(body)))])
                self.http.send_data(stream, body, end_stream=True)

    def accept(self, attempt: Attempt) -> None:
        self.server.answered(attempt)
        self.http.send_headers(
            attempt.stream, [(":status", "200"), ("apns-id", attempt.id), ("content-length", "0")], end_stream=True)

    def go_away(self, last_stream: int) -> None:
        """Rejects streams after `last_stream`. Built manually, since h2 would abort the streams before it."""
        self.last_stream = max(0, last_stream)
        self.flush()
        self.http.ping(b"go away!")
        frame = GoAwayFrame(0, last_stream_id=max(0, last_stream), error_code=0,
                            additional_data=b'{"reason":"Shutdown"}')
        self.connection.sendall(frame.serialize())

    def flush(self) -> None:
        if data := self.http.data_to_send():
            self.connection.sendall(data)


def provider_token(key, key_id: str, team_id: str, issued_at: int) -> str:
    """A provider token as created by a client."""
    return jwt.encode({"iss": team_id, "iat": issued_at}, key, algorithm="ES256", headers={"kid": key_id})


def server_context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS like Apple's servers: HTTP/2 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    return context
