"""A real storage server on a free port of 127.0.0.1, running until standard input ends.

usage: storage_server.py KIND FOLDER

KIND is s3-moto, s3-rclone, webdav-apache, webdav-apache-open, webdav-wsgidav, webdav-rclone, webdav-lighttpd, webdav-nginx,
webdav-copyparty, webdav-asgi or webdav-seaweed.

The S3 servers have the bucket `photos`. moto enforces conditions and the order of multipart uploads; it accepts any
key. `rclone serve s3` verifies signatures and `Content-MD5`, for the key `AKTEST` with the secret
`secret-of-the-tests`; FOLDER/files/photos holds its objects as files. Another kind, `s3-seaweedfs`, has the same key:
SeaweedFS verifies signatures and checksums, honours conditions, and requires parts of at least 5 MiB.

The WebDAV servers serve FOLDER/files to the user `tester` with the password `secret-of-the-tests`. While the file
FOLDER/open exists, `webdav-apache-open` shows the files to everybody, whatever password they present; writing requires
the right one. SeaweedFS accepts any password, and stores files in its own volumes, which are accessible through its
filer.

The output is the port, on one line. rclone caches the contents of folders; it prints a second line with the port of its
remote control, where `POST /vfs/forget` clears the cache. SeaweedFS prints one with the port of its filer.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

BUCKET = "photos"
KEY = "AKTEST"
USER = "tester"
SECRET = "secret-of-the-tests"
# Parts as small as those of other storages, so that tests need not send megabytes.
SMALLEST_PART_BYTES = 256 * 1024
START_SECONDS = 30
# With `dir`, like Debian; it redirects requests for a collection whose address lacks the trailing slash.
APACHE_MODULES = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "dav", "dav_fs",
                  "dir", "headers")


def s3_moto(_files: Path) -> None:
    # The first label of the host name is not a bucket.
    os.environ["S3_IGNORE_SUBDOMAIN_BUCKETNAME"] = "true"
    os.environ["S3_UPLOAD_PART_MIN_SIZE"] = str(SMALLEST_PART_BYTES)
    from moto.server import ThreadedMotoServer  # pylint: disable=import-outside-toplevel  after the setting

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")).close()
    announce(port)
    server.stop()


def s3_rclone(files: Path) -> None:
    (files / BUCKET).mkdir(exist_ok=True)
    serve_with_rclone("s3", "--auth-key", f"{KEY},{SECRET}", files)


def s3_seaweedfs(files: Path) -> None:
    folder = files.parent
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    (folder / "s3.json").write_text(json.dumps({"identities": [
        {"name": USER, "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": actions},
        # For tests that inspect the contents without a signature; a wrong signature is rejected.
        {"name": "anonymous", "actions": actions},
    ]}), encoding="ascii")
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    command = [
        Path(sys.executable).with_name("weed"), "server", f"-dir={files}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer",
        "-s3", f"-s3.config={folder}/s3.json", "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64", "-volume.max=50",
        *(f"-{name}.port={port}" for name, port in ports.items()),
        *(f"-{name}.port.grpc={free_port()}" for name in ports),
    ]
    with open(folder / "weed.log", "wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        wait_for(ports["s3"])
        # The filer may start after the interface.
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                address = f"http://127.0.0.1:{ports['s3']}/{BUCKET}"
                urllib.request.urlopen(urllib.request.Request(address, method="PUT")).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        announce(ports["s3"])
        # A regular shutdown takes more than 20 s.
        server.kill()


def webdav_rclone(files: Path) -> None:
    serve_with_rclone("webdav", "--user", USER, "--pass", SECRET, files)


def serve_with_rclone(interface: str, *arguments) -> None:
    port, control = free_port(), free_port()
    # Without a folder cache (--dir-cache-time 0s), it eventually enters a loop that occupies a whole core.
    serve([
        Path(sys.executable).with_name("rclone"), "serve", interface, "--addr", f"127.0.0.1:{port}", "--rc", "--rc-addr",
        f"127.0.0.1:{control}", "--rc-no-auth", "--config", "/dev/null", "--log-level", "ERROR", *arguments,
    ], port, control)


def webdav_apache_open(files: Path) -> None:
    webdav_apache(files, [
        f"Require expr \"-e '{files.parent}/open' && %{{REQUEST_METHOD}} =~ /^(GET|HEAD|OPTIONS|PROPFIND)$/\"",
    ])


def webdav_apache(files: Path, exceptions: list = ()) -> None:
    folder, port = files.parent, free_port()
    digest = subprocess.run(["openssl", "passwd", "-apr1", SECRET], check=True, capture_output=True, text=True).stdout
    (folder / "users").write_text(f"{USER}:{digest}", encoding="ascii")
    lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in APACHE_MODULES]
    # Child processes of root run as another user, who must be able to write the files.
    if os.geteuid() == 0:
        for path in (folder, files):
            os.chmod(path, 0o777)
        lines += ["User www-data", "Group www-data"]
    lines += [
        f"ServerRoot {folder}", f"PidFile {folder}/apache.pid", f"ErrorLog {folder}/error.log", f"Listen 127.0.0.1:{port}",
        "ServerName webdav-apache.sandbox.test",
        # Like behind any proxy that terminates TLS: Apache compares scheme and port of destinations with its own.
        f"RequestHeader edit Destination ^https://([^/]+)/ http://$1:{port}/ early",
        f"DefaultRuntimeDir {folder}", f"DavLockDB {folder}/locks", f"DocumentRoot {files}",
        f"<Directory {files}>", "Dav On", "AuthType Basic", "AuthName files", f"AuthUserFile {folder}/users",
        # One of the requirements must be met.
        "Require valid-user", *exceptions, "</Directory>", "",
    ]
    (folder / "apache.conf").write_text("\n".join(lines), encoding="utf-8")
    serve(["/usr/sbin/apache2", "-D", "FOREGROUND", "-f", folder / "apache.conf"], port)


def webdav_wsgidav(files: Path) -> None:
    from cheroot.wsgi import Server  # pylint: disable=import-outside-toplevel  only here
    from wsgidav.wsgidav_app import WsgiDAVApp  # pylint: disable=import-outside-toplevel

    port = free_port()
    application = WsgiDAVApp({
        "host": "127.0.0.1", "port": port, "provider_mapping": {"/": str(files)},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": SECRET}}}}, "verbose": 0,
    })
    server = Server(("127.0.0.1", port), application)
    threading.Thread(target=server.start, daemon=True).start()
    wait_for(port)
    announce(port)
    server.stop()


def webdav_lighttpd(files: Path) -> None:
    folder, port = files.parent, free_port()
    (folder / "users").write_text(f"{USER}:{SECRET}", encoding="ascii")
    (folder / "lighttpd.conf").write_text(f"""
