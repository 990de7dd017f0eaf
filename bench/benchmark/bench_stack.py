"""The stack that is measured, with the baselines beside the server in the same nginx and the same database."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from syncstack.errors import StackError
from syncstack.layout import REPOSITORY, Layout, write
from syncstack.ports import choose
from syncstack.processes import run, wait_until
from syncstack.responders import Responders

from .running_stack import RunningStack

BASELINES = Path(__file__).resolve().parents[1] / "baselines"
# With the sources that each has beside its own.
PROGRAMS = {
    "responder": ("connection.c",),
    "commits": ("loop.c", "connection.c"),
    "cycles": ("loop.c", "connection.c"),
    "transfers": (),
}
LIBRARIES = ("-lmariadb", "-lfcgi", "-lcurl", "-lcrypto", "-lpthread")
API_THREADS = 16  # as scripts/lib/syncstack/configuration.py has it
RESPONDERS = 2
FLOOR_THREADS = 640  # for the uploads of P7
# Each measurement is the load of one person, who would meet the limits of a user.
ONE_PERSON = {"apiThreads": API_THREADS, "maximumRequestsPerUser": API_THREADS, "maximumTransfersPerUser": 4096}
# Leads to a real server while one is announced to the sandbox; see storage_server.py.
S3_HOST = "s3.sandbox.test"
FEATURES = {
    "directTransfers": True,
    "allowedSignInTypes": {"Google": True, "Microsoft": True, "Dropbox": True, "WebDAV": True, "S3": True},
    "s3": {"endpoints": [f"https://{S3_HOST}"]}}
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_BYTES = 4 << 30

# Servers that are added to the stack's own nginx, so that ours and the baselines share workers and settings.
NGINX = """
# Made by bench/run.
upstream bench_cloud {{
    server 127.0.0.1:{sandbox};
    keepalive 32;
}}
server {{
    listen 127.0.0.1:{responder} backlog=4096;
    server_name localhost;
    include baseline-locations.conf;
}}
"""
# A server for bytes in both directions, with and without TLS.
BYTES_SERVER = """
server {{
    listen 127.0.0.1:{tls} ssl http2 backlog=4096;
    listen 127.0.0.1:{plain} backlog=4096;
    server_name localhost;
    ssl_certificate {certificates}/server.pem;
    ssl_certificate_key {certificates}/server.key;
    client_max_body_size 0;
    client_body_buffer_size 64k;
    location / {{
{location}
    }}
}}
"""
# nginx alone.
TO_CLOUD = """
        proxy_pass https://bench_cloud;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Host www.googleapis.com;
        proxy_ssl_server_name on;
        proxy_ssl_name www.googleapis.com;
        proxy_ssl_verify on;
        proxy_ssl_trusted_certificate {certificates}/ca.pem;
        proxy_request_buffering off;
        proxy_buffering off;
        proxy_buffer_size 64k;
        proxy_buffers 8 64k;
        proxy_busy_buffers_size 128k;
        proxy_read_timeout 600s;
"""
TO_FLOOR = """
        fastcgi_pass_request_headers off;
        fastcgi_param REQUEST_METHOD $request_method;
        fastcgi_param REQUEST_URI $request_uri;
        fastcgi_param CONTENT_LENGTH $http_content_length;
        fastcgi_param HTTP_AUTHORIZATION $http_authorization;
        fastcgi_keep_conn off;
        fastcgi_request_buffering off;
        fastcgi_buffering off;
        fastcgi_buffer_size 256k;
        fastcgi_buffers 32 16k;
        fastcgi_busy_buffers_size 256k;
        fastcgi_pass unix:{socket};
