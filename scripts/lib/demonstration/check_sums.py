"""The check sums that phones announce, by the storage of the file's owner."""

import base64
import hashlib

DROPBOX_BLOCK_BYTES = 4 << 20


def check_sum(provider: str, contents: bytes) -> str:
    """MD5, except for OneDrive (SHA-1) and Dropbox (the hash of the hashes of blocks)."""
    if provider == "microsoft":
        return hashlib.sha1(contents).hexdigest().upper()
    if provider == "dropbox":
        blocks = (contents[start:start + DROPBOX_BLOCK_BYTES] for start in range(0, len(contents), DROPBOX_BLOCK_BYTES))
        return hashlib.sha256(b"".join(hashlib.sha256(block).digest() for block in blocks)).hexdigest()
    return hashlib.md5(contents).hexdigest()


# OneDrive's quickXorHash: byte i is XORed in, rotated by 11 * i bits of 160; then the length, into the last 8 of 20 bytes.
QUICK_XOR_BITS = 160
QUICK_XOR_STEP = 11


def storage_hash(contents: bytes) -> str:
    """OneDrive's own hash, which the server compares after a direct upload."""
    # The rotations repeat after 160 bytes.
    folded = 0
    for start in range(0, len(contents), QUICK_XOR_BITS):
        folded ^= int.from_bytes(contents[start:start + QUICK_XOR_BITS], "little")
    state = 0
    for position, byte in enumerate(folded.to_bytes(QUICK_XOR_BITS, "little")):
        turned = byte << (QUICK_XOR_STEP * position % QUICK_XOR_BITS)
        state ^= turned & ((1 << QUICK_XOR_BITS) - 1) ^ turned >> QUICK_XOR_BITS
    state ^= len(contents) << (QUICK_XOR_BITS - 64)
    return base64.b64encode(state.to_bytes(QUICK_XOR_BITS // 8, "little")).decode("ascii")
