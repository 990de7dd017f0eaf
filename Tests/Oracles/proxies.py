"""Other proxies in front of a server's nginx, with the settings that docs/operations.md, section 6, gives for them.

usage: proxies.py FOLDER CERTIFICATES [PROXY]...

Each proxy accepts TLS with HTTP/2 and HTTP/1.1, and connects to nginx with HTTPS. Through it, a person signs in,
uploads 20 MB and downloads them, is rejected at the head of a long upload, sends metadata of 30,000 bytes and reads
them in both ways, starts an upload in pieces, sends a query of 50,000 bytes, and listens for changes. Environment: that
of a stack whose publicURL is https://sync.example.com/below, and whose heartbeats come every second.
"""

import hashlib
import http.client
import json
import os
import queue
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from syncstack.webserver import NCHAN, adapted

SERVER = urllib.parse.urlsplit(os.environ["SYNC_URL"])
SANDBOX = os.environ["SANDBOX_URL"]
PUBLIC_URL = "https://sync.example.com/below"
CONTENTS = os.urandom(20_000_000)
METADATA = "m" * 30_000
REFUSALS = 10  # rejected uploads, with each version of HTTP
HEARTBEATS = 3
COMMITS = 3  # signalled while each stream is open
PATIENCE_SECONDS = 30.0

NGINX = """\
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
{user}
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    scgi_temp_path {folder}/scgi;
    uwsgi_temp_path {folder}/uwsgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        http2 on;
        ssl_certificate {certificates}/server.pem;
        ssl_certificate_key {certificates}/server.key;
        underscores_in_headers on;
        large_client_header_buffers 4 80k;
        client_max_body_size 0;
        client_body_timeout 130s;
        location / {{
            proxy_pass https://127.0.0.1:{upstream};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_request_buffering off;
            proxy_buffering off;
            proxy_buffer_size 256k;
            proxy_buffers 8 256k;
            proxy_busy_buffers_size 512k;
            proxy_read_timeout 130s;
            proxy_send_timeout 130s;
        }}
    }}
}}
"""

APACHE = """\
ServerRoot {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
ServerName localhost
{modules}
<IfModule mpm_event_module>
    MaxRequestWorkers 150
</IfModule>
Protocols h2 http/1.1
SSLEngine on
SSLCertificateFile {certificates}/server.pem
SSLCertificateKeyFile {certificates}/server.key
SSLProxyEngine on
SSLProxyVerify none
SSLProxyCheckPeerName off
SSLProxyCheckPeerExpire off
LimitRequestLine 65536
LimitRequestFieldSize 65536
LimitRequestBody 0
Timeout 130
ProxyTimeout 130
RequestReadTimeout body=0
ProxyPass / https://127.0.0.1:{upstream}/ responsefieldsize=400000
"""
APACHE_MODULES = ("mpm_event", "authz_core", "ssl", "http2", "proxy", "proxy_http", "reqtimeout")

HAPROXY = """\
global
    tune.bufsize 524288
    tune.http.maxhdr 200
defaults
    mode http
    option forwardfor
    timeout connect 5s
    timeout client 130s
    timeout server 130s
frontend phones
    bind 127.0.0.1:{port} ssl crt {folder}/both.pem alpn h2,http/1.1
    default_backend server
backend server
    option http-server-close
    http-reuse never
    server nginx 127.0.0.1:{upstream} ssl verify none
"""

CADDY = """\
{{
    admin off
    auto_https off
    storage file_system {folder}/storage
    servers {{
        max_header_size 128KB
    }}
}}
https://localhost:{port} {{
    bind 127.0.0.1
    tls {certificates}/server.pem {certificates}/server.key
    reverse_proxy https://127.0.0.1:{upstream} {{
        transport http {{
            tls_insecure_skip_verify
            versions 1.1
            keepalive off
        }}
    }}
}}
"""

failures: list[str] = []
checks: list[str] = []


def check(condition: bool, sentence: str, proxy: str) -> None:
    checks.append(sentence)
    print("ok    " if condition else "NOT OK", f"{proxy}: {sentence}", flush=True)
    if not condition:
        failures.append(f"{proxy}: {sentence}")