"""


class BenchStack(RunningStack):
    """Up between `__enter__` and `__exit__`; everything is in `directory`."""

    def __init__(self, directory: Path):
        super().__init__()
        self.directory = directory / "stack"
        self.programs = directory / "programs"
        self.layout = Layout(str(self.directory))
        self.responder_url = self.proxy_url = self.plain_proxy_url = ""
        self.floor_url = self.plain_floor_url = ""
        self.started: dict[str, Responders] = {}
        self.cloud_directory: Path | None = None

    def __enter__(self) -> "BenchStack":
        self.programs.mkdir(parents=True, exist_ok=True)
        try:
            self._keep_clouds_in_memory()
            self.directory.mkdir(parents=True, exist_ok=True)
            write(self.directory / "syncd-overrides.json", json.dumps(ONE_PERSON | FEATURES))
            self._stack("up", "--responders", str(RESPONDERS))
            self.refresh()
            for name in PROGRAMS:
                self._compile(name)
            self._add_servers()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for responders in self.started.values():
            responders.down()
        self._stack("down")
        if self.cloud_directory is not None:
            shutil.rmtree(self.cloud_directory, ignore_errors=True)

    @staticmethod
    def program(name: str) -> Path:
        return Path(os.environ.get("SYNC_BIN_DIR") or REPOSITORY / ".build" / "release") / name

    def refresh(self) -> None:
        """Reads the stack's addresses and process numbers again."""
        output = self._stack("env")
        self.environment = dict(part.partition("=")[::2] for part in shlex.split(output))

    def pids(self, name: str) -> list[int]:
        if name in self.started:
            return list(self.started[name].pids())
        self.refresh()
        return [int(pid) for pid in self.environment[f"PIDS_{name}"].split()]

    def database_environment(self) -> dict[str, str]:
        """How the baselines reach the database: as the same user as syncd."""
        return {
            "DB_SOCKET": self.environment["DB_SOCKET"], "DB_NAME": self.environment["DB_NAME"], "DB_USER": "syncd",
            "DB_PASSWORD": self.layout.secret("database-password").read_text(encoding="ascii").strip()}

    def cloud_environment(self) -> dict[str, str]:
        """How they reach the emulated cloud: as syncd does, through the same nginx."""
        return {
            "CLOUD_ADDRESS": f"127.0.0.1:{self.environment['SANDBOX_TLS_PORT']}",
            "CLOUD_CA": self.environment["CA_FILE"]}

    def start_baseline(self, user_id: int) -> None:
        """Starts the C responders, as many processes and threads as ours: the baseline, whose Index is that of `user_id`,
        and the floor of transfers."""
        self._start("baseline", RESPONDERS, "responder", API_THREADS, user_id)
        self._start("floor", 1, "transfers", FLOOR_THREADS)

    def add_servers(self, servers: str, sandbox_address: str | None = None) -> None:
        """Adds server blocks to the stack's nginx, and an address at whose port 443 the emulated providers are."""
        file = self.layout.nginx / "sandbox.conf"
        text = file.read_text(encoding="utf-8")
        if sandbox_address is not None:
            listen = f"    listen 127.0.0.1:{self.environment['SANDBOX_TLS_PORT']} ssl http2;\n"
            text = text.replace(listen, f"{listen}    listen {sandbox_address}:443 ssl http2;\n", 1)
        write(file, text + servers)
        old = set(self.pids("nginx"))
        os.kill(self.pids("nginx")[0], signal.SIGHUP)
        if not wait_until(lambda: len(set(self.pids("nginx")) & old) == 1, 20.0):
            raise StackError("nginx does not take the servers of the baselines.", self.layout.logs / "nginx-error.log")

    def _stack(self, *arguments: str) -> str:
        verb, *options = arguments
        command = [REPOSITORY / "scripts" / "stack", verb, self.directory, *options]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    def _keep_clouds_in_memory(self) -> None:
        """Where there is room, the emulated clouds keep off the disk, which would add the same to both sides."""
        state = self.layout.sandbox
        if state.exists() or not SHARED_MEMORY.is_dir():
            return
        if shutil.disk_usage(SHARED_MEMORY).free < SHARED_MEMORY_BYTES:
            return
        self.cloud_directory = Path(tempfile.mkdtemp(prefix="syncserver-bench-", dir=SHARED_MEMORY))
        state.parent.mkdir(parents=True, exist_ok=True)
        state.unlink(missing_ok=True)  # Where an earlier run kept them.
        state.symlink_to(self.cloud_directory)

    def _start(self, name: str, count: int, program: str, *arguments) -> None:
        os.environ.update(self.database_environment() | self.cloud_environment())  # the launcher passes it on
        command = [self.programs / program, *arguments]
        responders = Responders(self.layout, name, command, count, self.layout.sockets / f"{name}.sock")
        responders.up()
        self.started[name] = responders

    def _compile(self, name: str) -> None:
        flags = run(["mariadb_config", "--include"]).split()
        run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", *flags, "-o", self.programs / name,
             *(BASELINES / source for source in (f"{name}.c", *PROGRAMS[name])), *LIBRARIES])

    def _add_servers(self) -> None:
        folder = self.layout.nginx
        locations = (REPOSITORY / "nginx" / "syncd-locations.conf").read_text(encoding="utf-8")
        socket = self.layout.sockets / "baseline.sock"
        for name in ("syncd_api", "syncd_transfer"):
            locations = locations.replace(f"fastcgi_pass {name};", f"fastcgi_pass unix:{socket};")
        write(folder / "baseline-locations.conf", locations)
        ports: dict[str, int] = {}
        for name in ("responder", "proxy", "plain_proxy", "floor", "plain_floor"):
            ports[name] = choose(set(ports.values()))
        certificates = self.layout.certificates
        servers = NGINX.format(responder=ports["responder"], sandbox=self.environment["SANDBOX_TLS_PORT"])
        for name, location in (
            ("proxy", TO_CLOUD.format(certificates=certificates)),
            ("floor", TO_FLOOR.format(socket=self.layout.sockets / "floor.sock")),
        ):
            servers += BYTES_SERVER.format(
                tls=ports[name], plain=ports[f"plain_{name}"], certificates=certificates, location=location.strip("\n"))
        self.add_servers(servers)
        self.responder_url, self.proxy_url, self.plain_proxy_url, self.floor_url, self.plain_floor_url = (
            f"{scheme}://127.0.0.1:{port}"
            for scheme, port in zip(("http", "https", "http", "https", "http"), ports.values(), strict=True))
