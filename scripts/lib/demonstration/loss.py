"""The server is destroyed, and everybody gets their album back from their own storage."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

from .phone import Phone, new_uuid
from .web import Deviation, Website

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = "Holiday pictures"
PATIENCE_SECONDS = 60.0


class OwnStack:
    """A stack of its own, whose server writes manifests within a second."""

    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "syncd-overrides.json").write_text(
            json.dumps({"manifests": {"enabled": True, "intervalSeconds": 1}}), "ascii")
        self.directory = directory
        self.environment: dict[str, str] = {}

    def __enter__(self) -> "OwnStack":
        self._stack("up")
        words = shlex.split(self._stack("env"))
        self.environment = dict(word.partition("=")[::2] for word in words)
        return self

    def __exit__(self, *error) -> None:
        self._stack("down")

    def _stack(self, verb: str) -> str:
        done = subprocess.run(
            [REPOSITORY / "scripts" / "stack", verb, self.directory], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise Deviation(f"scripts/stack {verb} {self.directory} failed.")
        return done.stdout

    def operator(self, *words: str) -> str:
        """Runs syncctl, which must succeed, and returns what it prints."""
        settings = json.loads((self.directory / "stack.json").read_text("utf-8"))
        programs = Path(os.environ.get("SYNC_BIN_DIR") or REPOSITORY / ".build" / settings["build"])
        done = subprocess.run(
            [programs / "syncctl", *words, "--config", self.environment["CONFIG_FILE"]],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise Deviation(f"syncctl {' '.join(words)} failed: {done.stdout}")
        return done.stdout

    def ask_database(self, statement: str) -> str:
        client = ["mariadb", f"--socket={self.environment['DB_SOCKET']}", "--batch", "--skip-column-names"]
        done = subprocess.run(
            [*client, self.environment["DB_NAME"]], input=statement, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()


def eventually(expectation: str, condition) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise Deviation(f"After {PATIENCE_SECONDS:.0f} s, {expectation} is not true.")
        time.sleep(0.2)


def lose_the_server(directory: Path, story) -> None:
    """Plays the story on a stack in `directory`, which it starts and stops."""
    with OwnStack(directory) as stack:
        play(stack, story)


def play(stack: OwnStack, story) -> None:
    server = Website(stack.environment["SYNC_URL"], stack.environment["CA_FILE"])
    sandbox = Website(stack.environment["SANDBOX_URL"])
    group = new_uuid()

    def person(name: str, provider: str) -> Phone:
        account = sandbox.json("POST", "/sandbox/accounts", {"provider": provider, "name": name})["id"]
        return Phone(f"{name}'s phone", server, sandbox, account)

    story.step("An album of three: Alice with Google Drive, Dave with Dropbox, and Bob without storage.")
    alice, dave, bob = person("Alice", "google"), person("Dave", "dropbox"), person("Bob", "facebook")
    alice.ask("POST", "AddUser", sharingGroupUUID=group, sharingGroupName="Norway", cloudFolderName=FOLDER)
    for guest in (dave, bob):
        code = alice.ask(
            "POST", "CreateSharingInvitation", permission="write", sharingGroupUUID=group, allowSocialAcceptance="1",
            numberOfAcceptors=1)["sharingInvitationUUID"]
        guest.ask("POST", "RedeemSharingInvitation", sharingInvitationUUID=code)
    texts: dict[str, bytes] = {}
    for phone in (alice, bob):
        file = new_uuid()
        texts[file] = f"From {phone.name}".encode()
        version = phone.index(group)["masterVersion"]
        phone.upload(
            texts[file], json.dumps({"title": phone.name}), fileUUID=file, fileVersion=0, mimeType="text/plain",
            masterVersion=version, sharingGroupUUID=group)
        phone.ask("POST", "DoneUploads", masterVersion=version, sharingGroupUUID=group)
    before = alice.index(group)
    eventually("the manifest of the album is in Alice's Drive", lambda: stack.ask_database(
        f"SELECT COUNT(*) FROM manifests WHERE master_version = {before['masterVersion']}") == "1")
    files = sandbox.json("GET", f"/sandbox/accounts/{alice.account}/files")
    for file in sorted(files, key=lambda file: file["name"]):
        story.detail(f"{file['folder']}/{file['name']}  {file['size']:,} bytes")

    story.step("The server is lost: its whole database is dropped. There is no backup.")
    stack.operator("maintenance", "on", "Our computer has burnt down. Your files are safe.")
    tables = stack.ask_database("SELECT table_name FROM information_schema.TABLES WHERE table_schema = DATABASE()")
    stack.ask_database(
        "SET FOREIGN_KEY_CHECKS = 0; DROP TABLE " + ", ".join(f"`{table}`" for table in tables.split()))

    story.step("A new server with an empty database and the kept keys begins to rebuild itself.")
    stack.operator("migrate")
    stack.operator("rebuild", "begin", "--folder", FOLDER)
    stack.operator("maintenance", "off")
    eventually("the server is open", lambda: bob.request("GET", "Index").json().get("code") == "restoring")
    story.detail("the server tells Bob's app to wait (503 restoring); the app keeps all its files")

    story.step("Alice opens her app. The server reads the manifest in her folder.")
    started = time.monotonic()
    eventually("Alice is served", lambda: alice.request("GET", "Index").status == 200)
    story.detail(f"served again after {time.monotonic() - started:.1f} s, as the same user")
    for line in stack.operator("rebuild", "status").splitlines():
        story.detail(line)

    story.step("Everybody is back: the same album, members, versions and bytes.")
    for phone in (alice, bob):
        eventually(f"{phone.name} is served", lambda phone=phone: phone.request("GET", "Index").status == 200)
        after = phone.index(group)
        story.expect(after["masterVersion"] == before["masterVersion"], f"The version of the album differs: {after}")
        story.expect(
            {file["fileUUID"] for file in after["fileIndex"]} == set(texts), f"The files of the album differ: {after}")
        shown = after["sharingGroups"][0]
        story.expect(shown["sharingGroupName"] == "Norway", f"The name of the album differs: {shown}")
        names = sorted(user["name"] for user in shown["sharingGroupUsers"])
        story.expect(names == ["Alice", "Bob", "Dave"], f"The members differ: {names}")
        for file in after["fileIndex"]:
            read, _ = phone.download(file, group, after["masterVersion"])
            story.expect(read == texts[file["fileUUID"]], f"{file['fileUUID']} has other bytes on {phone.name}.")
        story.detail(f"{phone.name}: {len(after['fileIndex'])} files, identical")
    eventually("Dave is served", lambda: dave.request("GET", "Index").status == 200)
    story.detail("Dave, whose Dropbox holds none of the files, is recognised as well")

    story.step("The operator ends the rebuild; from now on it is a server like any other.")
    stack.operator("rebuild", "end")
    version = before["masterVersion"]
    comment = new_uuid()
    bob.upload(
        b"We are back!", fileUUID=comment, fileVersion=0, mimeType="text/plain", masterVersion=version,
        sharingGroupUUID=group)
    done = bob.ask("POST", "DoneUploads", masterVersion=version, sharingGroupUUID=group)
    story.expect(done.get("numberUploadsTransferred") == 1, f"One upload should be committed: {done}")
    story.detail("Bob's comment is in Alice's Drive")
