"""P10: the database's space for a committed file."""

import json

from demonstration.check_sums import check_sum
from demonstration.phone import new_uuid

from .bench_stack import BenchStack
from .load import LoadError
from .people import sign_up
from .table import Result

FILES = 100_000
CONTENTS = bytes(1024)
METADATA = json.dumps({"title": "A picture of the lake", "kind": "image"}).ljust(100)
PROVIDERS = (("a", "google", "Google Drive"), ("b", "dropbox", "Dropbox"), ("c", "microsoft", "OneDrive"))
# Columns of `files` whose length varies.
TEXTS = (
    "file_uuid", "file_group_uuid", "device_uuid", "mime_type", "app_metadata", "check_sum", "sha256", "object_id",
    "object_revision", "provider_hash")
DATABASE = "bench_space"


def committed_files(stack: BenchStack) -> list[Result]:
    stack.sql(f"CREATE DATABASE {DATABASE}")
    try:
        return [committed_to(stack, *provider) for provider in PROVIDERS]
    finally:
        stack.sql(f"DROP DATABASE {DATABASE}")


def committed_to(stack: BenchStack, letter: str, provider: str, name: str) -> Result:
    """Commits one file, and multiplies its row in a table with the same schema."""
    original = f"file_uuid = '{commit_one(stack, provider)}'"
    table = f"{DATABASE}.{provider}"
    stack.sql(f"CREATE TABLE {table} LIKE files")
    empty = file_bytes(stack, provider)
    stack.sql(f"""
        INSERT INTO {table} (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,
               created_at, updated_at, mime_type, app_metadata, app_metadata_version, is_deleted, file_version,
               check_sum, sha256, size_bytes, object_id, object_revision, provider_hash, changed_at_master_version)
        SELECT STRAIGHT_JOIN sharing_group_id, {random_uuid("file")}, {random_uuid("group")}, owning_user_id,
               storage_type, device_uuid, created_at, updated_at, mime_type, app_metadata, app_metadata_version,
               is_deleted, file_version, check_sum, sha256, size_bytes,
               INSERT(CONVERT(object_id USING utf8mb4), LENGTH(object_id) - 15, 16, LEFT(MD5(seq), 16)),
               object_revision, provider_hash, seq
          FROM files, seq_1_to_{FILES}
         WHERE {original};
        ANALYZE TABLE {table};
        """)
    check_lengths(stack, table, original)
    parts = ", ".join(f"{key} {size / FILES:.0f}" for key, size in index_bytes(stack, provider))
    return Result(
        f"P10{letter}", f"database bytes per committed file, {FILES:,} in {name}", "B", 2048, 700,
        [(file_bytes(stack, provider) - empty) / FILES], note=parts)


def commit_one(stack: BenchStack, provider: str) -> str:
    """Uploads and commits a file with all parameters of a phone, through nginx; returns its UUID."""
    person = sign_up(stack, f"Gerda of {provider}", provider)
    uuid = new_uuid()
    person.phone.ask(
        "POST", "UploadFile", CONTENTS, fileUUID=uuid, fileGroupUUID=new_uuid(), fileVersion=0, mimeType="image/jpeg",
        appMetaData=json.dumps({"version": 0, "contents": METADATA}), checkSum=check_sum(provider, CONTENTS), masterVersion=0,
        sharingGroupUUID=person.group)
    done = person.phone.ask("POST", "DoneUploads", masterVersion=0, sharingGroupUUID=person.group)
    if done.get("numberUploadsTransferred") != 1:
        raise LoadError(f"The file to multiply could not be committed: {done}")
    return uuid


def random_uuid(what: str) -> str:
    """An expression with a different UUID in each row, in random order."""
    return (
        f"UPPER(REGEXP_REPLACE(MD5(CONCAT('{what}', seq)), '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})',"
        r" '\\1-\\2-\\3-\\4-'))")


def check_lengths(stack: BenchStack, table: str, original: str) -> None:
    """Rows shorter than the server's would prove nothing."""
    lengths = "CONCAT_WS(' ', " + ", ".join(f"IFNULL(LENGTH({column}), '-')" for column in TEXTS) + ")"
    found = stack.sql(
        f"SELECT {lengths} FROM files WHERE {original} UNION SELECT {lengths} FROM {table}").splitlines()
    if len(found) != 1:
        raise LoadError(f"The rows of {table} do not have the lengths of the committed one: {found[:3]}")


def file_bytes(stack: BenchStack, table: str) -> int:
    return int(stack.sql(
        f"SELECT FILE_SIZE FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME = '{DATABASE}/{table}'"))


def index_bytes(stack: BenchStack, table: str) -> list[tuple[str, int]]:
    """Bytes of the pages of each index; the rows are in `PRIMARY`."""
    lines = stack.sql(f"""
        SELECT index_name, stat_value * @@innodb_page_size
          FROM mysql.innodb_index_stats
         WHERE database_name = '{DATABASE}' AND table_name = '{table}' AND stat_name = 'size'
         ORDER BY stat_value DESC
        """).splitlines()
    return [(name, int(size)) for name, size in map(str.split, lines)]
