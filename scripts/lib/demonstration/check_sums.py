"""The check sums that phones announce, by the storage of the file's owner."""

import hashlib

DROPBOX_BLOCK_BYTES = 4 << 20


def check_sum(provider: str, contents: bytes) -> str:
    """MD5, except for OneDrive, SHA-1, and Dropbox, the hash of the hashes of blocks."""
    if provider == "microsoft":
        return hashlib.sha1(contents).hexdigest().upper()
    if provider == "dropbox":
        blocks = (contents[start:start + DROPBOX_BLOCK_BYTES] for start in range(0, len(contents), DROPBOX_BLOCK_BYTES))
        return hashlib.sha256(b"".join(hashlib.sha256(block).digest() for block in blocks)).hexdigest()
    return hashlib.md5(contents).hexdigest()
