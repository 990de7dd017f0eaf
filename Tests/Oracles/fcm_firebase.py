"""Checks the sandbox's FCM with firebase-admin, Google's official Python library, unmodified.

A proxy redirects Google's hosts to the sandbox. Exit status 0 if the sandbox behaves like Firebase; otherwise 1, and a
line per failure.
"""

import os
import pathlib
import warnings
from unittest import mock

from connect_proxy import ConnectProxy
from sandbox import CA, PORT, broken_rules, check, control, run

import firebase_admin  # noqa: E402
from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: E402
from firebase_admin import credentials, exceptions, messaging  # noqa: E402
from google.auth.exceptions import RefreshError  # noqa: E402

# Installation ids are intended to replace registration tokens, which deployed apps still use.
warnings.simplefilter("ignore", DeprecationWarning)

ACCOUNT = {
    "type": "service_account", "project_id": "sandbox-project", "private_key_id": "sandbox-fcm-key",
    "client_email": "syncserver@sandbox-project.iam.gserviceaccount.com",
    "token_uri": "https://oauth2.googleapis.com/token",
}


def new_key():
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


def client(name, key, **changes):
    return firebase_admin.initialize_app(
        credentials.Certificate(ACCOUNT | {"private_key": key} | changes), {"httpTimeout": 30}, name)


def message(token, **changes):
    return messaging.Message(**({"token": token, "notification": messaging.Notification(body="Hello 🎉")} | changes))


def script(token, outcome):
    control("POST", "/sandbox/push-tokens", {"token": token, "outcome": outcome})
    return token


def arrived(token):
    return [(push["text"], push["id"]) for push in control("GET", f"/sandbox/pushes?token={token}")]


def error_of(action):
    """The type of error raised by `action`; None if it succeeds."""
    try:
        action()
        return None
    except (exceptions.FirebaseError, RefreshError) as error:
        return type(error)


def main():
    key = new_key()
    (pathlib.Path(os.environ["SANDBOX_STATE"]) / "fcm-key.pem").write_text(key, encoding="ascii")
    with ConnectProxy(PORT) as proxy:
        os.environ["HTTPS_PROXY"] = proxy.url
        os.environ["REQUESTS_CA_BUNDLE"] = CA
        converse(key)
        # The library also requests the account's regional trust boundaries, which do not exist here.
        check({"oauth2.googleapis.com", "fcm.googleapis.com"} <= proxy.hosts
              and all(host.endswith(".googleapis.com") for host in proxy.hosts), "only Google's own hosts are requested")


def converse(key):
    app = client("right", key)
    android = messaging.AndroidConfig(
        priority="high", ttl=60, notification=messaging.AndroidNotification(tag="the-tag"))
    apple = messaging.APNSConfig(
        headers={"apns-collapse-id": "the-tag"},
        payload=messaging.APNSPayload(messaging.Aps(sound="default")))
    name = messaging.send(message("device-1", android=android, apns=apple, data={"a": "b"}), app=app)
    check(name.startswith("projects/sandbox-project/messages/"), "a message is accepted and receives a name")
    check(arrived("device-1") == [("Hello 🎉", "the-tag")], "the sandbox lists its text and its tag")

    script("device-3", "unregistered")
    batch = messaging.send_each([message(f"device-{number}") for number in (2, 3, 4)], app=app)
    check([reply.success for reply in batch.responses] == [True, False, True],
          "of three simultaneous messages, the one to an unregistered device fails")
    check(isinstance(batch.responses[1].exception, messaging.UnregisteredError), "an unregistered device: Unregistered")
    tokens = [entry for entry in control("GET", "/sandbox/requests") if entry["path"] == "/token"]
    check(len(tokens) == 1, "all messages use one access token")
    check(broken_rules() == [], "a client that follows the rules causes no violation")

    for words, outcome, kind in (("a token that Firebase never issued", "bad", exceptions.InvalidArgumentError),
                                 ("too many messages for one device", "rateLimited", messaging.QuotaExceededError)):
        script("device-5", outcome)
        # The client waits as long as requested before it fails.
        with mock.patch("urllib3.util.retry.time.sleep") as sleep:
            found = error_of(lambda: messaging.send(message("device-5"), app=app))
        check(found is kind, f"{words}: {kind.__name__}")
        check(arrived("device-5") == [], f"{words}: nothing arrives")
        waits = {call.args[0] for call in sleep.call_args_list}
        check(waits == ({60} if outcome == "rateLimited" else set()), f"{words}: the client waits as requested")
    found = error_of(lambda: messaging.send(message("device-6", data={"x": "y" * 4_096}), app=app))
    check(found is exceptions.InvalidArgumentError, "a message of more than 4,096 bytes is rejected")
    check(arrived("device-6") == [] and "message" in broken_rules(), "nothing arrives, and the violation is recorded")

    for words, other in (("another key", client("key", new_key())),
                         ("another account", client("account", key, client_email="someone@example.com"))):
        before = len(broken_rules())
        found = error_of(lambda other=other: messaging.send(message("device-7"), app=other))
        check(found is RefreshError, f"{words}: no access token")
        check(arrived("device-7") == [] and len(broken_rules()) == before + 1,
              f"{words}: nothing arrives; a violation is recorded")
    found = error_of(lambda: messaging.send(message("device-7"), app=client("project", key, project_id="another")))
    check(found is exceptions.NotFoundError, "another project: not found")


run(main)
