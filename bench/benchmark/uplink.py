"""A phone's slow uplink: sent bytes arrive at a limited rate, received bytes are not delayed."""

import http.client
import socket
import ssl
import threading
import time

BYTES_PER_SECOND = 2_500_000  # 20 Mbit/s
SLICE_BYTES = 4096
BUFFER_BYTES = 65_536  # how many sent bytes may not have arrived yet
LATENESS_SECONDS = 0.02  # how much the relay may catch up after a late wake-up
SECONDS = 120.0


class SlowUplink:
    """A TCP relay to a port on loopback, between `__enter__` and `__exit__`; TLS passes through it untouched."""

    def __init__(self, target_port: int, bytes_per_second: int = BYTES_PER_SECOND):
        self.target = "127.0.0.1", target_port
        self.bytes_per_second = bytes_per_second
        self._lock = threading.Lock()
        self._free_at = 0.0
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)  # the connections inherit it
        self._listener.bind(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    def __enter__(self) -> "SlowUplink":
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # ends accept, unlike close
        self._listener.close()

    def connect(self, ca_file: str) -> http.client.HTTPSConnection:
        """A phone's connection, opened by its first request."""
        context = ssl.create_default_context(cafile=ca_file)
        return http.client.HTTPSConnection("localhost", self.port, timeout=SECONDS, context=context)

    def _accept(self) -> None:
        while True:
            try:
                phone, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.target)
            for end in (phone, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=copy, args=(phone, server, SLICE_BYTES, self._transmit), daemon=True).start()
            threading.Thread(target=copy, args=(server, phone, BUFFER_BYTES, lambda _: None), daemon=True).start()

    def _transmit(self, count: int) -> None:
        """Returns when the last of `count` bytes has left the phone."""
        with self._lock:
            now = time.monotonic()
            self._free_at = max(self._free_at, now - LATENESS_SECONDS) + count / self.bytes_per_second
            ahead = self._free_at - now
        if ahead > 0:
            time.sleep(ahead)


def copy(source: socket.socket, sink: socket.socket, size: int, transmit) -> None:
    """Copies until the source ends; the other direction may continue."""
    try:
        while piece := source.recv(size):
            transmit(len(piece))
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
