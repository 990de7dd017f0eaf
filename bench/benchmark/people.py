"""Users of the stack, and their committed files."""

import json
from dataclasses import dataclass

from demonstration.phone import Phone, new_uuid

from .bench_stack import S3_HOST, BenchStack
from .load import LoadError


@dataclass
class Person:
    """A user with storage in the sandbox and one sharing group."""

    phone: Phone
    account: str
    group: str
    user_id: int
    group_id: int
    access_token: str

    def headers(self, device: str | None = None) -> dict[str, str]:
        """The headers of a Google user's phone, without the one-time authorization code."""
        return {
            "X-token-type": "GoogleToken", "access_token": self.access_token,
            "SyncServer-Device-UUID": device or self.phone.device}

    def options(self) -> list[str]:
        """The headers, as lines of a configuration of curl."""
        return [f'header = "{name}: {value}"' for name, value in self.headers().items()]


def sign_up(stack: BenchStack, name: str, provider: str = "google") -> Person:
    account = stack.sandbox.json("POST", "/sandbox/accounts", {"provider": provider, "name": name})
    phone = Phone(name, stack.server, stack.sandbox, account["id"])
    return begin_group(stack, phone, account["accessToken"])


def sign_up_with_bucket(stack: BenchStack, name: str) -> Person:
    """A user whose storage is a part of the bucket of a real server."""
    details = {
        "address": f"https://{S3_HOST}", "region": "us-east-1", "bucket": "photos", "accessKeyID": "AKTEST",
        "prefix": new_uuid()}
    phone = Phone(name, stack.server, stack.sandbox, "", credentials={
        "X-token-type": "S3Token", "access_token": "secret-of-the-tests", "X-account-details": json.dumps(details)})
    return begin_group(stack, phone, "")


def begin_group(stack: BenchStack, phone: Phone, access_token: str) -> Person:
    group, name = new_uuid(), phone.name
    phone.ask("POST", "AddUser", sharingGroupUUID=group, sharingGroupName=f"{name}'s group", cloudFolderName="Bench")
    user_id, group_id = stack.sql(
        f"""SELECT m.user_id, g.sharing_group_id FROM sharing_groups g JOIN memberships m USING (sharing_group_id)
             WHERE g.sharing_group_uuid = '{group}'""").split()
    return Person(phone, phone.account, group, int(user_id), int(group_id), access_token)


def commit(person: Person, master_version: int = 0) -> int:
    """Commits the uploads of the person's phone, and returns the number of files."""
    done = person.phone.ask(
        "POST", "DoneUploads", masterVersion=master_version, sharingGroupUUID=person.group)
    if not done.get("numberUploadsTransferred"):
        raise LoadError(f"The uploads could not be committed: {done}")
    return done["numberUploadsTransferred"]


def give_many_files(stack: BenchStack, person: Person, count: int) -> None:
    """The same for so many files that the database generates the rows itself."""
    stack.sql(f"""
        INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,
               created_at, updated_at, mime_type, app_metadata, app_metadata_version, file_version, check_sum, sha256,
               size_bytes, object_id, changed_at_master_version)
        SELECT {person.group_id}, UUID(), UUID(), {person.user_id}, 'Google', '{person.phone.device}',
               '2026-01-01 00:00:00' + INTERVAL seq MINUTE, '2026-01-01 00:00:00' + INTERVAL seq MINUTE, 'image/jpeg',
               CONCAT('{{"title":"Picture ', seq, '"}}'), 0, 0, MD5(seq), UNHEX(SHA2(seq, 256)), 2000000 + seq,
               CONCAT('object-', {person.user_id}, '-', seq), 1
          FROM seq_1_to_{count};
        UPDATE sharing_groups SET master_version = 1 WHERE sharing_group_id = {person.group_id};
        ANALYZE TABLE files, sharing_groups, memberships, users;
        """)


def give_files(stack: BenchStack, person: Person, count: int) -> None:
    """Inserts rows of committed files directly into the database: through the protocol it would take minutes.

    They look like uploaded files, except that the storage has no objects.
    """
    rows = ", ".join(
        f"({person.group_id}, '{new_uuid()}', '{new_uuid()}', {person.user_id}, 'Google', '{person.phone.device}',"
        f" '2026-01-01 00:00:00' + INTERVAL {index} MINUTE, '2026-01-01 00:00:00' + INTERVAL {index} MINUTE,"
        f" 'image/jpeg', '{{\"title\":\"Picture {index}\"}}', 0, 0, MD5({index}), UNHEX(SHA2({index}, 256)),"
        f" 2000000 + {index}, CONCAT('object-', {person.user_id}, '-', {index}), 1)"
        for index in range(count))
    stack.sql(f"""
        INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,
               created_at, updated_at, mime_type, app_metadata, app_metadata_version, file_version, check_sum, sha256,
               size_bytes, object_id, changed_at_master_version)
        VALUES {rows};
        UPDATE sharing_groups SET master_version = 1 WHERE sharing_group_id = {person.group_id};
        ANALYZE TABLE files, sharing_groups, memberships, users;
        """)
