"""nginx for one stack: the same include files as in production, with ports, sockets and logs of its own."""

import functools
import hashlib
import os
import re
import signal
import subprocess
from pathlib import Path

from .errors import StackError
from .layout import REPOSITORY, Layout, write
from .ports import choose, is_free
from .processes import children, environment, most_open_files, pid_from_file, start_time, stop

FIRST_WITH_HTTP2_DIRECTIVE = (1, 25, 1)
HTTP2_DIRECTIVE = re.compile(r"(?m)^ *http2 on;.*\n")
ATTEMPTS = 5
STOP_SECONDS = 20.0
# nginx refuses to raise its limit beyond the hard one of a person's shell, and then keeps the soft one.
OPEN_FILES = 65_536
CONNECTIONS = 16_384
PORTS = ("https", "http", "sandboxTLS", "sandboxHTTP", "metrics", "olderHTTP")

CONFIGURATION = """\
# Made by scripts/stack; changes are lost.
{user}worker_processes auto;
worker_rlimit_nofile {files};
pid {run}/nginx.pid;
error_log {logs}/nginx-error.log;

events {{
    worker_connections {connections};
}}

http {{
    include syncd-version.conf;
    include syncd-exempt.conf;
    include syncd/syncd-http.conf;

    server_tokens off;
    default_type application/octet-stream;
    access_log {logs}/nginx-access.log syncd if=$syncd_logged;
    client_body_temp_path {temporary}/body;
    fastcgi_temp_path {temporary}/fastcgi;
    proxy_temp_path {temporary}/proxy;
    scgi_temp_path {temporary}/scgi;
    uwsgi_temp_path {temporary}/uwsgi;

    upstream syncd_api {{
        server unix:{api};
    }}
    upstream syncd_transfer {{
        server unix:{transfer};
    }}

    server {{
        listen 127.0.0.1:{https} ssl backlog=4096;
        http2 on;
        listen 127.0.0.1:{http} backlog=4096;
        server_name localhost;
        ssl_certificate {certificates}/server.pem;
        ssl_certificate_key {certificates}/server.key;
        include syncd/syncd-tls.conf;
        set $syncd_maintenance_folder {maintenance};
        include syncd/syncd-locations.conf;
    }}

    include metrics.conf;
    include sandbox.conf;
    include sandbox-older-server.conf;
    include sandbox-sns.conf*;
}}
"""

# Tests and benchmarks make more requests than any real address; those of limits come from other ones in 127.0.0.0/8.
EXEMPT = """\
geo $syncd_exempt {
    default 0;
    127.0.0.1 1;
}
"""

SNS_SERVER = """\
server {{
    listen 127.0.0.1:{port} ssl;
    http2 on;
    server_name ~^sns\\.[a-z0-9-]+\\.amazonaws\\.com$;
    ssl_certificate {certificates}/sandbox.pem;
    ssl_certificate_key {certificates}/sandbox.key;
    access_log off;
    location / {{
        proxy_pass http://{address};
        proxy_set_header Host $host;
    }}
}}
"""


