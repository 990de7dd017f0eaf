"""A WebDAV server behind the stack's nginx, like syncd."""

import signal
import subprocess
import urllib.error
import urllib.request

from benchmark.bench_stack import BenchStack
from syncstack.errors import StackError
from syncstack.ports import choose
from syncstack.processes import children, start, start_time, stop_one, wait_until

START_SECONDS = 20.0

# Streams in both directions, over persistent connections: nginx's best configuration for it.
NGINX = """
upstream bench_{name} {{
    server 127.0.0.1:{backend};
    keepalive 32;
}}
server {{
    listen 127.0.0.1:{port} ssl http2 backlog=4096;
    server_name localhost;
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    include syncd/syncd-tls.conf;
    client_max_body_size 0;
    client_body_buffer_size 64k;
    location / {{
        proxy_pass http://bench_{name};
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_request_buffering off;
        proxy_buffering off;
        proxy_buffer_size 64k;
        proxy_busy_buffers_size 128k;
        proxy_buffers 8 64k;
        proxy_read_timeout 120s;
    }}
}}
"""


class WebDAVServer:
    """Up between `__enter__` and `__exit__`. Subclasses start it."""

    name = ""

    def __init__(self, stack: BenchStack):
        self.stack = stack
        self.backend = choose(set())
        self.port = choose({self.backend})
        self.process: subprocess.Popen | None = None

    def command(self) -> list:
        """Prepares the server, and returns its command line; it listens on `backend` of 127.0.0.1."""
        raise NotImplementedError

    @property
    def sandbox_address(self) -> str | None:
        """The address of the emulated providers, at port 443."""
        return None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def pids(self) -> list[int]:
        assert self.process is not None
        return [self.process.pid, *children(self.process.pid)]

    def __enter__(self) -> "WebDAVServer":
        certificates = self.stack.layout.certificates
        self.stack.add_servers(
            NGINX.format(name=self.name, backend=self.backend, port=self.port, certificates=certificates),
            self.sandbox_address)
        log = self.stack.layout.logs / f"{self.name}.log"
        self.process = start(self.command(), log)
        if not wait_until(self._answers, START_SECONDS):
            self.__exit__()
            raise StackError(f"{self.name} did not start.", log)
        return self

    def __exit__(self, *_) -> None:
        if self.process is not None:
            if start_time(self.process.pid):
                stop_one(self.process.pid, signal.SIGTERM, START_SECONDS)
            self.process.wait()

    def _answers(self) -> bool:
        request = urllib.request.Request(f"http://127.0.0.1:{self.backend}/", method="PROPFIND", headers={"Depth": "0"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as reply:
                return reply.status == 207
        except OSError:
            return False
