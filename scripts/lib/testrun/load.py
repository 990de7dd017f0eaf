"""Two CPU-bound processes, for runs that must not depend on an idle machine."""

import contextlib
import subprocess
from collections.abc import Iterator

HOGS = 2


@contextlib.contextmanager
def cpu_hogs(wanted: bool) -> Iterator[None]:
    hogs = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(HOGS if wanted else 0)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
