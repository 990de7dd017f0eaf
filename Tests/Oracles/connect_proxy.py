"""A small HTTP proxy for clients whose servers cannot be configured: CONNECT to any host:443 reaches the sandbox.

TLS passes through unchanged, so the client still checks the sandbox's certificate for the requested name.
"""

import socket
import socketserver
import threading


class _Tunnel(socketserver.StreamRequestHandler):
    timeout = 60

    def handle(self):
        request = self.rfile.readline(65_537).decode("latin-1").split()
        while self.rfile.readline(65_537) not in (b"\r\n", b"\n", b""):
            pass
        if len(request) != 3 or request[0] != "CONNECT" or not request[1].endswith(":443"):
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        self.server.hosts.add(request[1].removesuffix(":443"))
        with socket.create_connection(("127.0.0.1", self.server.target_port)) as target:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self.connection.settimeout(None)
            back = threading.Thread(target=_copy, args=(target, self.connection), daemon=True)
            back.start()
            _copy(self.connection, target)
            back.join()


def _copy(source, sink):
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has closed; the other side is notified by the end of its own connection.
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class ConnectProxy(socketserver.ThreadingTCPServer):
    """A context manager that serves from its own thread; `url` is its address, `hosts` the requested hosts."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, target_port):
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.target_port = target_port
        self.hosts = set()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
