"""Users' operations during which a call fails: each has a preparation without faults, and a part that meets the fault."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from demonstration.phone import new_uuid

from .calls import PROVIDERS
from .phone import Finding, Phone

SMALL, LARGE = 20_000, 5_000_000
# Parts of S3 are larger than the requests of others.
LARGE_OF_S3 = 6_000_000


@dataclass
class Operation:
    """`prepare` returns the input of `act`; afterwards the checks common to all operations run."""

    name: str
    act: Callable[[Phone, object], None]
    prepare: Callable[[Phone], object] = lambda phone: None
    # Needs an account that is not a user yet.
    needs_newcomer: bool = False
    # The user does not exist afterwards.
    removes: bool = False
    providers: tuple[str, ...] = PROVIDERS


def content(size: int) -> bytes:
    return random.randbytes(size)


def large_content(phone: Phone) -> bytes:
    return content(LARGE_OF_S3 if phone.provider == "s3" else LARGE)


def existing_file(phone: Phone) -> str:
    uuid = new_uuid()
    phone.publish(uuid, 0, content(SMALL))
    return uuid


def existing_large_file(phone: Phone) -> str:
    uuid = new_uuid()
    phone.publish(uuid, 0, large_content(phone))
    return uuid


def upload_small(phone: Phone, _) -> None:
    phone.publish(new_uuid(), 0, content(SMALL))


def upload_large(phone: Phone, _) -> None:
    phone.publish(new_uuid(), 0, large_content(phone))


def replace(phone: Phone, uuid) -> None:
    phone.publish(uuid, 1, content(SMALL))


def download(phone: Phone, uuid) -> None:
    phone.expect_download(uuid)


def delete(phone: Phone, uuid) -> None:
    phone.delete(uuid)


def object_name(phone: Phone, uuid: str) -> str:
    return next(name for name in phone.stored() if name.startswith(uuid))


def changed_file(phone: Phone) -> str:
    """Prepares a file that the person has changed in their storage."""
    uuid = existing_file(phone)
    contents = content(SMALL + 1)
    phone.person.replace(object_name(phone, uuid), contents)
    phone.live[uuid] = (0, contents)
    phone.changed.add(uuid)
    return uuid


def lost_file(phone: Phone) -> str:
    """Prepares a file that the person has deleted in their storage."""
    uuid = existing_file(phone)
    phone.person.remove(object_name(phone, uuid))
    return uuid


def download_lost(phone: Phone, uuid) -> None:
    reply = phone.download(uuid)
    if reply.body or reply.json().get("gone") != "fileRemovedOrRenamed":
        raise Finding(f"a deleted file is delivered as {len(reply.body)} bytes, {reply.json()}")
    phone.delete(uuid)


def expired_token(phone: Phone) -> None:
    phone.person.expire_token()


def sign_up(phone: Phone, _) -> None:
    phone.sign_up()


def remove(phone: Phone, _) -> None:
    """After a repetition, the user may already be unknown."""
    def is_there() -> bool:
        return phone.stage.sql(f"SELECT COUNT(*) FROM users WHERE user_id = {phone.user_id}").strip() != "0"

    for _ in range(5):
        reply = phone.once("POST", "RemoveUser")
        if reply is not None and (reply.status == 200 or reply.status == 401 and not is_there()):
            break
        phone.repetitions += 1
        if reply is not None and reply.status == 401:
            phone.sign_in_again()
    else:
        raise Finding(f"RemoveUser does not succeed: {phone.seen}")
    if is_there():
        raise Finding(f"the user still exists: {phone.seen}")


OPERATIONS = {operation.name: operation for operation in [
    Operation("sign-up", sign_up, needs_newcomer=True),
    Operation("small upload", upload_small),
    Operation("large upload", upload_large),
    Operation("replacement", replace, existing_file),
    Operation("download", download, existing_file),
    Operation("large download", download, existing_large_file),
    Operation("download of a changed file", download, changed_file),
    Operation("download of a lost file", download_lost, lost_file),
    Operation("deletion", delete, existing_file),
    Operation("upload with an expired token", upload_small, expired_token,
              # App passwords of a Nextcloud and keys of S3 do not expire.
              providers=tuple(provider for provider in PROVIDERS if provider not in ("webdav", "s3"))),
    Operation("removal", remove, existing_file, removes=True),
]}
