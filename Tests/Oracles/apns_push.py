"""Checks a complete server against an APNs emulation at the level of HTTP/2 frames: what it pushes, how often, and how.

usage: apns_push.py STACK-SCRIPT DIR BUILD
"""

import sys
import uuid
from pathlib import Path

import push_stack
from apns_server import HOST, APNsServer, server_context
from apns_relay import Relay
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from push_stack import Person, Stack, check, eventually

KEY_ID, TEAM_ID, TOPIC = "SANDBOXAPN", "SANDBOX123", "com.example.sandbox"
THREADS_OF_JOBS = 4
GONE_SINCE_MILLISECONDS = 4_102_444_800_000  # the year 2100: after any registration
PLAIN_DEVICES = 12

folder = Path(sys.argv[2])
relay = Relay()
stack = Stack(sys.argv[1], folder, sys.argv[3], {
    "sandbox": {"connectTo": relay.address, "caFile": str(folder.absolute() / "tls" / "ca.pem")},
    "log": {"level": "debug"},
})
try:
    stack.up()
    key = load_pem_private_key((folder / "sandbox" / "apns-key.pem").read_bytes(), None)
    apns = APNsServer(key.public_key(), KEY_ID, TEAM_ID, TOPIC)
    context = server_context(str(folder / "tls" / "sandbox.pem"), str(folder / "tls" / "sandbox.key"))
    relay.lead(int(stack.environment["SANDBOX_TLS_PORT"]), HOST, lambda connection: apns.serve(connection, context))

    alice, bob = Person(stack, "google", "Alice Example"), Person(stack, "facebook", "Bob Example")
    group = str(uuid.uuid4()).upper()
    alice.must("AddUser", sharingGroupUUID=group, sharingGroupName="Cats", cloudFolderName="F")
    invitation = alice.must("CreateSharingInvitation", permission="read", sharingGroupUUID=group)
    bob.must("RedeemSharingInvitation", sharingInvitationUUID=invitation["sharingInvitationUUID"])
    versions = iter(range(1, 1_000))

    def device(*script: tuple) -> str:
        """The token of a new device of Bob; `actions` are the outcomes of the attempts to notify it."""
        token = uuid.uuid4().hex * 2
        apns.script[token] = list(script)
        bob.on_another_device().must("RegisterPushNotificationToken", pushNotificationToken=token)
        return token

    def announce(message: str) -> None:
        alice.must("DoneUploads", masterVersion=next(versions), sharingGroupUUID=group,
                   pushNotificationMessage=message)

    # Consecutive requests on few connections.
    plain = [device() for _ in range(PLAIN_DEVICES)]
    announce("first")
    check("every device is notified", eventually(lambda: all(apns.accepted(one) for one in plain)))
    check("at most one connection per thread of the jobs role", apns.connections <= THREADS_OF_JOBS,
          apns.connections)
    check("connections are reused",
          max(attempt.stream for one in plain for attempt in apns.of(one)) > PLAIN_DEVICES // THREADS_OF_JOBS)
    check("a PING is answered", eventually(lambda: apns.pings_answered > 0))

    # All kinds of failures at once, each with its own device.
    troubles = {
        "GOAWAY after an answer": ("accept, then go away",),
        "GOAWAY that allows the stream to finish": ("go away, then accept",),
        "GOAWAY before the stream was processed": ("go away, refused",),
        "GOAWAY during the body": ("go away amid the body",),
        "RST_STREAM with REFUSED_STREAM": ("refuse",),
        "RST_STREAM with INTERNAL_ERROR": ("reset",),
        "the end of the connection": ("hang up",),
        "429 without a time": ("status", 429, {"reason": "TooManyRequests"}, []),
        "429 with a time": ("status", 429, {"reason": "TooManyRequests"}, [("retry-after", "6")]),
        "503 Shutdown": ("status", 503, {"reason": "Shutdown"}, []),
        "500 InternalServerError": ("status", 500, {"reason": "InternalServerError"}, []),
        "403 ExpiredProviderToken": ("status", 403, {"reason": "ExpiredProviderToken"}, []),
    }
    # Two devices each, so that each failure hits both a new and a reused connection.
    devices = {name: [device(action), device(action, action)] for name, action in troubles.items()}
    gone = device(("status", 410, {"reason": "Unregistered", "timestamp": GONE_SINCE_MILLISECONDS}, []))
    bad = device(("status", 400, {"reason": "BadDeviceToken"}, []))
    announce("second")
    for name, tokens in devices.items():
        check(f"after {name} the device is still notified, exactly once",
              eventually(lambda tokens=tokens: all(len(apns.accepted(one)) == 1 for one in tokens), 60.0),
              [[attempt.action for attempt in apns.of(one)] for one in tokens])
    check("a notification accepted before or during GOAWAY is not sent again",
          all(len(apns.of(one)) == 1 for one in [devices["GOAWAY that allows the stream to finish"][0],
                                                 devices["GOAWAY after an answer"][0]]))
    repeated = [attempts for tokens in devices.values() for one in tokens if len(attempts := apns.of(one)) > 1]
    check("a repeated notification has the same apns-id and apns-collapse-id, so that it is displayed once",
          all(len({(one.id, one.headers.get("apns-collapse-id")) for one in attempts}) == 1 for attempts in repeated))
    check("notifications of different devices have different ones",
          len({apns.of(one)[0].id for one in plain}) == len(plain))
    amid = [attempt for one in devices["GOAWAY during the body"] for attempt in apns.of(one)]
    check("a GOAWAY was sent during a body", any(not one.is_whole for one in amid), amid)
    waits = [later.time - sooner.time for one in devices["429 with a time"]
             for sooner, later in zip(apns.of(one), apns.of(one)[1:])]
    check("no attempt is made before the time set by the service", all(wait >= 6 for wait in waits), waits)
    check("one provider token is used throughout, even if the service rejects it", len(apns.bearer_tokens()) == 1,
          len(apns.bearer_tokens()))
    check("an unregistered or unknown device is tried once", len(apns.of(gone)) == len(apns.of(bad)) == 1)

    # Nothing is lost if idle connections close; and unregistered devices stay unregistered.
    before = {one: len(apns.accepted(one)) for tokens in [plain, *devices.values()] for one in tokens}
    announce("third")
    check("the next message reaches every remaining device, once",
          eventually(lambda: all(len(apns.accepted(one)) == count + 1 for one, count in before.items())))
    check("an unregistered or unknown device is removed", len(apns.of(gone)) == len(apns.of(bad)) == 1)
    bodies = {attempt.body for one in plain for attempt in apns.of(one)}
    check("the payload has the text", bodies == {
        f'{{"aps":{{"alert":"Alice Example, Cats: {word}","sound":"default"}}}}'.encode()
        for word in ("first", "third", "second")}, bodies)
    check("no rule of Apple's or of HTTP/2 was broken", not apns.violations, apns.violations)
    logs = stack.logs()
    check("the logs record pushes", b"Outbox item done" in logs)
    for name, text in (("a device's token", plain[0]), ("a provider token", (apns.bearer_tokens() or ["?"])[0])):
        check(f"no log has {name}", text.encode() not in logs)
finally:
    stack.down()
    relay.close()
sys.exit(1 if push_stack.failures else 0)
