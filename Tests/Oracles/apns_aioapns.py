"""Checks the sandbox's APNs with aioapns, an independent client of Apple's push service, unmodified.

Names resolve to the sandbox. Exit status 0 if the sandbox behaves like Apple; otherwise 1, and a line per failure.
"""

import asyncio
import os
import pathlib
import socket
import ssl
import time
import uuid
from types import SimpleNamespace

from sandbox import CA, PORT, broken_rules, check, control, run

from aioapns import APNs, NotificationRequest, PushType  # noqa: E402
from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

KEY_ID, TEAM_ID, TOPIC = "SANDBOXAPN", "SANDBOX123", "com.example.sandbox"


def new_key():
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


class Loop(asyncio.SelectorEventLoop):
    """Every name and port resolves to the sandbox; TLS still uses the name."""

    def __init__(self):
        super().__init__()
        self.hosts = set()
        self.failures = []
        # An interrupted connection does not fail a request: the client reconnects.
        self.set_exception_handler(lambda _, context: self.failures.append(repr(context.get("exception"))))

    async def getaddrinfo(self, host, port, **options):
        self.hosts.add((host, port))
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", PORT))]


async def conversation():
    key = new_key()
    (pathlib.Path(os.environ["SANDBOX_STATE"]) / "apns-key.pem").write_text(key, encoding="ascii")

    # Apple also assumes HTTP/2 without ALPN; nginx requires ALPN (RFC 9113, section 3.2).
    context = ssl.create_default_context(cafile=CA)
    context.set_alpn_protocols(["h2"])

    def client(**changes):
        options = {"key": key, "key_id": KEY_ID, "team_id": TEAM_ID, "topic": TOPIC} | changes
        return APNs(ssl_context=context, max_connection_attempts=1, **options)

    async def send(token, by=None, **changes):
        options = {"message": {"aps": {"alert": "Hello"}}, "push_type": PushType.ALERT} | changes
        return await asyncio.wait_for(
            (by or apple).send_notification(NotificationRequest(device_token=token, **options)), 20)

    def device(**script):
        token = uuid.uuid4().hex * 2
        if script:
            control("POST", "/sandbox/push-tokens", {"token": token, **script})
        return token

    def arrived(token):
        return [push["text"] for push in control("GET", f"/sandbox/pushes?token={token}")]

    apple = client()
    tokens = [device() for _ in range(20)]
    results = await asyncio.gather(*(send(token, priority=10, collapse_key="a", time_to_live=60) for token in tokens))
    check(all(result.is_successful for result in results), "twenty simultaneous notifications are accepted")
    check(len({result.notification_id for result in results}) == 20, "each reply has the notification's own id")
    check(all(arrived(token) == ["Hello"] for token in tokens), "the sandbox lists each of them once")
    check(len(apple.pool.connections) == 1, "all of them use one connection")

    token = device()
    await send(token, message={"aps": {"alert": {"title": "T", "body": "Body 🎉"}}})
    check(arrived(token) == ["Body 🎉"], "an alert can have a title and a body")
    token = device()
    result = await send(token, push_type=None)
    check(result.is_successful and arrived(token) == ["Hello"], "a notification without a type is an alert")
    check(broken_rules() == [], "a client that follows the rules causes no violation")

    since = time.time() - 3_600
    result = await send(device(outcome="unregistered", sinceSecondsAgo=3_600))
    check((result.status, result.description) == ("410", "Unregistered"), "an unregistered device: 410 Unregistered")
    check(abs(int(result.timestamp or 0) - since * 1_000) < 60_000, "the time of unregistration is in milliseconds")
    for words, script, status, reason in (
            ("a token that Apple never issued", {"outcome": "bad"}, "400", "BadDeviceToken"),
            ("a token of the other environment", {"environment": "sandbox"}, "400", "BadDeviceToken"),
            ("too many notifications for one device", {"outcome": "rateLimited"}, "429", "TooManyRequests")):
        token = device(**script)
        result = await send(token)
        check((result.status, result.description) == (status, reason), f"{words}: {status} {reason}")
        check(arrived(token) == [], f"{words}: nothing arrives")
    for words, options, changes, status, reason in (
            ("a token signed with another key", {"key": new_key()}, {}, "403", "InvalidProviderToken"),
            ("a token of another team", {"team_id": "OTHER12345"}, {}, "403", "InvalidProviderToken"),
            ("a token with another key id", {"key_id": "OTHER12345"}, {}, "403", "InvalidProviderToken"),
            ("another app's topic", {"topic": "com.example.other"}, {}, "400", "TopicDisallowed"),
            ("an unknown push type", {}, {"push_type": SimpleNamespace(value="shout")}, "400", "InvalidPushType"),
            ("an unknown priority", {}, {"priority": 7}, "400", "BadPriority"),
            ("a collapse id of 65 bytes", {}, {"collapse_key": "x" * 65}, "400", "BadCollapseId"),
            ("a payload of more than 4,096 bytes", {}, {"message": {"aps": {"alert": "x" * 4_096}}}, "413",
             "PayloadTooLarge"),
            ("an id that is not a UUID", {}, {"notification_id": "1"}, "400", "BadMessageId")):
        before = len(broken_rules())
        token = device()
        result = await send(token, client(**options), **changes)
        check((result.status, result.description) == (status, reason), f"{words}: {status} {reason}")
        check(arrived(token) == [] and len(broken_rules()) == before + 1,
              f"{words}: nothing arrives, and the violation is recorded")

    control("POST", "/sandbox/clock", {"offsetSeconds": 3_700})
    result = await send(device())
    check((result.status, result.description) == ("403", "ExpiredProviderToken"), "a token older than an hour: 403")


def main():
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(conversation())
        check(runner.get_loop().failures == [], "the client can read every reply, and keeps its connections")
        check(runner.get_loop().hosts == {("api.push.apple.com", 443)}, "only Apple's own host is requested")


run(main)
