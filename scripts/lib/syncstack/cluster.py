"""A Galera cluster of MariaDB servers: each holds all data and accepts writes; conflicts are detected at COMMIT."""

import getpass
import shutil
from pathlib import Path

from .database import Database
from .errors import StackError
from .layout import Layout
from .ports import choose
from .processes import wait_until

PROVIDER = Path("/usr/lib/galera/libgalera_smm.so")
JOIN_SECONDS = 60.0


class Cluster:
    """Has the interface of one Database, its first node, and the sockets of all nodes."""

    def __init__(self, layout: Layout, count: int):
        self.nodes = [Database(layout, "mariadb" if number == 1 else f"mariadb{number}")
                      for number in range(1, count + 1)]

    def pids(self) -> list[int]:
        return [pid for node in self.nodes if (pid := node.pid()) is not None]

    def socket(self, number: int) -> Path:
        """The socket for the user with this number: users are distributed over the nodes."""
        return self.nodes[number % len(self.nodes)].socket

    def up(self, settings: dict) -> None:
        """The first node founds the cluster, the others copy its data. `settings` keep the ports."""
        first, *others = self.nodes
        if others:
            self._set_options(settings)
        if first.pid() is None:
            if others:
                self._allow_founding(first)
            first.up(("--wsrep-new-cluster",) if others else ())
        first.create()
        for node in others:
            node.up()
            if not wait_until(lambda node=node: self._is_synced(node), JOIN_SECONDS):
                raise StackError(f"A node did not join the cluster within {JOIN_SECONDS:.0f} s.", node.log)

    def down(self) -> None:
        """Stops the first node last: it has all data, and founds the cluster again."""
        for node in reversed(self.nodes):
            node.down()

    def sql(self, statements: str, database: str = "") -> str:
        return self.nodes[0].sql(statements, database)

    def _set_options(self, settings: dict) -> None:
        if not PROVIDER.exists() or not all(map(shutil.which, ("mariabackup", "socat"))):
            raise StackError("A cluster needs Debian's packages galera-4, mariadb-backup and socat.")
        if not self.pids() or "clusterPorts" not in settings:
            taken = set(settings["ports"].values())
            for _ in range(3 * len(self.nodes)):
                taken.add(choose(taken))
            settings["clusterPorts"] = sorted(taken - set(settings["ports"].values()))
        ports = settings["clusterPorts"]
        members = ",".join(f"127.0.0.1:{port}" for port in ports[::3])
        for number, node in enumerate(self.nodes):
            group, whole, increment = ports[3 * number:3 * number + 3]
            node.options = [
                "binlog_format=ROW",
                "innodb_autoinc_lock_mode=2",
                "wsrep_on=ON",
                f"wsrep_provider={PROVIDER}",
                "wsrep_cluster_name=syncstack",
                f"wsrep_cluster_address=gcomm://{members}",
                f"wsrep_node_name=node{number + 1}",
                "wsrep_node_address=127.0.0.1",
                "wsrep_sst_method=mariabackup",  # rsync's daemon would drop root's rights and could not read the data
                f"wsrep_sst_auth={getpass.getuser()}:",
                f"wsrep_sst_receive_address=127.0.0.1:{whole}",
                f'wsrep_provider_options="gmcast.listen_addr=tcp://127.0.0.1:{group}; '
                f'ist.recv_addr=127.0.0.1:{increment}; gcache.size=64M"',
            ]

    @staticmethod
    def _allow_founding(node: Database) -> None:
        state = node.data / "grastate.dat"
        if state.exists():
            state.write_text(
                state.read_text(encoding="ascii").replace("safe_to_bootstrap: 0", "safe_to_bootstrap: 1"),
                encoding="ascii")

    @staticmethod
    def _is_synced(node: Database) -> bool:
        try:
            return "Synced" in node.sql("SHOW STATUS LIKE 'wsrep_local_state_comment'")
        except StackError:
            return False
