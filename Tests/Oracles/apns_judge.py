"""Checks that the emulated APNs of these tests detects clients that break the rules.

usage: apns_judge.py     Speaks to the server without TLS, over a pair of sockets; prints a line for each rule.
"""

import json
import socket
import sys
import threading
import time
import uuid

import push_stack
from apns_server import HOST, APNsServer, Conversation, provider_token
from cryptography.hazmat.primitives.asymmetric import ec
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import PingReceived, ResponseReceived
from push_stack import check, eventually

KEY_ID, TEAM_ID, TOPIC = "KEY4567890", "TEAM567890", "com.example.app"
GOAWAY = b"\x07"  # a frame's type (RFC 9113, section 6.8)
KEY = ec.generate_private_key(ec.SECP256R1())


def token(issued_seconds_ago: int, key=KEY, key_id: str = KEY_ID) -> str:
    return provider_token(key, key_id, TEAM_ID, int(time.time()) - issued_seconds_ago)


class Client:
    """Obeys all rules except the selected ones."""

    def __init__(self, server: APNsServer):
        ours, theirs = socket.socketpair()
        self.socket = ours
        self.token = token(0)
        self.socket.settimeout(20)
        self.http = H2Connection(H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False))
        self.thread = threading.Thread(target=Conversation(server, 1, theirs).run)
        self.thread.start()
        self.http.initiate_connection()

    def send(self, changes: dict | None = None, payload: object = None, token: str | None = None) -> None:
        """Sends one notification, and waits for the reply. Changing a header to None omits it."""
        headers = {
            ":method": "POST", ":scheme": "https", ":authority": HOST, ":path": "/3/device/0a1b",
            "authorization": "bearer " + (token or self.token), "apns-topic": TOPIC, "apns-push-type": "alert", "apns-priority": "10",
            "apns-expiration": "1800000000", "apns-id": str(uuid.uuid4()), "apns-collapse-id": "a",
        } | (changes or {})
        stream = self.http.get_next_available_stream_id()
        self.http.send_headers(stream, [(name, value) for name, value in headers.items() if value is not None])
        body = json.dumps(payload or {"aps": {"alert": "Hi"}}).encode()
        while True:
            if body and self.http.local_flow_control_window(stream) >= len(body):
                self.http.send_data(stream, body, end_stream=True)
                body = b""
            self.socket.sendall(self.http.data_to_send())
            if any(isinstance(one, ResponseReceived) for one in self.receive()):
                return

    def receive(self) -> list:
        """Waits for a frame, and ignores GOAWAY, after which h2 would process nothing more."""
        head = self.socket.recv(9, socket.MSG_WAITALL)
        payload = self.socket.recv(int.from_bytes(head[:3], "big"), socket.MSG_WAITALL)
        events = [] if head[3:4] == GOAWAY else self.http.receive_data(head + payload)
        self.socket.sendall(self.http.data_to_send())
        return events

    def close(self) -> None:
        self.socket.close()
        self.thread.join()


def violations(send) -> list[str]:
    """The violations that the server records for a client."""
    server = APNsServer(KEY.public_key(), KEY_ID, TEAM_ID, TOPIC)
    client = Client(server)
    try:
        send(client, server)
    except OSError:
        pass  # the server has closed the connection
    finally:
        client.close()
    return server.violations


def notices(what: str, sentence: str, send) -> None:
    found = violations(send)
    check(f"noticed: {what}", any(sentence in one for one in found), found)


def twice(client: Client, _: APNsServer) -> None:
    same = {"apns-id": str(uuid.uuid4())}
    client.send(same)
    client.send(same)


def after_goaway(client: Client, server: APNsServer) -> None:
    server.script["0a1b"] = [("accept, then go away",)]
    client.send()
    while not any(isinstance(one, PingReceived) for one in client.receive()):
        pass
    eventually(lambda: server.ended)
    client.socket.settimeout(1)
    client.send()


found = violations(lambda client, _: [client.send() for _ in range(3)])
check("a client that follows the rules causes no violation", not found, found)
for name, value in (("apns-topic", None), ("apns-topic", "com.example.other"), ("apns-push-type", None),
                    (":authority", "api.push.example.com"), (":path", "/3/device/XYZ"), ("apns-id", "1"),
                    ("apns-collapse-id", "x" * 65), ("apns-expiration", "soon")):
    notices(f"{name}: {value}", name, lambda client, _, name=name, value=value: client.send({name: value}))
notices("a header of HTTP/1", "HTTP/2: ", lambda client, _: client.send({"connection": "keep-alive"}))
notices("no provider token", "not a bearer token", lambda client, _: client.send({"authorization": "Basic x"}))
notices("a token signed with another key", "is invalid",
        lambda client, _: client.send(token=token(0, ec.generate_private_key(ec.SECP256R1()))))
notices("another key id", "wrong key or team", lambda client, _: client.send(token=token(0, key_id="OTHER")))
notices("a token of 61 minutes", "s old", lambda client, _: client.send(token=token(3_660)))
notices("two tokens within 19 minutes", "two provider tokens",
        lambda client, _: [client.send(token=token(age)) for age in (1_140, 0)])
notices("a payload that is not an alert", "payload", lambda client, _: client.send(payload={"aps": {}}))
notices("a payload that is too large", "payload", lambda client, _: client.send(payload={"aps": {"alert": "x" * 4_090}}))
notices("a repeated accepted notification", "accepted notification again", twice)
notices("a stream after GOAWAY", "after GOAWAY", after_goaway)
sys.exit(1 if push_stack.failures else 0)