# MARK: Proxies


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:{Path(sys.executable).parent}")
    if found is None:
        sys.exit(f"{name} is missing")
    return found


def nginx(names: dict) -> list[str]:
    user = "user root;" if os.geteuid() == 0 else ""
    text = adapted(NGINX.format(**names, user=user))
    return [program("nginx"), "-e", "stderr", "-c", str(write(names["folder"] / "nginx.conf", text))]


def apache(names: dict) -> list[str]:
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in APACHE_MODULES)
    return [program("apache2"), "-DFOREGROUND", "-f",
            str(write(names["folder"] / "apache.conf", APACHE.format(**names, modules=modules)))]


def haproxy(names: dict) -> list[str]:
    certificate, key = ((names["certificates"] / f"server.{end}").read_text(encoding="ascii") for end in ("pem", "key"))
    write(names["folder"] / "both.pem", certificate + key)
    return [program("haproxy"), "-db", "-f", str(write(names["folder"] / "haproxy.cfg", HAPROXY.format(**names)))]


def caddy(names: dict) -> list[str]:
    return [program("caddy"), "run", "--adapter", "caddyfile", "--config",
            str(write(names["folder"] / "Caddyfile", CADDY.format(**names)))]


# The proxies that forward a header with an underscore in its name.
PROXIES: dict[str, tuple[Callable[[dict], list[str]], bool]] = {
    "nginx": (nginx, True), "apache": (apache, True), "haproxy": (haproxy, True), "caddy": (caddy, False)}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def await_port(port: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.02)
    sys.exit(f"{process.args[0]} does not answer; its log is in its folder")


# MARK: Client


class Phone:
    """An HTTP/1.1 client that uses a proxy."""

    def __init__(self, port: int, ca_file: str):
        self.port, self.ca_file = port, ca_file
        self.context = ssl.create_default_context(cafile=ca_file)
        made = urllib.request.Request(
            f"{SANDBOX}/sandbox/accounts", json.dumps({"provider": "google", "name": "Ann"}).encode(),
            {"Content-Type": "application/json"})
        with urllib.request.urlopen(made, timeout=30) as reply:
            self.account = json.load(reply)
        self.device = str(uuid.uuid4())

    def headers(self, spelling: str = "access-token", token: str | None = None) -> dict[str, str]:
        own = dict(self.account["headers"])
        known = own.pop("access_token")
        return {**own, spelling: token or known, "SyncServer-Device-UUID": self.device}

    def request(self, method: str, endpoint: str, body: bytes | None = None, headers: dict | None = None, **parameters):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=60, context=self.context)
        query = "&".join(f"{key}={urllib.parse.quote(str(value))}" for key, value in parameters.items())
        try:
            connection.request(method, f"/{endpoint}/?{query}", body, {**self.headers(), **(headers or {})})
            reply = connection.getresponse()
            return reply, reply.read()
        except (OSError, http.client.HTTPException) as error:
            return None, str(error).encode()
        finally:
            connection.close()

    def refused(self, version: str, file: Path) -> tuple[int, bool]:
        """The status of a long upload with a wrong token, and whether the error's JSON was received."""
        headers = [part for name, value in self.headers(token="wrong").items() for part in ("-H", f"{name}: {value}")]
        done = subprocess.run(
            ["curl", "-sS", version, "--cacert", self.ca_file, "--max-time", "60", *headers, "-H", "Expect:",
             "--data-binary", f"@{file}", "-w", "\n%{http_code}", f"https://localhost:{self.port}/UploadFile/?{UPLOAD}"],
            capture_output=True, check=False)
        body, _, status = done.stdout.rpartition(b"\n")
        return int(status or 0), b'"credentials_rejected"' in body


UPLOAD = "fileUUID=11111111-1111-4111-8111-111111111111&fileVersion=0&masterVersion=0&mimeType=text%2Fplain" \
    "&sharingGroupUUID=22222222-2222-4222-8222-222222222222&checkSum=00"


def message(reply) -> dict:
    return json.loads(reply.headers.get("syncserver-message-params") or "{}")


