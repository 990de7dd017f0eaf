"""rclone with the emulated Drive: as a client, and as `rclone serve webdav`, which like syncd keeps files in the cloud of
their owner.

rclone is not configured for the sandbox. It looks Google's hosts up in its own /etc/hosts, provided by a private mount,
and finds nginx there, at the HTTPS port.
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
OPTIONS = ("--drive-chunk-size", "8M", "--drive-pacer-min-sleep", "1ms", "--drive-pacer-burst", "1000")


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
        return rclone(
            self.stack, "serve", "webdav", "remote:", "--addr", f"127.0.0.1:{self.backend}", "--vfs-cache-mode", "off",
            *OPTIONS)


def rclone(stack: BenchStack, *arguments) -> list:
    """The command line for rclone with `remote:`, the Drive of a new account."""
    account = stack.sandbox.json("POST", "/sandbox/accounts", {"provider": "google", "name": "Rita Rclone"})
    token = {
        "access_token": account["accessToken"], "refresh_token": account["refreshToken"], "token_type": "bearer",
        "expiry": "2099-01-01T00:00:00Z"}
    configuration, hosts = stack.directory / "rclone.conf", stack.directory / "rclone-hosts"
    write(configuration, "\n".join([
        "[remote]", "type = drive", "scope = drive.file", f"token = {json.dumps(token)}",
        "client_id = 1234567890-server.apps.googleusercontent.com", "client_secret = sandbox-google-secret", ""]))
    write(hosts, f"127.0.0.1 localhost\n{Names(stack.layout).address} {' '.join(HOSTS)}\n", 0o644)
    return [
        "/usr/bin/unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", MOUNT, "sh", hosts,
        "rclone", *arguments, "--config", configuration, "--ca-cert", stack.environment["CA_FILE"]]
