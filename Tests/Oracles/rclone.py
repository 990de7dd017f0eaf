"""rclone, unmodified and with production URLs, connected to the sandbox: a client in daily use with real providers."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from connect_proxy import ConnectProxy
from sandbox import CA, PORT


class Rclone:
    """A context manager for one configured remote; commands take paths on the remote with a leading `remote:`."""

    def __init__(self, kind, token, **options):
        """`token` is the OAuth token in rclone's format, None if the options contain a password; `options` are members
        of the remote's configuration."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rclone-oracle-"))
        self._proxy = ConnectProxy(PORT)
        lines = ["[remote]", f"type = {kind}"]
        if token is not None:
            token = {"token_type": "bearer", "expiry": "2099-01-01T00:00:00Z", **token}
            lines.append(f"token = {json.dumps(token)}")
        lines += [f"{name} = {value}" for name, value in options.items()]
        (self.folder / "rclone.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def __enter__(self):
        self._proxy.__enter__()
        return self

    def __exit__(self, *_):
        self._proxy.__exit__()
        shutil.rmtree(self.folder)

    @property
    def hosts(self):
        """The hosts requested so far."""
        return self._proxy.hosts

    def token(self):
        """The token that rclone currently stores."""
        for line in (self.folder / "rclone.conf").read_text(encoding="utf-8").splitlines():
            if line.startswith("token = "):
                return json.loads(line.removeprefix("token = "))
        return None

    def local(self, name, data=None):
        """A path for a file on this machine, with the contents `data` if given."""
        path = self.folder / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if data is not None:
            path.write_bytes(data)
        return path

    def obscure(self, password):
        """A password in the form used in rclone's configuration."""
        return self.run("obscure", password)[1].strip()

    def configure(self, **options):
        """Adds members to the remote's configuration."""
        with (self.folder / "rclone.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {value}\n" for name, value in options.items())

    def run(self, *arguments):
        """Runs a command; returns whether it succeeded, and its output."""
        # From the oracle's own environment: rclone is installed as a Python package.
        binary = pathlib.Path(sys.executable).parent / "rclone"
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "HTTPS_PROXY": self._proxy.url}
        result = subprocess.run(
            [str(binary), "--config", str(self.folder / "rclone.conf"), "--ca-cert", CA, "--retries", "1",
             "--low-level-retries", "3", *[str(argument) for argument in arguments]],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
        self.errors = result.stderr.decode(errors="replace")
        return result.returncode == 0, result.stdout.decode(errors="replace")

    def listing(self, path="remote:", *arguments):
        """The entries at `path`: rclone's description of each, by path."""
        ok, output = self.run("lsjson", path, "--hash", *arguments)
        return {entry["Path"]: entry for entry in json.loads(output)} if ok else None
