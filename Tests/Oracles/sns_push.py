"""A whole server, and moto's SNS in the place of Amazon's: devices register, a commit is announced, and moto has it.

usage: sns_push.py STACK-SCRIPT DIR BUILD
"""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

import boto3
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer
from moto.sns.models import sns_backends

REGION = "us-west-2"
DEADLINE_SECONDS = 20.0

stack, folder, build = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
failures = 0


def check(what: str, holds: bool, found: object = "") -> None:
    global failures
    print(f"ok: {what}" if holds else f"not ok: {what}: {found}")
    failures += 0 if holds else 1


def call(url: str, method: str = "GET", headers: dict | None = None, body: bytes | None = None) -> tuple[int, dict]:
    request = urllib.request.Request(url, data=body, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, json.loads(reply.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def is_enabled(endpoint) -> bool:
    return str(endpoint.attributes.get("Enabled")).lower() == "true"


class Person:
    """A signed-in person on one device."""

    def __init__(self, provider: str, name: str, like: "Person | None" = None):
        self.device = str(uuid.uuid4()).upper()
        if like is not None:
            self.headers = like.headers
            return
        body = json.dumps({"provider": provider, "name": name}).encode()
        status, account = call(
            environment["SANDBOX_URL"] + "/sandbox/accounts", "POST", {"Content-Type": "application/json"}, body)
        assert status == 201, account
        self.headers = account["headers"]

    def ask(self, endpoint: str, method: str = "POST", **parameters: object) -> tuple[int, dict]:
        query = urllib.parse.urlencode(sorted(parameters.items()), quote_via=urllib.parse.quote)
        return call(
            f"{environment['SYNC_HTTP_URL']}/{endpoint}/?{query}", method,
            self.headers | {"SyncServer-Device-UUID": self.device})


def eventually(condition) -> bool:
    limit = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < limit:
        if condition():
            return True
        time.sleep(0.1)
    return False


moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
moto.start()
host, port = moto.get_host_and_port()
# What the app maker has done once at Amazon.
client = boto3.client(
    "sns", region_name=REGION, endpoint_url=f"http://{host}:{port}", aws_access_key_id="AKIDEXAMPLE",
    aws_secret_access_key="secret")
application = client.create_platform_application(
    Name="App", Platform="APNS", Attributes={"PlatformCredential": "x"})["PlatformApplicationArn"]
folder.mkdir(parents=True, exist_ok=True)
(folder / "sns-server").write_text(f"{host}:{port}\n", encoding="ascii")
(folder / "syncd-overrides.json").write_text(json.dumps({
    "awssns": {"accessKeyId": "AKIDEXAMPLE", "secretKey": "planted-secret", "region": REGION,
               "platformApplicationArn": application},
    "log": {"level": "debug"},
}), encoding="ascii")

try:
    subprocess.run([stack, "up", str(folder), "--responders", "1", "--build", build], check=True,
                   stdout=subprocess.DEVNULL)
    lines = subprocess.run([stack, "env", str(folder)], check=True, capture_output=True, text=True).stdout.splitlines()
    environment = {key: value.strip("'\"") for key, value in (line.split("=", 1) for line in lines if "=" in line)}
    backend = sns_backends[DEFAULT_ACCOUNT_ID][REGION]

    def sent(user: int) -> list[str]:
        topic = backend.topics.get(f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{user}")
        return [] if topic is None else [notification[1] for notification in topic.sent_notifications]

    def listeners(user: int) -> list[str]:
        topic = f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{user}"
        return [one.endpoint for one in backend.subscriptions.values() if one.topic.arn == topic]

    alice, bob = Person("google", "Alice Example"), Person("facebook", "Bob Example")
    group = str(uuid.uuid4()).upper()
    status, reply = alice.ask("AddUser", sharingGroupUUID=group, sharingGroupName="Tom & Jerry", cloudFolderName="F")
    assert status == 200, reply
    alice_id = reply["userId"]
    _, invitation = alice.ask("CreateSharingInvitation", permission="read", sharingGroupUUID=group)
    status, reply = bob.ask("RedeemSharingInvitation", sharingInvitationUUID=invitation["sharingInvitationUUID"])
    assert status == 200, reply
    bob_id = reply["userId"]

    token = uuid.uuid4().hex * 2
    answers = [bob.ask("RegisterPushNotificationToken", pushNotificationToken=token) for _ in range(3)]
    check("a device registers, three times over", answers == [(200, {})] * 3, answers)
    check("it has one endpoint and listens once", len(backend.platform_endpoints) == 1 and len(listeners(bob_id)) == 1,
          listeners(bob_id))
    endpoint = next(iter(backend.platform_endpoints.values()))
    check("the endpoint is the device's, switched on",
          endpoint.token == token and is_enabled(endpoint), endpoint.attributes)

    client.set_endpoint_attributes(EndpointArn=endpoint.arn, Attributes={"Enabled": "false"})
    answer = bob.ask("RegisterPushNotificationToken", pushNotificationToken=token)
    check("a device that SNS had switched off is switched on again",
          answer == (200, {}) and is_enabled(endpoint), (answer, endpoint.attributes))

    second = Person("facebook", "", like=bob)
    answer = second.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("a second device listens to the same topic", answer == (200, {}) and len(listeners(bob_id)) == 2, answer)
    answer = alice.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("the sender registers, too", answer == (200, {}) and len(listeners(alice_id)) == 1, answer)

    message = "100% & “done” + 🎉"
    status, reply = alice.ask(
        "DoneUploads", masterVersion=1, sharingGroupUUID=group, pushNotificationMessage=message)
    check("the commit is accepted", status == 200, reply)
    check("one message is published to the other member's topic", eventually(lambda: len(sent(bob_id)) == 1),
          sent(bob_id))
    if sent(bob_id):
        members = json.loads(sent(bob_id)[0])
        payload = {"aps": {"alert": f"Alice Example, Tom & Jerry: {message}", "sound": "default"}}
        check("it has the three members, each a payload as text",
              set(members) == {"APNS_SANDBOX", "APNS", "default"}
              and all(json.loads(text) == payload for text in members.values()), members)
    check("the sender is told nothing", sent(alice_id) == [], sent(alice_id))

    carol = Person("google", "Carol")
    status, reply = carol.ask("AddUser", sharingGroupUUID=str(uuid.uuid4()).upper(), cloudFolderName="F")
    assert status == 200, reply
    carol.device = bob.device
    answer = carol.ask("RegisterPushNotificationToken", pushNotificationToken=token)
    check("a device that another person signs in on stops listening to the first one's topic",
          answer == (200, {}) and endpoint.arn not in listeners(bob_id) and listeners(reply["userId"]) == [endpoint.arn],
          (answer, listeners(bob_id)))

    topic = f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{bob_id}"
    status, reply = bob.ask("RemoveUser")
    check("a user who leaves takes the topic along", status == 200 and eventually(lambda: topic not in backend.topics),
          (status, reply))

    client.delete_topic(TopicArn=f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{alice_id}")
    answer = alice.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("a topic that vanished is made anew", answer == (200, {}) and len(listeners(alice_id)) == 1, answer)

    client.delete_platform_application(PlatformApplicationArn=application)
    status, reply = alice.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("an application that SNS does not know is an error", status == 502, (status, reply))

    # Every log of the stack: no secret, no token, nothing that a person wrote.
    logs = b"".join(path.read_bytes() for path in (folder / "logs").rglob("*") if path.is_file())
    for name, text in (("the secret key", "planted-secret"), ("a device's token", token), ("a message", message[:8])):
        check(f"no log has {name}", text.encode() not in logs)
finally:
    subprocess.run([stack, "down", str(folder)], check=False, stdout=subprocess.DEVNULL)
    moto.stop()
sys.exit(1 if failures else 0)
