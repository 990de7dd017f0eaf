"""A stack as a whole: up, env, down."""

import contextlib
import fcntl
import json
import os
import shlex
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from . import certificates, configuration
from .cluster import Cluster
from .database import NAME as DATABASE_NAME
from .errors import StackError
from .layout import REPOSITORY, Layout
from .names import Names
from .processes import most_open_files, run, wait_until
from .responders import Responders
from .webserver import WebServer

ROLES = ("api", "transfer", "jobs")
DEFAULT_RESPONDERS = 2
READY_SECONDS = 60.0
# One process of the transfer role has at most 1,024 threads, each with up to four connections and files.
LEAST_OPEN_FILES = 4_096
SANDBOX_THREADS = 64, 1024  # in addition to those for downloads, and the maximum


class Stack:
    def __init__(self, directory: str):
        self.layout = Layout(directory)
        self.database = Cluster(self.layout, self._known_settings()["databaseNodes"])
        self.names = Names(self.layout)
        self.web_server = WebServer(self.layout)

    def up(self, responders: int | None, port: int | None, build: str | None, nodes: int | None = None,
           clocks: dict[str, str] | None = None, resolves_names: bool = False,
           name_server: str | None = None) -> None:
        """Starts missing parts, restarts changed ones, and returns when requests are answered.

        Omitted options keep their values of the last start.
        """
        settings = self.layout.settings()
        settings["responders"] = responders or settings.get("responders", DEFAULT_RESPONDERS)
        settings["build"] = build or settings.get("build", "release")
        if nodes is not None and nodes != settings.setdefault("databaseNodes", nodes):
            raise StackError(f"The database in {self.layout.directory} has {settings['databaseNodes']} nodes already.")
        self.database = Cluster(self.layout, settings.setdefault("databaseNodes", 1))
        settings["clocks"] = {**settings.get("clocks", {}), **(clocks or {})}
        settings["resolvesNames"] = (
            resolves_names or name_server is not None or settings.get("resolvesNames", False))
        settings["nameServer"] = name_server or settings.get("nameServer")
        self._check_programs(settings)
        if most_open_files() < LEAST_OPEN_FILES:
            raise StackError(
                f"A process may open {most_open_files()} files here, but a stack needs {LEAST_OPEN_FILES}: raise the hard "
                "limit (ulimit -Hn), set by /etc/security/limits.conf or by the program that started this shell.")
        self.layout.create()
        with self._lock():
            try:
                self._up(settings, port)
            except BaseException:
                self._down(settings)
                raise

    def down(self) -> None:
        """Stops everything; the directory's contents are kept. Does nothing without a stack."""
        if not self.layout.run.exists():
            return
        with self._lock():
            self._down(self._known_settings())

    def url(self) -> str:
        """The server's URL, without a trailing slash."""
        return f"https://127.0.0.1:{self.layout.settings()['ports']['https']}"

    def env(self) -> str:
        """`KEY=value` lines, safe to source; lists of processes show the current ones."""
        if not self.layout.settings_file.exists():
            raise StackError(f"There is no stack in {self.layout.directory}; scripts/stack up creates one.")
        settings = self._known_settings()
        ports = settings["ports"]
        groups = {group.name: group.pids() for group in self._groups(settings)}
        values = {
            "SYNC_URL": self.url(),
            "SYNC_HTTP_URL": f"http://127.0.0.1:{ports['http']}",
            "SYNC_OLDER_HTTP_URL": f"http://127.0.0.1:{ports['olderHTTP']}",
            "SANDBOX_URL": f"http://127.0.0.1:{ports['sandboxHTTP']}",
            "CA_FILE": self.layout.ca_file,
            "DB_SOCKET": self.layout.database_socket,
            "DB_NAME": DATABASE_NAME,
            "LOG_DIR": self.layout.logs,
            "CONFIG_FILE": self.layout.configuration,
            "API_SOCKET": self.layout.api_socket,
            "TRANSFER_SOCKET": self.layout.transfer_socket,
            "CHANGES_SOCKET": self.layout.changes_socket,
            "METRICS_URL": f"http://127.0.0.1:{ports['metrics']}",
            "SANDBOX_TLS_PORT": ports["sandboxTLS"],
            "STACK_DIR": self.layout.directory,
            "PIDS_nginx": self.web_server.pids(),
            "PIDS_mariadb": self.database.pids(),
            "PIDS_syncd_api": groups["syncd-api"],
            "PIDS_syncd_transfer": groups["syncd-transfer"],
            "PIDS_syncd_jobs": groups["syncd-jobs"],
            "PIDS_sandbox": groups["sandbox"],
            # Restarts syncd's processes when they end.
            "PIDS_launchers": [
                pid for group in self._groups(settings) if group.name != "sandbox" for pid in group.launcher_pids()],
        }
        lines = []
        for key, value in values.items():
            text = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            lines.append(f"{key}={shlex.quote(text)}")
        return "\n".join(lines)

    def _up(self, settings: dict, port: int | None) -> None:
        certificates.prepare(self.layout)
        if settings["resolvesNames"]:
            self.names.up(settings["nameServer"])
        self.web_server.up(settings, port, self.names.address if settings["resolvesNames"] else None)
        self.layout.save(settings)
        self.database.up(settings)
        self.layout.save(settings)
        sockets = {role: self.database.socket(number) for number, role in enumerate(ROLES)}
        sandbox_port = None if settings["resolvesNames"] else settings["ports"]["sandboxTLS"]
        text = configuration.prepare(self.layout, sandbox_port, sockets)
        run([self._program(settings, "syncctl"), "migrate", "--config", self.layout.configuration],
            self.layout.logs / "syncctl.log")
        fingerprints = settings.setdefault("fingerprints", {})
        for group in self._groups(settings):
            fingerprint = group.fingerprint("" if group.name == "sandbox" else text)
            if group.is_running() and fingerprints.get(group.name) == fingerprint:
                continue
            group.down()
            group.up()
            fingerprints[group.name] = fingerprint
        self.layout.save(settings)
        self._wait_until_ready(settings)

    def _down(self, settings: dict) -> None:
        """Stops the parts in an order that lets each finish: nginx first, the database last."""
        self.web_server.down()
        for group in self._groups(settings):
            group.down()
        self.database.down()
        self.names.down()

    def _groups(self, settings: dict) -> list[Responders]:
        layout = self.layout
        syncd = self._program(settings, "syncd")

        def role(name: str) -> list:
            return [syncd, "--role", name, "--config", layout.configuration_of(name)]

        count = settings["responders"]
        clock = settings.get("clocks", {}).get
        names = tuple(self.names.command()) if settings.get("resolvesNames") else ()
        return [
            Responders(layout, "syncd-api", role("api"), count, layout.api_socket, clock("api"), names),
            Responders(layout, "syncd-transfer", role("transfer"), count, layout.transfer_socket, clock("transfer"), names),
            Responders(layout, "syncd-jobs", role("jobs"), 1, None, clock("jobs"), names),
            Responders(layout, "sandbox", [
                self._program(settings, "syncsandbox"), "--state", layout.sandbox, *self._phones(settings),
                "--threads", self._sandbox_threads(count)], 1, layout.sandbox_socket),
        ]

    def _phones(self, settings: dict) -> list:
        """The server of the phones on the sandbox's page."""
        if "ports" not in settings:
            return []
        return ["--server", f"https://127.0.0.1:{settings['ports']['https']}", "--server-ca", self.layout.ca_file]

    def _sandbox_threads(self, responders: int) -> int:
        """A thread for each slow download that the server may have in progress: real clouds have the capacity."""
        others, most = SANDBOX_THREADS
        configuration = self.layout.configuration_of("transfer")
        if not configuration.exists():
            return most
        downloads = responders * json.loads(configuration.read_text(encoding="utf-8")).get("transferThreads", most)
        return min(most, others + downloads)

    def _wait_until_ready(self, settings: dict) -> None:
        """Waits for each syncd to report readiness, then sends requests through nginx as a phone would."""
        ports = settings["ports"]
        context = ssl.create_default_context(cafile=str(self.layout.ca_file))
        *roles, sandbox = self._groups(settings)
        for group in roles:
            wait_for(group, "did not report READY=1", group.all_ready)
        for group, url in (
            (sandbox, f"http://127.0.0.1:{ports['sandboxHTTP']}/sandbox/accounts"),
            (roles[0], f"https://127.0.0.1:{ports['https']}/HealthCheck/"),
        ):
            wait_for(group, f"did not answer 200 at {url}", lambda url=url: status(url, context) == 200)

    def _known_settings(self) -> dict:
        return {"responders": DEFAULT_RESPONDERS, "build": "release", "databaseNodes": 1, **self.layout.settings()}

    @staticmethod
    def _program(settings: dict, name: str) -> Path:
        folder = os.environ.get("SYNC_BIN_DIR") or REPOSITORY / ".build" / settings["build"]
        return Path(folder) / name

    def _check_programs(self, settings: dict) -> None:
        for name in ("syncd", "syncctl", "syncsandbox"):
            if not os.access(self._program(settings, name), os.X_OK):
                raise StackError(f"{self._program(settings, name)} is missing; scripts/build builds it.")

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Allows one `up` or `down` at a time for each directory."""
        with open(self.layout.directory / "lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def wait_for(group: Responders, complaint: str, condition: Callable[[], bool]) -> None:
    """Waits for a condition; throws as soon as the responders keep failing."""
    def check() -> bool:
        group.check()
        return condition()

    if not wait_until(check, READY_SECONDS):
        raise StackError(f"{group.name} {complaint} within {READY_SECONDS:.0f} s.", group.log)


def status(url: str, context: ssl.SSLContext) -> int | None:
    """The HTTP status of a GET, if any."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=10) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None
