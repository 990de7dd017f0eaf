"""Free TCP ports on loopback."""

import random
import socket

# Below the range that the kernel uses for outgoing connections (32768 upwards, ip(7)), so that no outgoing connection
# takes a port after we have chosen it and before a program listens on it.
RANGE = range(20000, 32000)


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like nginx, which ignores TIME_WAIT
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(taken: set[int]) -> int:
    """A port that is free at this moment; another process may take it first."""
    while True:
        port = random.choice(RANGE)
        if port not in taken and is_free(port):
            return port
