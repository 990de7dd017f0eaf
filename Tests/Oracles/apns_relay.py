"""The address that a stack's syncd connects to: forwards Apple's push host to our server, others to the sandbox.

Hosts are distinguished by the name in the TLS ClientHello (RFC 6066, section 3), which is not encrypted.
"""

import socket
import threading


class Relay:
    """Listens immediately; call `lead` before the first connection arrives."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self._sandbox_port = 0
        self._host = b""
        self._serve = None

    def lead(self, sandbox_port: int, host: str, serve) -> None:
        """Passes new connections to `host` to `serve(socket)`, and all others to the sandbox."""
        self._sandbox_port, self._host, self._serve = sandbox_port, host.encode(), serve
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self.listener.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection: socket.socket) -> None:
        try:
            if self._host in _client_hello(connection):
                return self._serve(connection)
            with connection, socket.create_connection(("127.0.0.1", self._sandbox_port)) as target:
                back = threading.Thread(target=_copy, args=(target, connection), daemon=True)
                back.start()
                _copy(connection, target)
                back.join()
        except OSError:
            pass
        return None


def _client_hello(connection: socket.socket) -> bytes:
    """The first TLS record; it remains in the socket's buffer."""
    wanted = 5
    while len(peeked := connection.recv(wanted, socket.MSG_PEEK | socket.MSG_WAITALL)) < wanted:
        if not peeked:
            return b""
    wanted += int.from_bytes(peeked[3:5], "big")
    return connection.recv(wanted, socket.MSG_PEEK | socket.MSG_WAITALL)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
