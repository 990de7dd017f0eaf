"""Real name resolution: a name server for one stack, and processes that see no other.

Without this, the stack's syncd connects to the sandbox by address (setting `sandbox`), and never looks up a name. With
it, syncd runs as in production, without that setting: it looks up the providers' names, finds the sandbox at the
standard port of a separate address of the stack, and trusts the "system's" certificate authorities. Its
/etc/resolv.conf and authorities are the stack's, by mounts that only its processes have; this needs root.
"""

import hashlib
import os
import signal
from pathlib import Path

from .errors import StackError
from .layout import REPOSITORY, Layout, write
from .name_server import NOWHERE
from .processes import pid_from_file, start, stop_one, wait_until

RESOLVER = REPOSITORY / "scripts" / "lib" / "resolver"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
START_SECONDS = 10.0
# Executes the next program twice, so that the process keeps its number, and therefore the sockets passed to it.
MOUNT = """
mount --bind "$1" /etc/resolv.conf && mount --bind "$2" "$3" || exit 1
shift 3
exec "$@"
"""


class Names:
    def __init__(self, layout: Layout):
        self.layout = layout
        self.directory = layout.directory / "names"
        self.pid_file = layout.run / "resolver.pid"

    @property
    def address(self) -> str:
        """This stack's own loopback address."""
        digest = hashlib.sha256(os.fsencode(self.layout.directory)).digest()
        return f"127.53.{digest[0]}.{1 + digest[1] % 254}"

    @property
    def pid(self) -> int | None:
        return pid_from_file(self.pid_file, str(RESOLVER))

    def up(self, other_server: str | None = None) -> None:
        """Starts the stack's name server, or makes syncd use another one at that address."""
        if os.geteuid() != 0:
            raise StackError("--resolve-names needs root: it mounts files over /etc/resolv.conf for syncd alone.")
        self.directory.mkdir(mode=0o755, exist_ok=True)
        faults = self.directory / "faults.json"
        if not faults.exists():
            write(faults, "[]\n")
        # Without a search list, the resolver would try the host's own after a failure.
        write(self.directory / "resolv.conf", f"search {NOWHERE}\nnameserver {other_server or self.address}\n", 0o644)
        if other_server is not None or self.pid is not None:
            return
        self.pid_file.unlink(missing_ok=True)
        log = self.layout.logs / "resolver.log"
        start([RESOLVER, "--address", self.address, "--faults", faults, "--pid-file", self.pid_file], log)
        if not wait_until(lambda: self.pid is not None, START_SECONDS):
            raise StackError("The name server did not start.", log)

    def down(self) -> None:
        stop_one(self.pid, signal.SIGTERM, START_SECONDS)

    def command(self) -> list:
        """The beginning of a program's command line, which makes it use this name server."""
        return ["/usr/bin/unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", MOUNT, "sh",
                self.directory / "resolv.conf", self.layout.ca_file, AUTHORITIES]
