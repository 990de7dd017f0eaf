"""Frames of HTTP/2 and integers of its header compression, for requests that no library would send."""

import struct


def prefixed(number: int) -> bytes:
    """An integer with a prefix of seven bits (RFC 7541, 5.1)."""
    if number < 127:
        return bytes([number])
    result, number = bytearray([127]), number - 127
    while number >= 128:
        result.append(number % 128 | 128)
        number //= 128
    return bytes([*result, number])


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return struct.pack("!I", len(content))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + content