server.modules = ("mod_auth", "mod_authn_file", "mod_webdav")
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{files}"
server.upload-dirs = ("{folder}")
server.errorlog = "{folder}/error.log"
auth.backend = "plain"
auth.backend.plain.userfile = "{folder}/users"
auth.require = ("/" => ("method" => "basic", "realm" => "files", "require" => "valid-user"))
webdav.activate = "enable"
webdav.sqlite-db-name = "{folder}/locks.db"
""", encoding="utf-8")
    serve(["/usr/sbin/lighttpd", "-D", "-f", folder / "lighttpd.conf"], port)


def webdav_nginx(files: Path) -> None:
    folder, port = files.parent, free_port()
    digest = subprocess.run(["openssl", "passwd", "-apr1", SECRET], check=True, capture_output=True, text=True).stdout
    (folder / "users").write_text(f"{USER}:{digest}", encoding="ascii")
    # Workers of root run as another user, who must be able to write the files.
    user = "user root;" if os.geteuid() == 0 else ""
    paths = " ".join(f"{name}_temp_path {folder}/{name};"
                     for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"""
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
{user} daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; {paths}
    server {{
        listen 127.0.0.1:{port}; root {files};
        location / {{
            auth_basic files; auth_basic_user_file {folder}/users; client_max_body_size 0;
            dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS;
        }}
    }}
}}
""", encoding="utf-8")
    serve(["/usr/sbin/nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"], port)


def webdav_copyparty(files: Path) -> None:
    port = free_port()
    serve([
        Path(sys.executable).with_name("copyparty"), "-q", "-i", "127.0.0.1", "-p", str(port), "-a", f"{USER}:{SECRET}", "-v",
        f"{files}::A,{USER}", "--hist", files.parent / "history", "--no-crt", "--no-thumb",
        # All test users have the same address.
        *(f"--ban-{reason}=no" for reason in ("pw", "404", "403", "422", "url")),
    ], port, output=subprocess.DEVNULL)


def webdav_asgi(files: Path) -> None:
    port = free_port()
    serve([Path(sys.executable).with_name("asgi-webdav"), "-H", "127.0.0.1", "-P", str(port), "-u", USER, SECRET, "-r",
           files], port, output=subprocess.DEVNULL)


def webdav_seaweed(files: Path) -> None:
    # The gRPC port is derived from the other one unless specified.
    names = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc",
             "webdav.port")
    ports = dict(zip(names, free_ports(len(names))))
    serve([
        Path(sys.executable).with_name("weed"), f"-logdir={files.parent}", "server", f"-dir={files}", "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1", "-filer", "-webdav", "-volume.max=4", "-master.volumeSizeLimitMB=64",
        *(f"-{name}={port}" for name, port in ports.items()),
    ], ports["webdav.port"], ports["filer.port"], output=subprocess.DEVNULL)


def serve(command: list, port: int, *further_ports: int, output=None) -> None:
    with subprocess.Popen(command, stdout=output, stderr=output) as server:
        for needed in (port, *further_ports):
            wait_for(needed)
        announce(port, *further_ports)
        server.terminate()


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    listeners = [socket.socket() for _ in range(count)]
    try:
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def announce(*ports: int) -> None:
    print(*ports, "", sep="\n", flush=True)
    sys.stdin.read()


KINDS = {"s3-moto": s3_moto, "s3-rclone": s3_rclone, "webdav-apache": webdav_apache,
         "webdav-apache-open": webdav_apache_open, "webdav-wsgidav": webdav_wsgidav,
         "webdav-rclone": webdav_rclone,
         "webdav-lighttpd": webdav_lighttpd, "webdav-nginx": webdav_nginx, "webdav-copyparty": webdav_copyparty,
         "webdav-asgi": webdav_asgi, "webdav-seaweed": webdav_seaweed}

KINDS["s3-seaweedfs"] = s3_seaweedfs

if __name__ == "__main__":
    FILES = Path(sys.argv[2]).resolve() / "files"
    FILES.mkdir(parents=True, exist_ok=True)
    KINDS[sys.argv[1]](FILES)
