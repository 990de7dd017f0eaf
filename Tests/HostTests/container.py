"""A Debian in a container, booted with its own systemd (systemd-nspawn(1)), with no network except loopback."""

import ctypes
import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
BOOT_SECONDS = 60.0
# A person's answers, by the ends of the questions.
Answers = dict[str, str | Callable[[str], str]]
CONTROL_GROUPS = ("/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


class Container:
    """A running container, from `boot` to `halt`. Only its own processes are ever signalled."""

    def __init__(self, root: Path):
        self.root = root
        self.console = root.parent / "console.log"
        self.launcher: subprocess.Popen | None = None
        self.leader = 0
        self.groups: list[Path] = []

    def boot(self) -> None:
        """Returns when the container's systemd has started everything."""
        command = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--console=pipe", "--private-network",
                   "--boot", "--directory", str(self.root)]
        self._make_control_groups()
        with open(self.console, "wb") as console:
            self.launcher = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                preexec_fn=self._prepare_launcher)
        wait_for(f"a container boots (see {self.console})", self._has_booted, BOOT_SECONDS)

    def halt(self) -> None:
        if self.launcher is None or self.launcher.poll() is not None:
            return
        self.launcher.send_signal(signal.SIGTERM)  # an orderly shutdown of the container
        try:
            self.launcher.wait(60)
        except subprocess.TimeoutExpired:
            self.launcher.kill()
            self.launcher.wait()
        for group in self.groups:
            for inner in sorted(group.rglob("*"), key=lambda path: -len(path.parts)):
                if inner.is_dir():
                    remove_group(inner)
            remove_group(group)

    def run(self, *command: str, check: bool = True, text_input: str | None = None) -> subprocess.CompletedProcess:
        """Runs a command as root in the container, and waits for it; stdout and stderr are combined."""
        done = subprocess.run(
            self._inside(*command), input=text_input, stdin=subprocess.DEVNULL if text_input is None else None,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, cwd="/")
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-6000:]}")
        return done

    def _inside(self, *command: str) -> list[str]:
        return ["nsenter", "--target", str(self.leader), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--",
                "/usr/bin/env", "--ignore-environment", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root",
                "DEBIAN_FRONTEND=noninteractive", *command]

    def converse(self, answers: Answers, *command: str, seconds: float = 600) -> tuple[int, str]:
        """Runs a command in the container on its own terminal, and answers its questions like a person.

        An answer is given when the output ends with its question; it may depend on the output. Returns the exit status
        and the output. If there is no output for `seconds`, the terminal is closed, which ends the command.
        """
        child, terminal = pty.fork()
        if child == 0:
            os.execvp("nsenter", self._inside(*command))
        written = b""
        answered = 0
        while select.select([terminal], [], [], seconds)[0]:
            try:
                part = os.read(terminal, 65_536)
            except OSError:  # EIO: the other side is closed
                break
            written += part
            news = written[answered:].decode(errors="replace")
            for question, answer in answers.items():
                if news.rstrip("\n").endswith(question):
                    answered = len(written)
                    text = answer if isinstance(answer, str) else answer(news)
                    os.write(terminal, text.encode() + b"\n")
                    break
        os.close(terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return status, written.decode(errors="replace").replace("\r\n", "\n")

    def output(self, *command: str) -> str:
        return self.run(*command).stdout.strip()

    def path(self, inside: str) -> Path:
        """The path of a container's file from outside."""
        return self.root / inside.lstrip("/")

    def enter_network(self) -> None:
        """Gives this thread, and threads that it starts later, access to the container's loopback addresses."""
        descriptor = os.open(f"/proc/{self.leader}/ns/net", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(descriptor)

    def _has_booted(self) -> bool:
        if self.launcher.poll() is not None:
            raise AssertionError(
                "This machine cannot boot a container with systemd-nspawn, which this test needs (root, namespaces "
                f"and control groups):\n{self.console.read_text(errors='replace')[-2000:]}")
        children = Path(f"/proc/{self.launcher.pid}/task/{self.launcher.pid}/children").read_text().split()
        if not children:
            return False
        self.leader = int(children[0])
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def _make_control_groups(self) -> None:
        """A separate group in each of systemd's hierarchies; containers in the same group would mix their processes."""
        for hierarchy in map(Path, CONTROL_GROUPS):
            if (hierarchy / "cgroup.procs").exists():
                group = hierarchy / f"syncserver-test-{os.getpid()}-{self.root.parent.name}"
                group.mkdir(exist_ok=True)
                self.groups.append(group)

    def _prepare_launcher(self) -> None:
        """Runs in the new process: shuts the container down when the parent process ends for any reason (prctl(2))."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        for group in self.groups:
            (group / "cgroup.procs").write_text(str(os.getpid()))


def remove_group(group: Path) -> None:
    try:
        group.rmdir()
    except OSError:
        pass  # a process in it has not ended yet; the empty group does no harm


def wait_for(what: str, condition, seconds: float) -> float:
    """Polls until the condition holds; returns the elapsed seconds."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > seconds:
            raise AssertionError(f"Not within {seconds:.0f} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - started