def commit(phone: Phone, group: str, master_version: int) -> None:
    reply, body = phone.request("POST", "DoneUploads", masterVersion=master_version, sharingGroupUUID=group)
    if reply is None or reply.status != 200:
        sys.exit(f"a commit fails: {body[:200]!r}")


def examine(proxy: str, phone: Phone, folder: Path, passes_underscores: bool) -> None:
    group, file = str(uuid.uuid4()), str(uuid.uuid4())
    reply, body = phone.request("POST", "AddUser", sharingGroupUUID=group, cloudFolderName="Check")
    check(reply is not None and reply.status == 200, f"signing up with access-token failed ({body[:200]!r})", proxy)
    connection = http.client.HTTPSConnection("localhost", phone.port, timeout=60, context=phone.context)
    connection.request("GET", "/CheckCreds/", headers=phone.headers("access_token"))
    reply = connection.getresponse()
    body = reply.read()
    if passes_underscores:
        check(reply.status == 200, f"signing in with access_token ({reply.status})", proxy)
    else:
        check(reply.status == 401 and b"a proxy may have dropped it" in body, "access_token does not arrive, and 401 says why",
              proxy)

    reply, body = phone.request(
        "POST", "UploadFile", CONTENTS, fileUUID=file, fileVersion=0, masterVersion=0, mimeType="text/plain",
        sharingGroupUUID=group, checkSum=hashlib.md5(CONTENTS).hexdigest())
    check(reply is not None and reply.status == 200, f"an upload of 20 MB ({body[:200]!r})", proxy)
    commit(phone, group, 0)
    reply, body = phone.request(
        "POST", "UploadAppMetaData", json.dumps({"version": 0, "contents": METADATA}).encode(),
        {"Content-Type": "application/json"}, fileUUID=file, masterVersion=1, sharingGroupUUID=group)
    check(reply is not None and reply.status == 200, f"metadata of {len(METADATA)} bytes in a body ({body[:200]!r})", proxy)
    commit(phone, group, 1)

    known = {"fileUUID": file, "masterVersion": 2, "sharingGroupUUID": group, "appMetaDataVersion": 0}
    reply, body = phone.request("GET", "DownloadFile", fileVersion=0, omitLongAppMetaData="true", **known)
    check(reply is not None and reply.status == 200 and body == CONTENTS and message(reply).get("appMetaDataOmitted") is True,
          "a download without its long metadata", proxy)
    reply, body = phone.request("GET", "DownloadAppMetaData", **known)
    check(reply is not None and reply.status == 200 and json.loads(body).get("appMetaData") == METADATA, "the metadata", proxy)
    reply, body = phone.request("GET", "DownloadFile", fileVersion=0, **known)
    check(reply is not None and reply.status == 200 and message(reply).get("appMetaData") == METADATA,
          "a download with long metadata in a header, as deployed apps ask for it", proxy)

    reply, _ = phone.request(
        "POST", "CreateUpload", None, {"Upload-Length": "9", "Upload-Draft-Interop-Version": "6"}, fileUUID=str(uuid.uuid4()),
        fileVersion=0, masterVersion=2, mimeType="text/plain", sharingGroupUUID=group, checkSum="00" * 16)
    location = reply.headers.get("Location", "") if reply is not None else ""
    check(re.match(re.escape(PUBLIC_URL) + r"/Upload\?uploadUUID=", location) is not None,
          f"the address of an upload is below publicURL ({location})", proxy)
    reply, _ = phone.request("GET", "Index", ignored="x" * 50_000)
    check(reply is not None and reply.status == 200, f"a query of 50,000 bytes ({reply and reply.status})", proxy)

    long = folder / "long"
    long.write_bytes(CONTENTS)
    for version in ("--http1.1", "--http2"):
        seen = [phone.refused(version, long) for _ in range(REFUSALS)]
        # Caddy loses some replies: it stops reading from a server that replies before the body has ended.
        least = REFUSALS if proxy != "caddy" else REFUSALS // 3
        check(sum(status == 401 for status, _ in seen) >= least,
              f"a rejected upload receives its status, {version} ({seen})", proxy)
        check(sum(has_body for _, has_body in seen) >= least, f"a rejected upload receives its JSON, {version}", proxy)


