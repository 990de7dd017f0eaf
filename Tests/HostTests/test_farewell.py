"""The one-time procedures of docs/operations.md: importing from a predecessor, renaming the host, removal, packages from
a repository, purge.

usage: scripts/test-host test_farewell
"""

import json
import os
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from container import wait_for  # noqa: E402
from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402
from handbook import SECRETS, HandbookCase, in_order  # noqa: E402
from host import INSTANCES, REPOSITORY, START_SECONDS  # noqa: E402
from image import RELEASE, run  # noqa: E402
from machine import HOST  # noqa: E402

from documents.transcript import Transcript  # noqa: E402


class FarewellTests(HandbookCase):
    def test_import(self) -> None:
        """Section 9: the database of a SyncServerII is imported, by its own configuration file and by options."""
        page = self.chapter("import")
        fixtures = REPOSITORY / "Tests" / "Server" / "Operations" / "ImportTests" / "Fixtures"
        for name in ("schema", "rows"):
            shutil.copy(fixtures / f"{name}.sql", self.machine.path("/root"))
        self.inside("mariadb -e \"CREATE DATABASE SyncServer; CREATE USER sync@localhost IDENTIFIED BY 'old password'; "
                    "GRANT SELECT ON SyncServer.* TO sync@localhost\"; cat schema.sql rows.sql | mariadb SyncServer")
        self.machine.write("/root/old.password", "old password\n", 0o600)
        self.machine.write("/home/sync/Server.json", json.dumps({
            "db": {"host": "db", "user": "sync", "password": "old password", "database": "SyncServer"}, "port": 8080}))
        # The number of valid invitations depends on the date.
        rehearsal = page.type("syncctl import --from-config /home/sync/Server.json --dry-run", shown=False)
        self.assertIn("Nothing was written", rehearsal)
        report = page.type("syncctl import --from-config /home/sync/Server.json", shown=False)
        for text in (rehearsal, report):
            self.assertIn("users   6 added", text)
        again = page.type("syncctl import --from-host db", shown=False)
        self.assertEqual(json.loads(again)["users"]["added"], 0)
        page.compare()

    def test_other_name(self) -> None:
        """Section 2: the host is renamed, with a certificate for the new name."""
        page = self.chapter("other-name")
        page.type("certbot renew --dry-run", shown=False)
        page.type("syncctl setup --host new.example.com --certbot", answers={
            "[nothing]: ": "", "]: ": "", "(Enter 'c' to cancel): ": "", "(Y)es/(N)o: ": "Y"})
        self.inside("curl --fail --silent https://new.example.com/HealthCheck")
        page.type("certbot delete --cert-name FORMER", {"FORMER": HOST}, answers={"(Y)es/(N)o: ": "Y"}, shown=False)
        self.inside("syncctl doctor --ignore sandboxInUse")
        page.compare()

    def test_removal(self) -> None:
        """Sections 2 and 4: the package is removed, installed again from a repository, and purged with its data."""
        page = self.chapter("removal")
        page.type("apt remove", {"apt remove": "apt remove syncserver"}, shown=False)
        self.assertEqual(self.inside("systemctl list-units --plain --no-legend 'syncd*'"), "")
        self.publish_packages(page)
        page.type("curl -fsSLo /usr/share/keyrings/syncserver.gpg")
        page.type("curl -fsSLo /etc/apt/sources.list.d/syncserver.sources")
        written = page.type("apt update && apt install syncserver", shown=False)
        self.assertIn(f"https://packages.example.com/syncserver {RELEASE}/main amd64 syncserver", written)
        for instance in INSTANCES:
            wait_for(f"{instance} runs again", lambda name=instance: self.pid(name) != "0", START_SECONDS)

        readme = self.chapter("removal-debian", "debian/syncserver.README.Debian")
        readme.type("apt install nginx mariadb-server", shown=False)
        self.inside("eatmydata apt-get install --yes --no-install-recommends gnupg")
        self.answer_gpg()
        self.inside("gpg --list-keys")  # Reports the creation of its key ring once.
        readme.type("tar -C /etc/syncd -c secrets | gpg -c", {"syncd-secrets": "again"})
        self.inside(f"rm -r {SECRETS}")
        readme.type("gpg -d syncd-secrets.tar.gpg", {"syncd-secrets": "again"}, shown=False)
        self.inside("syncctl config check")
        readme.type("echo syncserver syncserver/purge-data boolean true")
        page.type("apt purge", {"apt purge": "apt purge syncserver"}, shown=False)
        self.assertEqual(self.inside("find /etc/syncd", check=False).count("\n"), 1)
        self.assertNotIn("syncserver", self.inside("mariadb -e 'SHOW DATABASES'"))
        page.compare()
        readme.compare()

    def publish_packages(self, page: Transcript) -> None:
        """Sets up the web server that publishes the packages on this host."""
        url = page.mention("make repository URL=").partition("URL=")[2]
        with tempfile.TemporaryDirectory() as home:
            run(REPOSITORY / "scripts" / "repository", "--url", url, self.machine.path("/srv/packages/syncserver"),
                env=os.environ | {"GNUPGHOME": home})
        key = ec.generate_private_key(ec.SECP256R1())
        self.machine.write("/etc/ssl/packages.pem", (key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
            + self.machine.authority.issue(key.public_key(), ["packages.example.com"])).decode())
        self.machine.write("/etc/nginx/sites-enabled/packages.conf", "server { listen 443 ssl; server_name packages.example.com; "
                           "ssl_certificate /etc/ssl/packages.pem; ssl_certificate_key /etc/ssl/packages.pem; "
                           "root /srv/packages; }\n")
        before = self.nginx_workers()
        self.inside("systemctl reload nginx")
        # After the reload returns, old workers still accept connections until they have received the signal to end.
        wait_for("nginx has new workers alone", lambda: bool(workers := self.nginx_workers()) and not workers & before,
                 START_SECONDS)
        self.inside("curl -fs -o /dev/null https://packages.example.com/syncserver/syncserver.gpg")

    def nginx_workers(self) -> set[str]:
        """The workers that accept connections; those that are shutting down have another title."""
        return set(self.inside("pgrep --full '[n]ginx: worker process$'", check=False).split())


def load_tests(_loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    return in_order(FarewellTests)


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
