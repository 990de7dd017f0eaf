"""Information that schemathesis lacks: who may sign in, which groups and files exist, and which requests make sense.

Loaded by `schemathesis run` through SCHEMATHESIS_HOOKS. Most generated requests receive the headers of a sandbox user;
most of those receive the identifiers, versions and checksums that they need to succeed. The rest are sent as generated.
Writes the number of replies by operation to the file named by OPENAPI_COUNTS.
"""

import atexit
import copy
import hashlib
import json
import os
import random
import subprocess
import threading
import uuid
from collections import Counter, defaultdict

import requests
import schemathesis

SERVER = os.environ["SYNC_HTTP_URL"]
SANDBOX = os.environ["SANDBOX_URL"]
CHANCE = random.Random(int(os.environ.get("OPENAPI_SEED", "1")))
# Out of ten requests, the number that are signed in, and out of ten of those, the number that are made valid.
SIGNED_IN, SENSIBLE = 9, 7

counts: dict[str, Counter] = defaultdict(Counter)
web = requests.Session()
lock = threading.RLock()


def new_uuid() -> str:
    # Not from CHANCE: a seed may be reused on the same stack, where its earlier UUIDs exist.
    return str(uuid.uuid4()).upper()


class Person:
    """A sandbox account on one device."""

    def __init__(self, provider: str):
        self.account = web.post(f"{SANDBOX}/sandbox/accounts", json={"provider": provider, "name": "Schema Tester"}).json()
        self.headers = {**self.account["headers"], "SyncServer-Device-UUID": new_uuid()}

    def call(self, method: str, endpoint: str, body: bytes | None = None, **parameters) -> requests.Response:
        return web.request(method, f"{SERVER}/{endpoint}/", params=parameters, headers=self.headers, data=body)

    def with_headers(self, headers: dict) -> "Person":
        """The same person with additional headers."""
        other = copy.copy(self)
        other.headers = {**self.headers, **headers}
        return other

    def with_new_code(self) -> "Person":
        """The same person after another sign-in at the provider."""
        address = f"{SANDBOX}/sandbox/accounts/{self.account['id']}"
        web.post(f"{address}/new-authorization-code", json={}).raise_for_status()
        return self.with_headers(web.get(address).json()["headers"])

    def sign_up(self) -> "Person":
        self.group = new_uuid()
        self.call("POST", "AddUser", sharingGroupUUID=self.group, cloudFolderName="Schema").raise_for_status()
        return self

    def redeem(self, invitation: str) -> dict:
        return self.call("POST", "RedeemSharingInvitation", sharingInvitationUUID=invitation).json()


def make_older(grant: str) -> None:
    """Backdates a device's grant and its last use by a month, since a younger grant does not count."""
    subprocess.run(
        ["mariadb", "--no-defaults", f"--socket={os.environ['DB_SOCKET']}", "--execute",
         "UPDATE device_grants SET created_at = created_at - INTERVAL 30 DAY, signed_in_at = UTC_TIMESTAMP() "
         f"WHERE grant_hash = UNHEX(SHA2('{grant}', 256))", os.environ["DB_NAME"]],
        check=True)


class Move:
    """A person with a file and, on the same device, the account to switch to, with a device grant."""

    body = b"Hello World"

    def __init__(self) -> None:
        before = Person("google").sign_up()
        identity = before.call("GET", "CheckCreds", reportIdentity="1").json()
        self.identity, self.group, self.file = identity["userAppId"], before.group, new_uuid()
        before.call("POST", "UploadFile", self.body, fileUUID=self.file, sharingGroupUUID=self.group, mimeType="text/plain",
                    fileVersion=0, masterVersion=0, checkSum=hashlib.md5(self.body).hexdigest()).raise_for_status()
        before.call("POST", "DoneUploads", sharingGroupUUID=self.group, masterVersion=0).raise_for_status()
        make_older(identity["deviceGrant"])
        self.before = before.with_headers({"SyncServer-Device-Grant": identity["deviceGrant"]})
        self.after = Person("google")
        self.after.headers |= {"SyncServer-Device-UUID": before.headers["SyncServer-Device-UUID"],
                               "SyncServer-Device-Grant": identity["deviceGrant"]}

    def begin(self) -> str:
        reply = self.after.call("POST", "BeginAccountSwitch", userAppId=self.identity, cloudFolderName="Schema")
        reply.raise_for_status()
        return reply.json()["switchId"]

    def confirm(self) -> str:
        number = self.begin()
        self.after.call("POST", "ConfirmAccountSwitch", switchId=number, expectedEpoch=0).raise_for_status()
        return number