# MARK: Signals about changes


class Listening:
    """A stream of signals, as curl receives it, line by line."""

    def __init__(self, phone: Phone, version: str, known: str):
        own = phone.headers() | {"Accept": "text/event-stream", "Last-Event-ID": known}
        headers = [part for name, value in own.items() for part in ("-H", f"{name}: {value}")]
        self.process = subprocess.Popen(
            ["curl", "-sSN", version, "--cacert", phone.ca_file, *headers, f"https://localhost:{phone.port}/Changes/"],
            stdout=subprocess.PIPE)
        self.lines: queue.Queue[tuple[float, bytes]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> "Listening":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put((time.monotonic(), line))

    def await_line(self, beginning: bytes) -> float | None:
        """When the next line with this beginning arrived."""
        end = time.monotonic() + PATIENCE_SECONDS
        while (rest := end - time.monotonic()) > 0:
            try:
                arrived, line = self.lines.get(timeout=rest)
            except queue.Empty:
                break
            if line.startswith(beginning):
                return arrived
        return None


def known_state(phone: Phone) -> str:
    reply, body = phone.request("GET", "Changes")
    if reply is None or reply.status != 200:
        sys.exit(f"the state is not known: {body[:200]!r}")
    return json.loads(body)["lastEventId"]


def examine_signals(proxy: str, phone: Phone) -> None:
    group = str(uuid.uuid4())
    reply, body = phone.request("POST", "CreateSharingGroup", sharingGroupUUID=group)
    check(reply is not None and reply.status == 200, f"a group ({body[:200]!r})", proxy)
    version = 0
    for http_version in ("--http1.1", "--http2"):
        with Listening(phone, http_version, known_state(phone)) as stream:
            check(stream.await_line(b":") is not None, f"a stream of signals begins, {http_version}", proxy)
            delays = []
            for _ in range(COMMITS):
                commit(phone, group, version)
                committed, version = time.monotonic(), version + 1
                data = f'data: {{"sharingGroupUUID":"{group}","masterVersion":{version}}}'
                arrived = stream.await_line(data.encode())
                delays.append(PATIENCE_SECONDS if arrived is None else arrived - committed)
            # The best one: other programs may hold up the machine.
            check(min(delays) < 1 and max(delays) < PATIENCE_SECONDS,
                  f"signals arrive within a second, {http_version} ({', '.join(f'{delay:.3f}' for delay in delays)})", proxy)
            beats = [stream.await_line(b":") for _ in range(HEARTBEATS)]
            check(None not in beats, f"heartbeats arrive, {http_version}", proxy)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(phone.request, "GET", "Changes", None, {"Last-Event-ID": known_state(phone)})
        check(not wait([waiting], timeout=0.5).done, "a long poll waits", proxy)
        commit(phone, group, version)
        reply, body = waiting.result()
    check(reply is not None and reply.status == 200 and json.loads(body).get("masterVersion") == version + 1,
          f"a long poll ends with a change ({body[:200]!r})", proxy)


def main() -> None:
    folder, certificates, *chosen = sys.argv[1:]
    ca_file = os.environ["CA_FILE"]
    for name in chosen or PROXIES:
        command, passes_underscores = PROXIES[name]
        own = (Path(folder) / name).resolve()
        own.mkdir(parents=True, exist_ok=True)
        names = {"folder": own, "certificates": Path(certificates).resolve(), "port": free_port(), "upstream": SERVER.port}
        with open(own / "log", "wb") as log, subprocess.Popen(command(names), stdout=log, stderr=log) as process:
            try:
                await_port(names["port"], process)
                phone = Phone(names["port"], ca_file)
                examine(name, phone, own, passes_underscores)
                if NCHAN.exists():
                    examine_signals(name, phone)
            finally:
                process.send_signal(signal.SIGTERM)
    for sentence in failures:
        print("failed:", sentence)
    print(f"{len(checks) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


main()
