"""A complete server with moto's SNS instead of Amazon's: devices register, and moto receives a commit's announcement.

usage: sns_push.py STACK-SCRIPT DIR BUILD
"""

import json
import sys
import uuid
from pathlib import Path

import boto3
import push_stack
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer
from moto.sns.models import sns_backends
from push_stack import Person, Stack, check, eventually

REGION = "us-west-2"


def is_enabled(endpoint) -> bool:
    return str(endpoint.attributes.get("Enabled")).lower() == "true"


moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
moto.start()
host, port = moto.get_host_and_port()
# The setup that the app maker has done once at Amazon.
client = boto3.client(
    "sns", region_name=REGION, endpoint_url=f"http://{host}:{port}", aws_access_key_id="AKIDEXAMPLE",
    aws_secret_access_key="secret")
application = client.create_platform_application(
    Name="App", Platform="APNS", Attributes={"PlatformCredential": "x"})["PlatformApplicationArn"]
folder = Path(sys.argv[2])
stack = Stack(sys.argv[1], folder, sys.argv[3], {
    "awssns": {"accessKeyId": "AKIDEXAMPLE", "secretKey": "planted-secret", "region": REGION,
               "platformApplicationArn": application},
    "log": {"level": "debug"},
})
(folder / "sns-server").write_text(f"{host}:{port}\n", encoding="ascii")

try:
    stack.up()
    backend = sns_backends[DEFAULT_ACCOUNT_ID][REGION]

    def sent(user: int) -> list[str]:
        topic = backend.topics.get(f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{user}")
        return [] if topic is None else [notification[1] for notification in topic.sent_notifications]

    def listeners(user: int) -> list[str]:
        topic = f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{user}"
        return [one.endpoint for one in backend.subscriptions.values() if one.topic.arn == topic]

    alice, bob = Person(stack, "google", "Alice Example"), Person(stack, "facebook", "Bob Example")
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
    check("a device registers three times", answers == [(200, {})] * 3, answers)
    check("it has one endpoint, subscribed once", len(backend.platform_endpoints) == 1 and len(listeners(bob_id)) == 1,
          listeners(bob_id))
    endpoint = next(iter(backend.platform_endpoints.values()))
    check("the endpoint belongs to the device, and is enabled",
          endpoint.token == token and is_enabled(endpoint), endpoint.attributes)

    client.set_endpoint_attributes(EndpointArn=endpoint.arn, Attributes={"Enabled": "false"})
    answer = bob.ask("RegisterPushNotificationToken", pushNotificationToken=token)
    check("a device that SNS had disabled is enabled again",
          answer == (200, {}) and is_enabled(endpoint), (answer, endpoint.attributes))

    second = bob.on_another_device()
    answer = second.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("a second device subscribes to the same topic", answer == (200, {}) and len(listeners(bob_id)) == 2, answer)
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
        check("it has the three members, each with a payload as text",
              set(members) == {"APNS_SANDBOX", "APNS", "default"}
              and all(json.loads(text) == payload for text in members.values()), members)
    check("the sender is not notified", sent(alice_id) == [], sent(alice_id))

    carol = Person(stack, "google", "Carol")
    status, reply = carol.ask("AddUser", sharingGroupUUID=str(uuid.uuid4()).upper(), cloudFolderName="F")
    assert status == 200, reply
    carol.device = bob.device
    answer = carol.ask("RegisterPushNotificationToken", pushNotificationToken=token)
    check("signing in as another person ends a device's subscription to the first one's topic",
          answer == (200, {}) and endpoint.arn not in listeners(bob_id) and listeners(reply["userId"]) == [endpoint.arn],
          (answer, listeners(bob_id)))

    topic = f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{bob_id}"
    status, reply = bob.ask("RemoveUser")
    check("a user's departure deletes the topic", status == 200 and eventually(lambda: topic not in backend.topics),
          (status, reply))

    client.delete_topic(TopicArn=f"arn:aws:sns:{REGION}:{DEFAULT_ACCOUNT_ID}:{alice_id}")
    answer = alice.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("a missing topic is created again", answer == (200, {}) and len(listeners(alice_id)) == 1, answer)

    client.delete_platform_application(PlatformApplicationArn=application)
    status, reply = alice.ask("RegisterPushNotificationToken", pushNotificationToken=uuid.uuid4().hex * 2)
    check("an application unknown to SNS is an error", status == 502, (status, reply))

    # All logs of the stack: no secret, no token, no users' text.
    logs = stack.logs()
    check("the logs record pushes", b"Outbox item done" in logs)
    for name, text in (("the secret key", "planted-secret"), ("a device's token", token), ("a message", message[:8])):
        check(f"no log has {name}", text.encode() not in logs)
finally:
    stack.down()
    moto.stop()
sys.exit(1 if push_stack.failures else 0)