class World:
    """An owner with a group, a sharing user in it, and files: one live, one with metadata, one deleted."""

    def __init__(self) -> None:
        self.known: dict | None = None
        self.owner = Person("google").sign_up()
        self.group = self.owner.group
        self.guest = Person("facebook")
        self.guest_id = self.guest.redeem(self.invitation())["userId"]
        self.device = self.owner.headers["SyncServer-Device-UUID"]
        self.files = []
        for metadata in (None, '{"version":0,"contents":"{}"}', None):
            self.add_file(metadata)
        deleted = self.files[2]
        self.owner.call("DELETE", "UploadDeletion", fileUUID=deleted, fileVersion=0, sharingGroupUUID=self.group,
                        masterVersion=self.version())
        self.commit()

    def invitation(self, **more) -> str:
        self.known = None  # redeeming it raises the master version
        reply = self.owner.call("POST", "CreateSharingInvitation", sharingGroupUUID=self.group, permission="write", **more)
        return reply.json()["sharingInvitationUUID"]

    def index(self) -> dict:
        """The current state of the group; queried only if something may have changed it."""
        if self.known is None:
            reply = self.owner.call("GET", "Index", sharingGroupUUID=self.group)
            reply.raise_for_status()
            self.known = reply.json()
        return self.known

    def version(self) -> int:
        return self.index()["masterVersion"]

    def commit(self) -> None:
        self.owner.call("POST", "DoneUploads", sharingGroupUUID=self.group,
                        masterVersion=self.version()).raise_for_status()
        self.known = None

    def add_file(self, metadata: str | None) -> None:
        file = new_uuid()
        body = b"Hello World"
        parameters = {"appMetaData": metadata} if metadata else {}
        self.owner.call("POST", "UploadFile", body, fileUUID=file, sharingGroupUUID=self.group, mimeType="text/plain",
                        fileVersion=0, masterVersion=self.version(), checkSum=hashlib.md5(body).hexdigest(),
                        **parameters).raise_for_status()
        self.commit()
        self.files.append(file)

    def begin_upload(self, body: bytes) -> str:
        reply = self.owner.with_headers({"Upload-Length": str(len(body))}).call(
            "POST", "CreateUpload", fileUUID=new_uuid(), sharingGroupUUID=self.group, mimeType="text/plain",
            fileVersion=0, masterVersion=self.version(), checkSum=hashlib.md5(body).hexdigest())
        return json.loads(reply.headers["syncserver-message-params"])["uploadUUID"]


world: World | None = None


def present_world() -> World:
    """The world, recreated if a request has destroyed it."""
    global world
    try:
        if world is not None:
            world.index()
            return world
    except requests.HTTPError:
        pass
    world = World()
    return world


def file_of(world: World, live: bool = True) -> dict:
    files = [file for file in world.index()["fileIndex"] if file["deleted"] != live]
    if not files:
        world.add_file(None)
        return file_of(world, live)
    return CHANCE.choice(files)


