"""The paths of a stack, and the settings that persist from one start to the next."""

import hashlib
import json
import os
import tempfile
from pathlib import Path

from .errors import StackError

REPOSITORY = Path(__file__).resolve().parents[3]
LONGEST_SOCKET_PATH = 100  # sun_path holds 108 bytes (unix(7)); a temporary suffix may be added


class Layout:
    """The paths below one state directory. Creating a value does not touch the disk."""

    def __init__(self, directory: str):
        self.directory = Path(os.path.abspath(directory))
        self.settings_file = self.directory / "stack.json"
        self.configuration = self.directory / "syncd.json"
        self.logs = self.directory / "log"
        self.run = self.directory / "run"
        self.secrets = self.directory / "secrets"
        self.certificates = self.directory / "tls"
        self.ca_file = self.certificates / "ca.pem"
        self.database = self.directory / "mariadb"
        self.nginx = self.directory / "nginx"
        self.sandbox = self.directory / "sandbox"
        self.sockets = self._socket_directory()
        self.database_socket = self.sockets / "mariadb.sock"
        self.api_socket = self.sockets / "api.sock"
        self.transfer_socket = self.sockets / "transfer.sock"
        self.sandbox_socket = self.sockets / "sandbox.sock"
        self.changes_socket = self.sockets / "changes.sock"

    def _socket_directory(self) -> Path:
        """`run`, or a separate short directory if the path would be too long for a socket."""
        if len(os.fsencode(self.run / "transfer.sock")) <= LONGEST_SOCKET_PATH:
            return self.run
        name = hashlib.sha256(os.fsencode(self.directory)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"syncstack-{os.getuid()}-{name}"

    def create(self) -> None:
        """Creates the directories, readable only by this user."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for path in (
            self.logs, self.run, self.secrets, self.certificates, self.database, self.nginx, self.sandbox, self.sockets
        ):
            path.mkdir(mode=0o700, exist_ok=True)
        if self.sockets.stat().st_uid != os.getuid():
            raise StackError(f"{self.sockets} belongs to another user.")

    def settings(self) -> dict:
        """Ports, number of responders and so on, of the last start; empty before the first."""
        try:
            return json.loads(self.settings_file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}

    def save(self, settings: dict) -> None:
        write(self.settings_file, json.dumps(settings, indent=2) + "\n")

    def configuration_of(self, role: str) -> Path:
        """The configuration of a role of syncd; that of `api` is also for people and syncctl."""
        return self.configuration if role == "api" else self.directory / f"syncd-{role}.json"

    def secret(self, name: str) -> Path:
        return self.secrets / name


def write(path: Path, text: str, mode: int = 0o600) -> None:
    """Replaces a file as a whole; it never exists half-written or with more rights than `mode`."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)
