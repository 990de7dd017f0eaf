"""Starts, finds and stops processes; signals only our own."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from .errors import StackError

POLL_SECONDS = 0.03


def environment() -> dict[str, str]:
    """Our environment, with the servers' directories in the path, which a normal user's often lacks."""
    copy = dict(os.environ)
    copy["PATH"] = copy.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"
    for name in ("LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"):
        copy.pop(name, None)
    return copy


def run(command: list, log: Path | None = None, text_input: str | None = None) -> str:
    """Runs a command to its end and returns what it printed.

    Its errors go to `log`, whose end is shown if it fails; text_input never appears in a process list.
    """
    try:
        done = subprocess.run(
            [str(part) for part in command], input=text_input, text=True, env=environment(), check=False,
            stdin=subprocess.DEVNULL if text_input is None else None, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError:
        raise StackError(f"{command[0]} is not installed; scripts/bootstrap installs what is missing.") from None
    if log is not None:
        with open(log, "a", encoding="utf-8") as file:
            file.write(done.stdout + done.stderr)
    if done.returncode != 0:
        detail = "" if log is not None else "\n" + (done.stderr or done.stdout).strip()
        raise StackError(f"{command[0]} failed with status {done.returncode}.{detail}", log)
    return done.stdout


def most_open_files() -> int:
    """How many files and connections a process of this user may open, if it raises its limit (getrlimit(2))."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return 1 << 20 if hard == resource.RLIM_INFINITY else hard


def raise_open_files() -> None:
    """Raises the limit for programs that do not raise it themselves."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start(command: list, log: Path, prepare: Callable[[], None] | None = None) -> subprocess.Popen:
    """Starts a process that outlives this one, in a new session, writing to `log`; `prepare` runs in it first."""
    try:
        with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
            return subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, env=environment(), preexec_fn=prepare)
    except FileNotFoundError:
        raise StackError(f"{command[0]} is not installed; scripts/bootstrap installs what is missing.") from None


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Polls until the condition holds; false if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat (proc(5)); `None` if the process does not exist, or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def pid_from_file(path: Path, marker: str) -> int | None:
    """The pid in a server's pid file, if that process lives and has `marker` in its command line."""
    try:
        pid = int(path.read_text(encoding="ascii"))
        command_line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(marker) in command_line and start_time(pid) else None


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def stop(pids: dict[int, str], kind: signal.Signals, seconds: float) -> None:
    """Signals processes and waits; sends SIGKILL to those still alive after `seconds`.

    `pids` maps each pid to its start time, so that a reused pid is not signalled.
    """
    def alive() -> list[int]:
        return [pid for pid, started in pids.items() if start_time(pid) == started]

    for step, limit in ((kind, seconds), (signal.SIGKILL, 10.0)):
        for pid in alive():
            try:
                os.kill(pid, step)
                os.kill(pid, signal.SIGCONT)  # it may be stopped
            except ProcessLookupError:
                pass
        if wait_until(lambda: not alive(), limit):
            return
    raise StackError(f"These processes could not be stopped: {alive()}.")


def stop_one(pid: int | None, kind: signal.Signals, seconds: float) -> None:
    started = start_time(pid) if pid else None
    if pid and started:
        stop({pid: started}, kind, seconds)