def sensible(case, person: Person, here: World) -> Person:
    """Fills in the values that the request needs; returns the person to send it."""
    name = case.operation.definition.raw["operationId"]
    query = dict(case.query or {})
    known = {parameter["name"] for parameter in case.operation.definition.raw["parameters"]}
    if "sharingGroupUUID" in known:
        query["sharingGroupUUID"] = here.group
    if "masterVersion" in known:
        # One in five requests is stale.
        query["masterVersion"] = here.version() + CHANCE.choice([0, 0, 0, 0, 1])
    if "fileUUID" in known and name not in ("UploadFile", "CreateUpload"):
        file = file_of(here)
        query["fileUUID"] = file["fileUUID"]
        query["fileVersion"] = file["fileVersion"]
        if name in ("DownloadFile", "DownloadAppMetaData"):
            query.pop("appMetaDataVersion", None)
            if "appMetaDataVersion" in file:
                query["appMetaDataVersion"] = file["appMetaDataVersion"]
    for optional in ("batchUUID", "batchCount", "pushNotificationMessage", "commitId", "fileUUIDs", "since"):
        query.pop(optional, None)
    if "batchUUID" in known and CHANCE.random() < 0.2:
        query |= {"batchUUID": new_uuid(), "batchCount": CHANCE.choice([1, 2])}
    if "commitId" in known and CHANCE.random() < 0.5:
        query["commitId"] = new_uuid()
    if name == "AddUser":
        person = Person("google")
        query |= {"sharingGroupUUID": new_uuid(), "cloudFolderName": "Schema"}
    elif name == "RemoveUser":
        person = Person("google").sign_up()
    elif name == "CreateSharingGroup":
        query["sharingGroupUUID"] = new_uuid()
    elif name in ("RemoveSharingGroup", "RemoveUserFromSharingGroup"):
        query |= {"sharingGroupUUID": new_uuid(), "masterVersion": 0}
        person.call("POST", "CreateSharingGroup", sharingGroupUUID=query["sharingGroupUUID"])
    elif name == "GetSharingInvitationInfo":
        query["sharingInvitationUUID"] = here.invitation()
    elif name == "RevokeSharingInvitation":
        query["sharingInvitationUUID"] = here.invitation()
    elif name == "RedeemSharingInvitation":
        person = Person(CHANCE.choice(["facebook", "google"]))
        query |= {"sharingInvitationUUID": here.invitation(numberOfAcceptors=1), "cloudFolderName": "Schema"}
    elif name in ("UpdateSharingGroupMember", "RemoveSharingGroupMember"):
        guest = Person("facebook")
        query["userId"] = guest.redeem(here.invitation())["userId"]
        query["masterVersion"] = here.version()
    elif name == "Index" and CHANCE.random() < 0.3:
        query.pop("sharingGroupUUID")
    elif name == "RegisterPushNotificationToken":
        query["pushNotificationToken"] = CHANCE.randbytes(32).hex()
    elif name == "AppleNotifications":
        account = web.post(f"{SANDBOX}/sandbox/accounts", json={"provider": "apple", "name": "Schema Tester"}).json()
        notice = {"type": CHANCE.choice(["email-disabled", "consent-revoked"])}
        case.body = web.post(f"{SANDBOX}/sandbox/accounts/{account['id']}/notice", json=notice).json()
        case.media_type = "application/json"
    elif name in ("AppendToUpload", "GetUploadOffset", "AbandonUpload"):
        body = CHANCE.randbytes(CHANCE.choice([0, 1, 1000]))
        query["uploadUUID"] = here.begin_upload(body)
        query.pop("masterVersion", None)
        if name == "AppendToUpload":
            person = person.with_headers({"Upload-Offset": "0", "Content-Type": "application/partial-upload"})
            case.body, case.media_type = body, "application/partial-upload"
    elif name == "CreateUpload":
        body = CHANCE.randbytes(CHANCE.choice([0, 1, 1000]))
        query |= {"fileUUID": new_uuid(), "fileVersion": 0, "sharingGroupUUID": here.group, "mimeType": "text/plain",
                 "masterVersion": query["masterVersion"], "checkSum": hashlib.md5(body).hexdigest()}
        for optional in ("appMetaData", "undeleteServerFile"):
            query.pop(optional, None)
        person = person.with_headers({"Upload-Length": str(len(body))})
    elif name in ("BeginAccountSwitch", "ConfirmAccountSwitch", "FinishAccountSwitch", "CancelAccountSwitch", "ReuploadFile"):
        move = Move()
        person = move.after
        if name == "BeginAccountSwitch":
            query |= {"userAppId": move.identity, "cloudFolderName": "Schema"}
            (case.headers or {}).pop("SyncServer-Old-Account-Proof", None)
        elif name == "ConfirmAccountSwitch":
            query |= {"switchId": move.begin(), "expectedEpoch": 0}
        elif name == "CancelAccountSwitch":
            query["switchId"] = move.begin()
        elif name == "FinishAccountSwitch":
            query["switchId"] = move.confirm()
        else:
            query |= {"fileUUID": move.file, "fileVersion": 0, "sharingGroupUUID": move.group, "mimeType": "text/plain",
                      "checkSum": hashlib.md5(move.body).hexdigest(), "switchId": move.confirm()}
            query.pop("contentSHA256", None)
            case.body, case.media_type = move.body, "application/octet-stream"
        (case.headers or {}).pop("SyncServer-Account-Epoch", None)
    elif name == "RevokeDeviceGrants":
        person = Move().before
        query.pop("grantDeviceUUID", None)
        (case.headers or {}).pop("SyncServer-Account-Epoch", None)
    elif name == "UndoAccountSwitch":
        move = Move()
        move.confirm()
        query["userAppId"] = move.identity
        person = move.before.with_new_code()
        (case.headers or {}).pop("SyncServer-Account-Epoch", None)
    elif name == "GetAccountSwitchStatus" and CHANCE.random() < 0.5:
        move = Move()
        person = move.after
        query = {"switchId": move.confirm()}
    elif name == "UploadFile":
        body = CHANCE.randbytes(CHANCE.choice([0, 1, 1000]))
        query |= {"fileUUID": new_uuid(), "fileVersion": 0, "sharingGroupUUID": here.group, "mimeType": "text/plain",
                 "masterVersion": query["masterVersion"], "checkSum": hashlib.md5(body).hexdigest()}
        for optional in ("appMetaData", "undeleteServerFile"):
            query.pop(optional, None)
        case.body, case.media_type = body, "application/octet-stream"
    elif name == "UploadAppMetaData":
        query.pop("fileVersion", None)
        metadata = {"version": file.get("appMetaDataVersion", -1) + 1, "contents": "text"}
        query.pop("appMetaData", None)
        if CHANCE.random() < 0.5:
            # Without spaces, which this library would encode as "+".
            query["appMetaData"] = json.dumps(metadata, separators=(",", ":"))
        else:
            case.body, case.media_type = metadata, "application/json"
    case.query = query
    return person


@schemathesis.serializer("application/offset+octet-stream", "application/partial-upload")
def piece_serializer(context, value):
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.hook
def before_call(context, case, kwargs) -> None:
    with lock:
        here = present_world()
        if CHANCE.randrange(10) >= SIGNED_IN:
            return
        person = here.owner
        if CHANCE.randrange(10) < SENSIBLE:
            person = sensible(case, person, here)
        elif CHANCE.randrange(4) == 0:
            person = here.guest
        headers = case.headers if case.headers is not None else {}
        for name, value in person.headers.items():
            headers[name] = value
        for odd in ("X-account-id", "X-microsoft-access-token", "X-account-details"):
            headers.pop(odd, None)
        case.headers = headers


@schemathesis.hook
def after_call(context, case, response) -> None:
    with lock:
        if world is not None and case.method.upper() != "GET":
            world.known = None
        counts[case.operation.definition.raw["operationId"]][response.status_code] += 1


@atexit.register
def write_counts() -> None:
    path = os.environ.get("OPENAPI_COUNTS")
    if path and counts:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({name: dict(sorted(by.items())) for name, by in sorted(counts.items())}, file, indent=1)