@functools.cache
def nginx_version() -> tuple[int, ...]:
    """Of the nginx that is installed."""
    try:
        done = subprocess.run(["nginx", "-v"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment(), check=False)
    except FileNotFoundError:
        raise StackError("nginx is not installed; scripts/bootstrap installs what is missing.") from None
    return tuple(map(int, re.search(r"nginx/([0-9.]+)", done.stdout)[1].split(".")))


def adapted(text: str, version: tuple[int, ...] | None = None) -> str:
    """One of our files as that nginx wants it: releases before 1.25.1 know `http2` as a parameter of `listen` only."""
    if (version or nginx_version()) >= FIRST_WITH_HTTP2_DIRECTIVE or not HTTP2_DIRECTIVE.search(text):
        return text
    return re.sub(r"(?m)^( *(?:# )?listen .* ssl)\b", r"\1 http2", HTTP2_DIRECTIVE.sub("", text))


class WebServer:
    """Terminates TLS and speaks plain HTTP, both on 127.0.0.1 only."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.configuration = layout.nginx / "nginx.conf"
        self.error_log = layout.logs / "nginx-error.log"

    def pid(self) -> int | None:
        return pid_from_file(self.layout.run / "nginx.pid", str(self.configuration))

    def pids(self) -> list[int]:
        """The master first, then its workers."""
        master = self.pid()
        return [] if master is None else [master, *children(master)]

    def up(self, settings: dict, wanted_port: int | None, named_address: str | None = None) -> None:
        """Starts nginx and puts the ports it got into `settings`; the ones of the last start, if they are free.

        At `named_address` the emulated providers are found at https' own port, too. Another process may take a port between choosing it and listening; then other ports are tried.
        """
        for attempt in range(ATTEMPTS):
            ports = self._choose_ports(settings.get("ports", {}) if attempt == 0 else {}, wanted_port)
            fingerprint = self.write_configuration(ports, named_address)
            if self.pid() is not None and settings.get("nginx") == fingerprint:
                return
            self.down()
            settings["ports"] = ports
            settings["nginx"] = fingerprint
            if self._start():
                return
        raise StackError("nginx does not start.", self.error_log)

    def down(self) -> None:
        pids = {pid: started for pid in self.pids() if (started := start_time(pid))}
        if pids:
            stop({self.pids()[0]: pids[self.pids()[0]]}, signal.SIGTERM, STOP_SECONDS)
            stop(pids, signal.SIGTERM, STOP_SECONDS)

    def _choose_ports(self, previous: dict, wanted_port: int | None) -> dict:
        running = self.pid() is not None
        if wanted_port is not None and previous.get("https") != wanted_port:
            if not is_free(wanted_port):
                raise StackError(f"Port {wanted_port} is in use.")
            previous = {**previous, "https": wanted_port}
        ports: dict[str, int] = {}
        for name in PORTS:
            port = previous.get(name) or (wanted_port if name == "https" else None)
            if port is None or not (running or is_free(port)):
                port = choose(set(ports.values()) | set(previous.values()))
            ports[name] = port
        if wanted_port is not None and ports["https"] != wanted_port:
            raise StackError(f"Port {wanted_port} is in use.")
        return ports

    def write_configuration(self, ports: dict, named_address: str | None = None) -> str:
        """Writes all that nginx reads and returns a digest of it."""
        layout = self.layout
        temporary = layout.nginx / "temporary"
        temporary.mkdir(mode=0o700, exist_ok=True)
        sns = self._sns_server(ports)
        version = (REPOSITORY / "VERSION").read_text(encoding="ascii").strip()
        sources = REPOSITORY / "nginx"
        replacements = {
            "@SANDBOX_TLS_PORT@": str(ports["sandboxTLS"]), "@SANDBOX_HTTP_PORT@": str(ports["sandboxHTTP"]),
            "@SANDBOX_SOCKET@": str(layout.sandbox_socket), "@CERT@": str(layout.certificates / "sandbox.pem"),
            "@KEY@": str(layout.certificates / "sandbox.key"),
        }
        sandbox = (sources / "sandbox.conf").read_text(encoding="utf-8")
        for placeholder, value in replacements.items():
            sandbox = sandbox.replace(placeholder, value)
        if named_address is not None:
            listen = f"    listen 127.0.0.1:{ports['sandboxTLS']} ssl;\n"
            sandbox = sandbox.replace(listen, f"{listen}    listen {named_address}:443 ssl;\n", 1)
        files = min(OPEN_FILES, most_open_files())
        user = "user root;\n" if os.geteuid() == 0 else ""
        older = (sources / "sandbox-older-server.conf").read_text(encoding="utf-8")
        texts = {
            "nginx.conf": CONFIGURATION.format(
                user=user, files=files, connections=min(CONNECTIONS, files // 2), run=layout.run, logs=layout.logs,
                temporary=temporary, api=layout.api_socket, transfer=layout.transfer_socket,
                certificates=layout.certificates, maintenance=layout.directory / "maintenance", **ports),
            "syncd-version.conf":
                (sources / "syncd-version.conf").read_text(encoding="utf-8").replace("@VERSION@", version),
            "syncd-exempt.conf": EXEMPT,
            "sandbox.conf": sandbox,
            "sandbox-older-server.conf": older.replace("@OLDER_HTTP_PORT@", str(ports["olderHTTP"])).replace(
                "@HTTP_PORT@", str(ports["http"])),
            "metrics.conf": (sources / "syncd-metrics.conf").read_text(encoding="utf-8").replace(
                "127.0.0.1:9180", f"127.0.0.1:{ports['metrics']}").replace(
                    "/usr/share/doc/syncserver", str(sources.parent / "docs")).replace(
                        "$syncd_maintenance_folder", str(layout.directory / "maintenance")),
        }
        (layout.nginx / "sandbox-sns.conf").unlink(missing_ok=True)
        if sns:
            texts["sandbox-sns.conf"] = sns
        for name, text in texts.items():
            texts[name] = adapted(text)
            write(layout.nginx / name, texts[name])
        self._link(layout.nginx / "syncd", sources)
        for name in ("fastcgi_params", "mime.types"):
            self._link(layout.nginx / name, Path("/etc/nginx") / name)
        shared = [path.read_text(encoding="utf-8") for path in sorted(sources.glob("syncd-*.conf"))]
        return hashlib.sha256("\0".join([*texts.values(), *shared]).encode()).hexdigest()

    def _sns_server(self, ports: dict) -> str:
        """A server that passes Amazon's hosts on to the emulation of SNS at the address in DIR/sns-server, if any."""
        file = self.layout.directory / "sns-server"
        if not file.exists():
            return ""
        return SNS_SERVER.format(
            port=ports["sandboxTLS"], address=file.read_text(encoding="ascii").strip(),
            certificates=self.layout.certificates)

    @staticmethod
    def _link(link: Path, target: Path) -> None:
        link.unlink(missing_ok=True)
        link.symlink_to(target)

    def _start(self) -> bool:
        """True once nginx listens; false if a port was taken meanwhile."""
        try:
            done = subprocess.run(
                ["nginx", "-e", str(self.error_log), "-c", str(self.configuration), "-p", str(self.layout.nginx)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=environment(), check=False)
        except FileNotFoundError:
            raise StackError("nginx is not installed; scripts/bootstrap installs what is missing.") from None
        if done.returncode == 0:
            return True
        if "Address already in use" in done.stdout:
            return False
        raise StackError(f"nginx does not start:\n{done.stdout.strip()}")
