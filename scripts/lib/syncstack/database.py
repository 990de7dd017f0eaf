"""A private MariaDB, completely in one directory, reachable only through a Unix socket."""

import getpass
import os
import secrets
import shutil
import signal
from pathlib import Path

from .errors import StackError
from .layout import Layout, write
from .processes import pid_from_file, raise_open_files, run, start, stop_one, wait_until

NAME = "syncserver"
USER = "syncd"
ROLES = ("api", "transfer", "jobs")
START_SECONDS = 60.0  # recovery after a crash included
STOP_SECONDS = 60.0


class Database:
    """Admits the user who created it as an administrator, and `syncd` by password.

    `name` distinguishes several databases; `options` are further lines for the server's option file.
    """

    def __init__(self, layout: Layout, name: str = "mariadb", options: list[str] | None = None):
        self.layout = layout
        self.home = layout.directory / name
        self.options = options or []
        self.options_file = self.home / "my.cnf"
        self.data = self.home / "data"
        self.log = layout.logs / f"{name}.log"
        self.socket = layout.sockets / f"{name}.sock"
        self.pid_file = layout.run / f"{name}.pid"
        self.password_file = layout.secret("database-password")

    def pid(self) -> int | None:
        return pid_from_file(self.pid_file, str(self.options_file))

    def up(self, arguments: tuple[str, ...] = ()) -> None:
        if self.pid() is not None:
            return
        self.home.mkdir(mode=0o700, exist_ok=True)
        self._write_options()
        self._initialize_data()
        # MariaDB wants 32,000 open files. If the limit is lower, it keeps the shell's limit, and allows fewer
        # connections.
        process = start(["mariadbd", f"--defaults-file={self.options_file}", *arguments], self.log, raise_open_files)

        def ready() -> bool:
            if process.poll() is not None:
                raise StackError(f"MariaDB ended with status {process.returncode} right after its start.", self.log)
            try:
                self.sql("SELECT 1")
            except StackError:
                return False
            return True

        if not wait_until(ready, START_SECONDS):
            raise StackError(f"MariaDB did not answer within {START_SECONDS:.0f} s.", self.log)

    def create(self) -> None:
        """Creates the database, its owner, and an account for each role, if missing.

        `syncctl migrate` grants the roles their rights: every test runs with exactly those.
        """
        if not self.password_file.exists():
            write(self.password_file, secrets.token_hex(24))
        password = self.password_file.read_text(encoding="ascii").strip()
        self.sql(f"""
            CREATE DATABASE IF NOT EXISTS {NAME} CHARACTER SET utf8mb4;
            CREATE USER IF NOT EXISTS {USER}@localhost;
            ALTER USER {USER}@localhost IDENTIFIED BY '{password}';
            GRANT ALL PRIVILEGES ON {NAME}.* TO {USER}@localhost WITH GRANT OPTION;
            """)
        for role in ROLES:
            file = self.role_password_file(role)
            if not file.exists():
                write(file, secrets.token_hex(24))
            password = file.read_text(encoding="ascii").strip()
            self.sql(f"""
                CREATE USER IF NOT EXISTS {USER}_{role}@localhost;
                ALTER USER {USER}_{role}@localhost IDENTIFIED BY '{password}';
                """)

    def role_password_file(self, role: str) -> Path:
        return self.layout.secret(f"database-password-{role}")

    def down(self) -> None:
        stop_one(self.pid(), signal.SIGTERM, STOP_SECONDS)

    def sql(self, statements: str, database: str = "") -> str:
        """Runs statements as the administrator; passes them on standard input, never in a process list."""
        return run(
            ["mariadb", "--no-defaults", f"--socket={self.socket}", "--batch", "--skip-column-names",
             *([database] if database else [])],
            text_input=statements)

    def _write_options(self) -> None:
        write(self.options_file, "\n".join([
            "[mariadbd]",
            f"user={getpass.getuser()}",  # root must be named explicitly, or the server does not run
            f"datadir={self.data}",
            f"socket={self.socket}",
            f"pid-file={self.pid_file}",
            f"tmpdir={self._temporary_directory()}",
            "skip-networking",
            "skip-log-bin",
            "character-set-server=utf8mb4",
            "innodb_buffer_pool_size=256M",
            "innodb_log_file_size=64M",
            "max_connections=400",
            "performance_schema=OFF",
            *self.options,
            ""]))

    def _temporary_directory(self) -> Path:
        path = self.home / "tmp"
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    def _initialize_data(self) -> None:
        complete = self.home / "initialized"
        if complete.exists():
            return
        shutil.rmtree(self.data, ignore_errors=True)  # left by an interrupted attempt
        user = getpass.getuser()
        # A separate temporary directory: a server that starts deletes the tables of all servers that share one.
        run(["mariadb-install-db", "--no-defaults", f"--user={user}", f"--datadir={self.data}",
             f"--tmpdir={self._temporary_directory()}", "--skip-test-db",
             "--auth-root-authentication-method=socket", f"--auth-root-socket-user={user}",
             "--innodb-log-file-size=64M"], self.log)
        os.chmod(self.data, 0o700)
        complete.touch()
