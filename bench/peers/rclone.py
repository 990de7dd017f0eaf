"""`rclone serve webdav` in front of the emulated Drive: like syncd, it keeps files in the cloud of their owner.

rclone is not configured for the sandbox. It looks Google's hosts up in its own /etc/hosts, provided by a private mount, and
finds nginx there, at the HTTPS port.
"""

import json
import os

from benchmark.bench_stack import BenchStack
from benchmark.load import LoadError
from syncstack.layout import write
from syncstack.names import Names

from .webdav_server import WebDAVServer

HOSTS = ("www.googleapis.com", "oauth2.googleapis.com", "accounts.google.com")
MOUNT = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'
# Bodies are not stored on the way; for an upload, whose length rclone does not use, a chunk is in memory. By default it
# sends ten calls a second (--drive-pacer-min-sleep), for the limits of Google that the sandbox does not have.
OPTIONS = (
    "--vfs-cache-mode", "off", "--drive-chunk-size", "8M", "--drive-pacer-min-sleep", "1ms", "--drive-pacer-burst",
    "1000")


class RcloneWebDAV(WebDAVServer):
    name = "rclone"

    def __init__(self, stack: BenchStack):
        if os.geteuid() != 0:
            raise LoadError("P16 needs root: rclone finds the emulated Drive through a private mount, at port 443.")
        super().__init__(stack)

    @property
    def sandbox_address(self) -> str:
        return Names(self.stack.layout).address

    def command(self) -> list:
        account = self.stack.sandbox.json("POST", "/sandbox/accounts", {"provider": "google", "name": "Rita Rclone"})
        token = {
            "access_token": account["accessToken"], "refresh_token": account["refreshToken"], "token_type": "bearer",
            "expiry": "2099-01-01T00:00:00Z"}
        configuration, hosts = self.stack.directory / "rclone.conf", self.stack.directory / "rclone-hosts"
        write(configuration, "\n".join([
            "[remote]", "type = drive", "scope = drive.file", f"token = {json.dumps(token)}",
            "client_id = 1234567890-server.apps.googleusercontent.com", "client_secret = sandbox-google-secret", ""]))
        write(hosts, f"127.0.0.1 localhost\n{self.sandbox_address} {' '.join(HOSTS)}\n", 0o644)
        return [
            "/usr/bin/unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", MOUNT, "sh", hosts,
            "rclone", "serve", "webdav", "remote:", "--addr", f"127.0.0.1:{self.backend}", "--config", configuration,
            "--ca-cert", self.stack.environment["CA_FILE"], *OPTIONS]
