"""A SyncServer host, set up like an operator does: our packages with Debian's nginx and MariaDB, and the sandbox."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from container import Container, wait_for
from image import RELEASE, run, unpack

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts" / "lib"))

STATE = REPOSITORY / ".stack" / "host"
# The packages just built, or others, such as the previous release.
PACKAGES = Path(os.environ.get("PACKAGES") or REPOSITORY / ".build" / "packages")
CONFIGURATION = "/etc/syncd/syncd.json"
INSTANCES = ("syncd-api@1", "syncd-api@2", "syncd-transfer@1", "syncd-transfer@2", "syncd-jobs@1")
RESPONDERS = INSTANCES[:4]
UNITS = (*INSTANCES, "syncd", "syncd-backup", "syncd-backup-copy", "syncsandbox")
START_SECONDS = 30.0
URL = "https://localhost"
SANDBOX_URL = "http://127.0.0.1:9080"
CA_FILE = STATE / "tls" / "server.pem"
CERTIFICATE = "/etc/ssl/sync.pem"
KEY = "/etc/ssl/private/sync.key"
METRICS_URL = "http://127.0.0.1:9180"


class Host:
    def __init__(self, name: str = "", suite: str = RELEASE) -> None:
        self.container = Container(unpack(STATE, name, suite))
        # Secrets by name, for searches in places where they must not appear: the texts are unique.
        self.planted: dict[str, str] = {}

    def set_up(self) -> None:
        """Boots, installs and configures; returns when the services run."""
        self.begin()
        self._make_certificate()
        self.container.run(
            "syncctl", "setup", "--unattended", "--sandbox", "--host", "localhost", "--certificate", CERTIFICATE, "--key",
            KEY)
        for instance in INSTANCES:
            wait_for(f"{instance} runs", lambda name=instance: self.is_active(name), START_SECONDS)
        self.planted = {
            file.name: file.read_text(encoding="ascii").strip()
            for file in self.container.path("/etc/syncd/secrets").iterdir()
        }

    def begin(self) -> None:
        """Boots and installs without configuring."""
        self.container.boot()
        self.install([*PACKAGES.glob("sync*.deb")], "nginx", "mariadb-server", "logrotate")
        self.container.enter_network()

    def install(self, packages: list[Path], *others: str) -> str:
        """Installs package files as an operator does, with apt; returns the output."""
        inside = self.container.path("/root/packages")
        inside.mkdir(exist_ok=True)
        names = []
        for package in packages:
            shutil.copy(package, inside)
            names.append(f"/root/packages/{package.name}")
        return self.container.output(
            "eatmydata", "apt-get", "install", "--yes", "--no-install-recommends", "--allow-downgrades",
            "--reinstall", *names, *others)

    def _make_certificate(self) -> None:
        CA_FILE.parent.mkdir(exist_ok=True)
        key = CA_FILE.with_suffix(".key")
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", CA_FILE)
        self.write(KEY, key.read_text(encoding="ascii"), 0o600)
        self.write(CERTIFICATE, CA_FILE.read_text(encoding="ascii"))
        self._trust_certificate()

    def take_certificate(self, other: "Host") -> None:
        """Uses the certificate of another host, to serve under its name."""
        for path, mode in ((KEY, 0o600), (CERTIFICATE, 0o644)):
            self.write(path, other.container.path(path).read_text(encoding="ascii"), mode)
        self._trust_certificate()

    def _trust_certificate(self) -> None:
        """Makes the host trust its own certificate."""
        self.write("/usr/local/share/ca-certificates/sync.crt", CA_FILE.read_text(encoding="ascii"))
        self.container.run("update-ca-certificates")

    # MARK: Actions and observations of an operator

    def configure(self, values: dict) -> None:
        """Writes the configuration; the file's permissions are unchanged."""
        path = self.container.path(CONFIGURATION)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        self.write(CONFIGURATION, json.dumps(values, indent=2) + "\n", mode)

    def configuration(self) -> dict:
        return json.loads(self.container.path(CONFIGURATION).read_text(encoding="utf-8"))

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        file = self.container.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def show(self, unit: str, *properties: str) -> list[str]:
        lines = self.container.output(
            "systemctl", "show", *(f"--property={name}" for name in properties), unit_name(unit)).splitlines()
        values = dict(line.partition("=")[::2] for line in lines)
        return [values[name] for name in properties]

    def pid(self, unit: str) -> int:
        return int(self.show(unit, "MainPID")[0])

    def pids(self) -> dict[str, int]:
        return {instance: self.pid(instance) for instance in INSTANCES}

    def is_active(self, unit: str) -> bool:
        return self.show(unit, "ActiveState")[0] == "active"

    def outside(self, pid: int) -> int:
        """The pid, outside the container, of a process in it."""
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                numbers = next(line for line in status.read_text().splitlines() if line.startswith("NSpid:")).split()[1:]
                same = os.readlink(status.parent / "ns" / "pid") == os.readlink(
                    f"/proc/{self.container.leader}/ns/pid")
            except (OSError, StopIteration):
                continue
            if same and numbers[-1] == str(pid):
                return int(status.parent.name)
        raise AssertionError(f"The container has no process {pid}")

    def demonstrate(self) -> str:
        done = subprocess.run(
            [REPOSITORY / "scripts" / "demonstrate"], env=os.environ | {
                "SYNC_URL": URL, "SANDBOX_URL": SANDBOX_URL, "CA_FILE": str(CA_FILE),
                "LOG_DIR": str(self.container.path("/var/log")),
                # The packages' default: one hour.
                "REPLACED_VERSIONS_STAY": "yes",
            }, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + self.journal())
        return done.stdout

    def journal(self, *options: str) -> str:
        return self.container.output(
            "journalctl", "--no-pager", "--output=cat", "--lines=200", "--unit=syncd*", "--unit=syncsandbox*", *options)


def unit_name(unit: str) -> str:
    return unit if "." in unit else unit + ".service"
