"""A real storage server on a free port of 127.0.0.1, until the standard input ends.

usage: storage_server.py s3-moto|s3-rclone|webdav-apache|webdav-wsgidav|webdav-rclone FOLDER

The S3 servers have the bucket `photos`. moto enforces conditions and the order of multipart uploads; it takes any key.
`rclone serve s3` verifies signatures and `Content-MD5`, for the key `AKTEST` with the secret `secret-of-the-tests`;
FOLDER/files/photos holds its objects as files.

The WebDAV servers serve FOLDER/files to the user `tester` with the password `secret-of-the-tests`.

The output is the port, in a line. rclone remembers what a folder holds; it has a second line with the port of its
remote control, where `POST /vfs/forget` makes it look again.
"""

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
# With `dir`, as Debian has it, which redirects requests for a collection whose address lacks the slash.
APACHE_MODULES = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "dav", "dav_fs",
                  "dir", "headers")


def s3_moto(_files: Path) -> None:
    # The first label of the host is not a bucket.
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


def webdav_rclone(files: Path) -> None:
    serve_with_rclone("webdav", "--user", USER, "--pass", SECRET, files)


def serve_with_rclone(interface: str, *arguments) -> None:
    port, control = free_port(), free_port()
    # Without a memory of folders (--dir-cache-time 0s) it turns in a loop after a while, and takes a whole core.
    serve([
        Path(sys.executable).with_name("rclone"), "serve", interface, "--addr", f"127.0.0.1:{port}", "--rc", "--rc-addr",
        f"127.0.0.1:{control}", "--rc-no-auth", "--config", "/dev/null", "--log-level", "ERROR", *arguments,
    ], port, control)


def webdav_apache(files: Path) -> None:
    folder, port = files.parent, free_port()
    digest = subprocess.run(["openssl", "passwd", "-apr1", SECRET], check=True, capture_output=True, text=True).stdout
    (folder / "users").write_text(f"{USER}:{digest}", encoding="ascii")
    lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in APACHE_MODULES]
    # Children of root run as somebody else, who has to write the files.
    if os.geteuid() == 0:
        for path in (folder, files):
            os.chmod(path, 0o777)
        lines += ["User www-data", "Group www-data"]
    lines += [
        f"ServerRoot {folder}", f"PidFile {folder}/apache.pid", f"ErrorLog {folder}/error.log", f"Listen 127.0.0.1:{port}",
        "ServerName webdav-apache.sandbox.test",
        # As behind every proxy that ends TLS: Apache compares scheme and port of destinations with its own.
        f"RequestHeader edit Destination ^https://([^/]+)/ http://$1:{port}/ early",
        f"DefaultRuntimeDir {folder}", f"DavLockDB {folder}/locks", f"DocumentRoot {files}",
        f"<Directory {files}>", "Dav On", "AuthType Basic", "AuthName files", f"AuthUserFile {folder}/users",
        "Require valid-user", "</Directory>", "",
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


def serve(command: list, port: int, *further_ports: int) -> None:
    with subprocess.Popen(command) as server:
        for needed in (port, *further_ports):
            wait_for(needed)
        announce(port, *further_ports)
        server.terminate()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


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


KINDS = {"s3-moto": s3_moto, "s3-rclone": s3_rclone, "webdav-apache": webdav_apache, "webdav-wsgidav": webdav_wsgidav,
         "webdav-rclone": webdav_rclone}

if __name__ == "__main__":
    FILES = Path(sys.argv[2]).resolve() / "files"
    FILES.mkdir(parents=True, exist_ok=True)
    KINDS[sys.argv[1]](FILES)
