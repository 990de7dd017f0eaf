"""Section 7 of docs/operations.md: backups, their copies elsewhere, and restoring a server.

usage: scripts/test-host test_recovery
"""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from handbook import SECRETS, HandbookCase, in_order  # noqa: E402
from host import SANDBOX_URL  # noqa: E402
from image import run  # noqa: E402
from machine import HOST, PICTURE, Machine  # noqa: E402

from demonstration.web import Website  # noqa: E402
from documents.transcript import Transcript  # noqa: E402

BACKUPS = "/var/backups/syncd"
COPIER_HOME = "/var/lib/syncd-backup"
GROUP = "6d1f9f4e-5a0b-4c55-9d0e-3f6c1f1d2a10"
PHOTO = f"200 {len(PICTURE)}"


class RecoveryTests(HandbookCase):
    def test_backup(self) -> None:
        """Section 7: an hourly backup, copies by ssh and by rclone, and a backup by hand."""
        self.other_host()
        page = self.chapter("backup")
        page.type("apt install gnupg", shown=False)
        page.type("tar --create --directory=/etc/syncd secrets")
        page.type("systemctl enable --now syncd-backup.timer")
        page.type("systemctl start syncd-backup.service")
        page.type("runuser -u syncd-backup -- ssh-keygen")
        self.inside(f"install -D -o backup -m 600 {COPIER_HOME}/.ssh/id_ed25519.pub /srv/other/.ssh/authorized_keys")
        page.type("runuser -u syncd-backup -- ssh backup@other.example.com true", shown=False,
                  answers={"(yes/no/[fingerprint])? ": "yes"})
        program = page.program()
        self.machine.write("/etc/syncd/backup-copy", program, 0o755)
        page.type("systemctl start syncd-backup-copy")
        (name,) = self.inside("ls -t /srv/other").split()[:1]
        self.inside(f"cmp {BACKUPS}/{name} /srv/other/{name}")

        # With rclone; this remote is a folder.
        self.machine.write(f"{COPIER_HOME}/.config/rclone/rclone.conf",
                           f"[remote]\ntype = alias\nremote = {COPIER_HOME}/far\n", 0o600)
        self.inside(f"chown -R syncd-backup: {COPIER_HOME}/.config")
        verbs = {verb: page.mention(f"rclone {verb}") for verb in ("rcat", "cat")}
        self.machine.write("/etc/syncd/backup-copy", "\n".join([
            "#!/bin/sh", "set -eu", "case $1 in", f"send) {verbs['rcat']} ;;", f"fetch) {verbs['cat']} ;;", "esac", ""]),
            0o755)
        page.type("systemctl start syncd-backup-copy.service")
        self.inside(f"cmp {BACKUPS}/{name} {COPIER_HOME}/far/syncd/{name}")
        for command in ("journalctl -u syncd-backup -u syncd-backup-copy", "journalctl -u syncd-backup",
                        "journalctl -u syncd-backup-copy"):
            page.type(command, shown=False)

        page.type("syncctl backup make /root/syncd.backup.gz")
        page.type("syncctl backup make - | ssh other.example.com")
        page.type("ssh other.example.com cat syncd.backup.gz | syncctl backup verify -")
        page.type("CREATE DATABASE scratch", through="mariadb -e")
        page.type("syncctl backup verify --scratch-database", {"FILE": "/root/syncd.backup.gz"})
        page.type("zcat FILE", {"FILE": "/root/syncd.backup.gz"}, shown=False)
        page.type("systemctl start syncd-backup")
        self.assertEqual(self.inside("syncctl doctor --json --ignore sandboxInUse | grep -c backupCopyOld", check=False), "0\n")
        page.compare()

    def other_host(self) -> None:
        """All other host names in DNS lead to this host as well: to a user `backup`, and to root."""
        self.inside("mkdir -p /srv/other")
        self.inside("eatmydata apt-get install --yes --no-install-recommends openssh-server rclone")
        self.inside("usermod --home /srv/other --shell /bin/sh backup; chown backup: /srv/other")
        self.inside("mkdir -p -m 700 /root/.ssh; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519; "
                    "cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys; "
                    "ssh-keyscan -t ed25519 other.example.com >/root/.ssh/known_hosts 2>/dev/null")
        self.answer_gpg()

    def test_restore(self) -> None:
        """Section 7: a bare Debian replaces the lost host; then also with lost keys, and over TCP."""
        bare = Machine("bare", self.machine.authority)
        self.addCleanup(self.machine.container.enter_network)
        self.addCleanup(bare.end)
        lost = self.machine
        type(self).machine = bare
        self.addCleanup(setattr, type(self), "machine", lost)
        page = self.chapter("restore", machine=bare)
        name = lost.run("sh", "-c", f"ls {BACKUPS} | tail -n 1").stdout.strip()
        for file in ("/root/syncd-secrets.tar.gpg", f"{BACKUPS}/{name}"):
            run("cp", lost.path(file), bare.path("/root"))
        run("cp", "--archive", lost.path("/root/.gnupg"), bare.path("/root"))
        # A provider's data survives the loss of a host; here, the provider is the sandbox on it.
        lost.run("systemctl", "stop", "syncsandbox.service")

        page.type("apt install ./syncserver_*.deb nginx mariadb-server certbot", shown=False)
        bare.use_own_authority()
        self.inside("eatmydata apt-get install --yes --no-install-recommends ./syncsandbox_*.deb curl gnupg")
        run("cp", "--archive", lost.path("/var/lib/private/syncsandbox"), bare.path("/var/lib/private/"))
        run("cp", "--archive", lost.path("/etc/syncsandbox"), bare.path("/etc/"))
        self.inside("ln -s ../sites-available/syncsandbox.conf /etc/nginx/sites-enabled/; systemctl reload nginx")
        page.type("certbot certonly --webroot", answers={
            "(Enter 'c' to cancel): ": "a@example.com", "(Y)es/(N)o: ": "N"}, shown=False)
        page.type("gpg --decrypt syncd-secrets.tar.gpg", shown=False)
        page.type("syncctl backup restore syncd-2026-11-25T030000Z.backup.gz",
                  {"syncd-2026-11-25T030000Z.backup.gz": name})
        run("cp", lost.path("/root/alice"), bare.path("/root"))
        self.assertEqual(self.photo_of_alice(), PHOTO)
        page.type("syncctl fsck")
        page.type("syncctl doctor", status=1)

        self.restore_with_lost_key(page, name)
        self.restore_over_tcp(page, name)
        page.compare()

    def restore_with_lost_key(self, page: Transcript, name: str) -> None:
        """With --key-lost, restoring continues with another key; then only owners can restore access to their files."""
        self.empty_database()
        self.inside(f"mv {SECRETS}/sealing-key /root")
        page.type("syncctl keys generate | install")
        page.type("syncctl backup restore syncd-2026-11-25T030000Z.backup.gz",
                  {"syncd-2026-11-25T030000Z.backup.gz": name}, status=78)
        page.type("syncctl backup restore --key-lost FILE", {"FILE": name})
        self.assertIn("sealingKeyUnknown", self.inside("syncctl doctor --json", check=False))
        page.type("systemctl reload syncd", status=1)
        page.type("systemctl restart syncd-api@1")
        self.assertEqual(self.photo_of_alice().split()[0], "502")
        # Her app signs in again, as apps do after this reply.
        sandbox = Website(SANDBOX_URL)
        (account,) = [each["id"] for each in sandbox.json("GET", "/sandbox/accounts") if each["name"] == "Alice"]
        headers = sandbox.json("GET", f"/sandbox/accounts/{account}")["headers"]
        device = re.search(r"(?mi)^SyncServer-Device-UUID: .*$", self.inside("cat alice"))[0]
        self.machine.write("/root/alice", "\n".join([*(f"{name}: {value}" for name, value in headers.items()), device, ""]))
        self.inside(f"curl -s --fail -H @alice https://{HOST}/CheckCreds")
        self.assertEqual(self.photo_of_alice(), PHOTO)
        page.type("systemctl reload syncd")
        self.inside(f"mv /root/sealing-key {SECRETS}/sealing-key")

    def empty_database(self) -> None:
        self.inside("systemctl stop syncd.target 'syncd-*'; mariadb -e 'DROP DATABASE syncserver; CREATE DATABASE syncserver'")

    def restore_over_tcp(self, page: Transcript, name: str) -> None:
        """The database on another host is created there first, with the accounts in the configuration."""
        self.empty_database()

        def elsewhere(settings: dict) -> None:
            del settings["database"]["socket"]
            settings["database"] |= {"host": "other.example.com", "name": "elsewhere"}

        self.configure(elsewhere)
        restore = "syncctl backup restore syncd-2026-11-25T030000Z.backup.gz"
        page.type(restore, {restore.split()[-1]: name}, status=69)
        self.inside("mariadb -e 'CREATE DATABASE elsewhere; GRANT ALL ON elsewhere.* TO syncd@localhost WITH GRANT OPTION'")
        page.type("syncctl backup restore --rows-only FILE", {"FILE": name})
        self.inside("mariadb -e 'DROP DATABASE elsewhere; CREATE DATABASE elsewhere'")
        readme = self.chapter("restore-debian", "debian/syncserver.README.Debian")
        readme.type("syncctl backup restore", {"syncd-....backup.gz": name})
        self.assertEqual(self.photo_of_alice(), PHOTO)
        readme.compare()

    def photo_of_alice(self) -> str:
        """The status and size of her phone's download."""
        # nginx opens its sockets after a reload has returned.
        self.wait_until_healthy()
        return self.inside(
            f"curl -s -o /dev/null -w '%{{http_code}} %{{size_download}}' -H @alice 'https://{HOST}/DownloadFile"
            f"?sharingGroupUUID={GROUP}&fileUUID=0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8&fileVersion=0&masterVersion=1'")


def load_tests(_loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    return in_order(RecoveryTests)


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
