"""A real WebDAV server on a free port of 127.0.0.1, until the standard input ends.

usage: webdav_server.py apache|wsgidav|rclone FOLDER

Serves FOLDER/files to the user `tester` with the password `secret-of-the-tests`. The first line of the output is the port.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

USER = "tester"
PASSWORD = "secret-of-the-tests"
START_SECONDS = 30
APACHE_MODULES = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "dav", "dav_fs",
                  "headers")


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


def serve(command: list, port: int) -> None:
    with subprocess.Popen(command) as server:
        wait_for(port)
        announce(port)
        server.terminate()


def apache(folder: Path) -> None:
    port = free_port()
    digest = subprocess.run(["openssl", "passwd", "-apr1", PASSWORD], check=True, capture_output=True, text=True).stdout
    (folder / "users").write_text(f"{USER}:{digest}", encoding="ascii")
    lines = [f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in APACHE_MODULES]
    # Children of root run as somebody else, who has to write the files.
    if os.geteuid() == 0:
        for path in (folder, folder / "files"):
            os.chmod(path, 0o777)
        lines += ["User www-data", "Group www-data"]
    lines += [
        f"ServerRoot {folder}", f"PidFile {folder}/apache.pid", f"ErrorLog {folder}/error.log", f"Listen 127.0.0.1:{port}",
        "ServerName webdav-apache.sandbox.test",
        # As behind every proxy that ends TLS: Apache compares scheme and port of destinations with its own.
        f"RequestHeader edit Destination ^https://([^/]+)/ http://$1:{port}/ early",
        f"DefaultRuntimeDir {folder}", f"DavLockDB {folder}/locks", f"DocumentRoot {folder}/files",
        f"<Directory {folder}/files>", "Dav On", "AuthType Basic", "AuthName files", f"AuthUserFile {folder}/users",
        "Require valid-user", "</Directory>", "",
    ]
    (folder / "apache.conf").write_text("\n".join(lines), encoding="utf-8")
    serve(["/usr/sbin/apache2", "-D", "FOREGROUND", "-f", folder / "apache.conf"], port)


def rclone(folder: Path) -> None:
    port = free_port()
    serve([
        Path(sys.executable).with_name("rclone"), "serve", "webdav", "--addr", f"127.0.0.1:{port}", "--user", USER,
        "--pass", PASSWORD,
        # What the tests do to the files behind its back is seen at once.
        "--dir-cache-time", "0s", "--config", "/dev/null", "--log-level", "ERROR", folder / "files",
    ], port)


def wsgidav(folder: Path) -> None:
    from cheroot.wsgi import Server  # pylint: disable=import-outside-toplevel  only here
    from wsgidav.wsgidav_app import WsgiDAVApp  # pylint: disable=import-outside-toplevel

    port = free_port()
    application = WsgiDAVApp({
        "host": "127.0.0.1", "port": port, "provider_mapping": {"/": str(folder / "files")},
        "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}}, "verbose": 0,
    })
    server = Server(("127.0.0.1", port), application)
    threading.Thread(target=server.start, daemon=True).start()
    wait_for(port)
    announce(port)
    server.stop()


def announce(port: int) -> None:
    print(port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    {"apache": apache, "rclone": rclone, "wsgidav": wsgidav}[sys.argv[1]](Path(sys.argv[2]).resolve())
