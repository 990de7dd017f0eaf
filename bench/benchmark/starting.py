"""P9: the memory and the start time of an idle responder."""

import os
import signal
import socket
import subprocess
import time

from syncstack.processes import environment

from .bench_stack import BenchStack
from .load import LoadError
from .table import Result

PATIENCE_SECONDS = 20.0


def idle(stack: BenchStack, repetitions: int) -> list[Result]:
    """Starts responders of the `api` role one after the other, as systemd would."""
    measured = [start_once(stack) for _ in range(repetitions)]
    return [
        Result("P9a", "resident memory of an idle responder", "MiB", 40, 20, [memory for memory, _ in measured]),
        Result("P9b", "from start to READY", "ms", 500, 150, [seconds * 1000 for _, seconds in measured]),
    ]


def start_once(stack: BenchStack) -> tuple[float, float]:
    """Resident MiB, and seconds from fork to READY=1 (sd_notify(3))."""
    path = stack.layout.sockets / "idle.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify, \
            socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, \
            open(stack.layout.logs / "idle.log", "ab") as log:
        notify.bind("")  # the kernel chooses a free abstract name (unix(7))
        notify.settimeout(PATIENCE_SECONDS)
        listener.bind(str(path))
        listener.listen(16)
        variables = environment() | {"NOTIFY_SOCKET": "@" + notify.getsockname()[1:].decode("ascii")}
        program = stack.program("syncd")
        began = time.monotonic()
        with subprocess.Popen(
            [program, "--role", "api", "--config", stack.environment["CONFIG_FILE"]], stdin=listener, stdout=log,
            stderr=log, env=variables) as process:
            try:
                while b"READY=1" not in notify.recv(4096).split(b"\n"):
                    pass
                took = time.monotonic() - began
                time.sleep(0.5)  # includes work that a responder finishes after the start
                return resident(process.pid), took
            except TimeoutError:
                raise LoadError(f"syncd is not READY after {PATIENCE_SECONDS:.0f} s") from None
            finally:
                os.kill(process.pid, signal.SIGTERM)


def resident(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024
