"""docs/operations.md as an operator follows it: its commands, typed as they stand there, on the machine of the first hour.

Each test is a chapter, and compares what it typed and what came with a transcript (scripts/lib/documents/transcript.py).

usage: scripts/test-host test_handbook
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from container import wait_for  # noqa: E402
from consent import agree  # noqa: E402
from host import CONFIGURATION, INSTANCES, REPOSITORY, SANDBOX_URL, START_SECONDS  # noqa: E402
from image import run  # noqa: E402
from machine import HOST, PICTURE, Machine  # noqa: E402

from demonstration.web import Website  # noqa: E402
from documents.transcript import Transcript  # noqa: E402
from cryptography.hazmat.primitives import serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec  # noqa: E402

DOCUMENT = "docs/operations.md"
SECRETS = "/etc/syncd/secrets"
BACKUPS = "/var/backups/syncd"
COPIER_HOME = "/var/lib/syncd-backup"
GROUP = "6d1f9f4e-5a0b-4c55-9d0e-3f6c1f1d2a10"
PHOTO = f"200 {len(PICTURE)}"
LIVE = f"/etc/letsencrypt/live/{HOST}"


class HandbookTests(unittest.TestCase):
    machine: Machine

    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = Machine.shared()
        cls.machine.set_up()

    def chapter(self, name: str, document: str = DOCUMENT, machine: Machine | None = None) -> Transcript:
        return Transcript(self, document, name, (machine or self.machine).type)

    def inside(self, command: str, check: bool = True) -> str:
        return self.machine.run("/bin/sh", "-c", f"cd /root && {command}", check=check).stdout

    def configure(self, change) -> dict:
        """Changes the configuration as an editor does; what it was."""
        path = self.machine.path(CONFIGURATION)
        before = json.loads(path.read_text(encoding="utf-8"))
        after = json.loads(path.read_text(encoding="utf-8"))
        change(after)
        path.write_text(json.dumps(after, indent=2) + "\n", encoding="utf-8")
        return before

    def is_healthy(self) -> bool:
        return self.inside(f"curl --silent --output /dev/null --write-out '%{{http_code}}' https://{HOST}/HealthCheck",
                           check=False) == "200"

    def wait_until_healthy(self) -> None:
        wait_for("the server is healthy", self.is_healthy, START_SECONDS)

    def pid(self, instance: str) -> str:
        return self.inside(f"systemctl show --property=MainPID --value {instance}").strip()

    def sign_up(self, name: str, group: str) -> str:
        """What the server replies to a new person at Google, whose headers are in a file of that name."""
        self.inside(
            f"curl --silent -o {name} -H 'Accept: text/plain' -H 'Content-Type: application/json' "
            f"http://127.0.0.1:9080/sandbox/accounts -d '{{\"provider\": \"google\", \"name\": \"{name}\"}}'")
        return self.inside(
            f"curl --silent -H @{name} -X POST 'https://{HOST}/AddUser?cloudFolderName=Photos&sharingGroupUUID={group}'")

    # MARK: Chapters

    def test_setting_up(self) -> None:
        """Section 2: steps of setup by hand, setup with options, and back."""
        page = self.chapter("setting-up")
        page.type("syncctl doctor", status=1)
        page.type("syncctl users")
        page.type("syncctl help setup", shown=False)
        page.type("systemd-sysusers syncd.conf")
        page.type("systemd-tmpfiles --create syncd.conf")
        page.type("syncctl generate-key")
        page.type("syncctl check-config")
        page.type("syncctl migrate")
        page.type("syncctl migrate --check")
        page.type("systemctl enable --now syncd.target")
        page.type("curl https://your.host/HealthCheck", {"your.host": HOST})

        page.type("syncctl setup --dry-run …", {"…": "--unattended"})
        self.machine.write("/root/google-secret", "a secret of Google's\n", 0o600)
        page.type("syncctl setup --unattended --host sync.example.com --certbot --google-client-id")
        self.assertIn("secretRefused", self.inside("syncctl doctor --json", check=False))
        # "To go back: copy it over the other one".
        for file in (CONFIGURATION, f"{SECRETS}/google-client-secret"):
            self.inside(f"cp {file}.previous {file}")
        self.assertIn("configurationNotLoaded", self.inside("syncctl doctor --json", check=False))
        page.type("systemctl reload syncd nginx")
        self.inside("syncctl doctor --ignore sandboxInUse")
        for name in ("fullchain.pem", "privkey.pem"):
            self.inside(f"cp {LIVE}/{name} /etc/ssl/private/{name}")
        page.type("syncctl setup --certificate FILE --key FILE", {
            "--certificate FILE": "--certificate /etc/ssl/private/fullchain.pem",
            "--key FILE": "--key /etc/ssl/private/privkey.pem"}, answers={"[nothing]: ": "", "]: ": ""})
        # And back: it is there already.
        self.inside("syncctl setup --unattended --certbot")
        self.assertIn(LIVE, self.inside("cat /etc/nginx/sites-available/syncd.conf"))
        page.type("certbot renew && systemctl reload nginx", shown=False)
        page.compare()

    def test_forgotten_reload(self) -> None:
        """Setup that was killed between its change and the reload reloads the next time."""
        before = self.pid("syncd-api@1")
        # As it is then: changed, and not loaded.
        self.inside(f"sleep 1.1; touch {CONFIGURATION}")
        written = self.inside("syncctl setup --unattended")
        self.assertIn("let the server read its configuration again", written)
        self.assertNotEqual(self.pid("syncd-api@1"), before)
        self.assertNotIn("let the server read its configuration again", self.inside("syncctl setup --unattended"))

    def test_least_privilege(self) -> None:
        """Section 3: a server with a single account of the database gets one for each role."""
        page = self.chapter("least-privilege")
        self.configure(lambda settings: settings["database"].pop("roles"))
        for role in ("api", "transfer", "jobs"):
            self.inside(f"mariadb -e 'DROP USER syncd_{role}@localhost'; rm {SECRETS}/database-password-{role}")
        # Such as it was before there were accounts of roles.
        self.inside("mariadb -e 'REVOKE GRANT OPTION ON `syncserver`.* FROM syncd@localhost'")
        page.type("systemctl reload syncd")
        self.assertIn("rightsShared", self.inside("syncctl doctor --json", check=False))

        page.type("for role in api transfer jobs; do")
        page.type("mariadb -e 'GRANT USAGE")
        self.configure(lambda settings: settings["database"].update(roles={
            role: {"user": f"syncd_{role}", "passwordFile": f"database-password-{role}"}
            for role in ("api", "transfer", "jobs")}))
        page.type("syncctl migrate")
        page.type("systemctl reload syncd")
        page.type("syncctl doctor", status=1)
        page.type("systemctl daemon-reload")
        drop_in = page.type("systemctl cat syncd-jobs@1", shown=False)
        self.assertIn(f"LoadCredential=secret_database-password-jobs:{SECRETS}/database-password-jobs", drop_in)
        self.assertNotIn("facebook", drop_in)
        page.compare()

    def test_changes(self) -> None:
        """Section 4: reload, restart, more instances, maintenance, an update to the same release."""
        page = self.chapter("changes")
        page.type("syncctl check-config --connect")
        before = self.configure(lambda settings: settings.update(apiThraeds=3))
        page.type("systemctl reload syncd", status=1)
        self.assertIn("apiThraeds is not a setting", page.type("journalctl -u syncd", shown=False))
        self.configure(lambda settings: settings.pop("apiThraeds"))
        self.assertEqual(json.loads(self.machine.path(CONFIGURATION).read_text()) | {"apiThraeds": 3}, before | {
            "apiThraeds": 3})
        pids = {instance: self.pid(instance) for instance in INSTANCES}
        page.type("systemctl reload syncd-api@1")
        page.type("systemctl restart syncd-api@1")
        self.assertNotEqual(self.pid("syncd-api@1"), pids["syncd-api@1"])
        self.assertEqual(self.pid("syncd-api@2"), pids["syncd-api@2"])
        page.type("systemctl restart syncd")
        self.wait_until_healthy()
        self.assertNotEqual(self.pid("syncd-api@2"), pids["syncd-api@2"])
        # In place of an editor.
        self.machine.write("/root/editor", "#!/bin/sh\nprintf '[Unit]\\nWants=syncd-transfer@3.service\\n' >\"$1\"\n", 0o755)
        self.machine.write("/root/other-editor", "#!/bin/sh\nprintf '[Timer]\\nRandomizedDelaySec=1h\\n' >\"$1\"\n", 0o755)
        page.type("systemctl edit syncd.target", {"systemctl": "SYSTEMD_EDITOR=/root/editor systemctl"})
        page.type("systemctl start syncd-transfer@3")
        self.inside("systemctl is-active syncd-transfer@3")
        page.type("systemctl edit syncd-backup.timer", {"systemctl": "SYSTEMD_EDITOR=/root/other-editor systemctl"})

        page.type("syncctl maintenance on \"We are back at noon (UTC).\"")
        wait_for("it is closed", lambda: "noon" in self.inside(f"curl -s https://{HOST}/Index"), 5)
        page.type("syncctl status")
        page.type("syncctl maintenance off")
        page.type("syncctl maintenance on --this-host", {"…": "We are back."})
        page.type("syncctl maintenance off")
        wait_for("it is open", lambda: "credentials_missing" in self.inside(f"curl -s https://{HOST}/Index"), 5)
        page.type("apt install ./syncserver_*.deb", shown=False)
        page.compare()

    def test_logs(self) -> None:
        """Section 5: what needs an operator is in the journal with the priority of errors."""
        page = self.chapter("logs")
        errors = "journalctl -u 'syncd-*' -p err"
        self.inside("journalctl --rotate && journalctl --vacuum-time=1s")
        self.inside(f"cp -p {SECRETS}/google-client-secret google; echo wrong >{SECRETS}/google-client-secret")
        self.inside("systemctl reload syncd")
        refused = json.loads(self.sign_up("bob", "a0c9a8a7-3c39-4e3e-a5f0-5a3f1ab7c0d1"))
        self.assertEqual(refused["code"], "provider_misconfigured", refused)
        complaint = self.chapter("complaint", "docs/complaints.md")
        written = complaint.type("journalctl -u 'syncd-*' | grep ID", {"ID": refused["requestId"]}, shown=False)
        self.assertIn("Google's token endpoint says invalid_client", written)
        written = page.type(errors, shown=False)
        self.assertIn('"message":"Request failed"', written.replace(": ", ":"))
        self.assertIn("Google's token endpoint says invalid_client", written)
        self.inside(f"cp -p google {SECRETS}/google-client-secret; systemctl reload syncd")
        self.inside("mariadb -e 'REVOKE SELECT ON syncserver.memberships FROM syncd_api@localhost'")
        self.assertIn("database_unavailable", self.inside(f"curl -s -H @alice https://{HOST}/Index"))
        written = page.type(errors, shown=False)
        self.assertIn("access denied: 1142 SELECT command denied to user 'syncd_api'@'localhost'", written)
        self.assertNotIn("defect", written)
        page.type("syncctl migrate")
        self.inside(f"curl -s --fail -H @alice https://{HOST}/Index")

        page.type("syncctl status")
        page.type("syncctl jobs --failing")
        page.type("syncctl jobs --kind writeIndexPage")
        complaint.compare()
        for statement in ("SELECT COUNT(*), MIN(forgotten_at)", "SELECT kind, attempts, last_error"):
            page.type(statement, through="mariadb syncserver -e")
        page.compare()

    def test_without_root(self) -> None:
        """Section 10: exit status 77 is for whoever may not read the secrets; not of doctor, and of what needs none."""
        def ended(*command: str) -> subprocess.CompletedProcess:
            return self.machine.run("runuser", "-u", "nobody", "--", "syncctl", *command, check=False)

        for command in (("try", "dropbox"), ("status",), ("users",), ("check-config",), ("fsck",), ("backup", "/tmp/x")):
            refused = ended(*command)
            self.assertEqual(refused.returncode, 77, f"{command}: {refused.stdout}")
            self.assertIn("run syncctl as root", refused.stdout)
        self.assertEqual(ended("setup", "--unattended").returncode, 77)
        self.assertEqual(ended("restore", "/tmp/x").returncode, 77)
        self.assertIn("notPermitted", ended("doctor", "--json").stdout)
        self.assertEqual(ended("generate-key").returncode, 0)
        self.assertEqual(ended("openapi", "1.0.0").returncode, 0)

    def test_trying_providers(self) -> None:
        """Section 10: test accounts of the sandbox, in a browser or with what their app has, go through everything."""
        page = self.chapter("trying-providers")
        authority = self.machine.path("/etc/syncsandbox/ca.pem")
        sandbox = Website(SANDBOX_URL)
        sandbox.json("POST", "/sandbox/redirect-uris", {
            "provider": "google", "redirectURI": "http://127.0.0.1:53682/server"})
        for provider in ("google", "microsoft", "dropbox"):
            account = sandbox.json("POST", "/sandbox/accounts", {"provider": provider, "name": "Tester"})

            def led_to(written: str, of: str = account["id"]) -> str:
                arrived = agree(re.search(r"https://\S+", written)[0], of, authority)
                shown = re.search(r"Enter this code in the app: ([^<]+)", arrived)
                return shown[1] if shown else arrived

            page.type(f"syncctl try {provider} ", answers={"The code (is not shown): ": led_to})
        account = sandbox.json("POST", "/sandbox/accounts", {"provider": "facebook", "name": "Tester"})
        page.type("syncctl try facebook", answers={"(is not shown): ": account["accessToken"]})
        page.compare()

    def test_troubles(self) -> None:
        """Sections 8 and 10: what to type if something is wrong."""
        page = self.chapter("troubles")
        unit, host = {"UNIT": "syncd-jobs@1"}, {"HOST": HOST}
        for command in ("systemctl status 'syncd-*'", "systemctl status 'syncd-*' nginx", "systemctl status mariadb",
                        "systemctl status nginx", "systemctl status 'syncd-jobs@*'",
                        "systemctl status syncd.target 'syncd-*'", "journalctl -u 'syncd-*' -n 20",
                        "journalctl -u 'syncd-*' -p warning", "nginx -T"):
            page.type(command, shown=False)
        page.type("systemctl start syncd.target")
        page.type("journalctl -u UNIT -n 50", unit, shown=False)
        page.type("systemctl restart UNIT", unit)
        page.type("systemctl start UNIT", unit)
        page.type("systemctl enable UNIT", {"UNIT": "syncd.target"})
        page.type("nginx -t && systemctl reload-or-restart nginx")
        page.type("nginx -t && systemctl reload nginx")
        page.type("apt install openssl", shown=False)
        page.type("getent ahosts HOST", host)
        page.type("curl -sSI https://HOST", host, shown=False)
        page.type("syncctl users --near-quota")
        page.type("syncctl fsck --clouds --sample 1% --json")
        page.type("syncctl --generate-completion-script bash", shown=False)
        page.type("syncctl help COMMAND", {"COMMAND": "doctor"}, shown=False)
        page.compare()

    # MARK: Backups

    def test_backup(self) -> None:
        """Section 7: a backup every night, its copies by ssh and by rclone, and by hand."""
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

        page.type("syncctl backup /root/syncd.backup.gz")
        page.type("syncctl backup - | ssh other.example.com")
        page.type("ssh other.example.com cat syncd.backup.gz | syncctl verify-backup -")
        page.type("CREATE DATABASE scratch", through="mariadb -e")
        page.type("syncctl verify-backup --scratch-database", {"FILE": "/root/syncd.backup.gz"})
        page.type("zcat FILE", {"FILE": "/root/syncd.backup.gz"}, shown=False)
        page.type("systemctl start syncd-backup")
        self.assertEqual(self.inside("syncctl doctor --json --ignore sandboxInUse | grep -c backupCopyOld", check=False), "0\n")
        page.compare()

    def other_host(self) -> None:
        """The names in DNS of all other hosts lead here, too: to a user `backup`, and to root."""
        self.inside("mkdir -p /srv/other")
        self.inside("eatmydata apt-get install --yes --no-install-recommends openssh-server rclone")
        self.inside("usermod --home /srv/other --shell /bin/sh backup; chown backup: /srv/other")
        self.inside("mkdir -p -m 700 /root/.ssh /root/.gnupg; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519; "
                    "cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys; "
                    "ssh-keyscan -t ed25519 other.example.com >/root/.ssh/known_hosts 2>/dev/null")
        # In place of a person at the prompt of gpg.
        self.machine.write("/root/.gnupg/passphrase", "only for a test\n", 0o600)
        self.machine.write("/root/.gnupg/gpg.conf",
                           "batch\npinentry-mode loopback\npassphrase-file /root/.gnupg/passphrase\n")

    def test_restore(self) -> None:
        """Section 7: a bare Debian takes the place of the host that was lost; then, with keys lost, and over TCP."""
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
        # What a provider has is not lost with a host; here, it is the sandbox on it.
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
        page.type("syncctl restore syncd-2026-11-25T030000Z.backup.gz",
                  {"syncd-2026-11-25T030000Z.backup.gz": name})
        run("cp", lost.path("/root/alice"), bare.path("/root"))
        self.assertEqual(self.photo_of_alice(), PHOTO)
        page.type("syncctl fsck")
        page.type("syncctl doctor", status=1)

        self.restore_with_lost_key(page, name)
        self.restore_over_tcp(page, name)
        page.compare()

    def restore_with_lost_key(self, page: Transcript, name: str) -> None:
        """Restoring goes on with another key if it is told to; then only owners can bring back access to their files."""
        self.empty_database()
        self.inside(f"mv {SECRETS}/sealing-key /root")
        page.type("syncctl generate-key | install")
        page.type("syncctl restore syncd-2026-11-25T030000Z.backup.gz",
                  {"syncd-2026-11-25T030000Z.backup.gz": name}, status=78)
        page.type("syncctl restore --key-lost FILE", {"FILE": name})
        self.assertIn("sealingKeyUnknown", self.inside("syncctl doctor --json", check=False))
        page.type("systemctl reload syncd", status=1)
        page.type("systemctl restart syncd-api@1")
        self.assertEqual(self.photo_of_alice().split()[0], "502")
        # Her app signs in again, as it does after such an answer.
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
        """The database of another host is created there first; the accounts are those of the configuration."""
        self.empty_database()

        def elsewhere(settings: dict) -> None:
            del settings["database"]["socket"]
            settings["database"] |= {"host": "other.example.com", "name": "elsewhere"}

        self.configure(elsewhere)
        restore = "syncctl restore syncd-2026-11-25T030000Z.backup.gz"
        page.type(restore, {restore.split()[-1]: name}, status=69)
        self.inside("mariadb -e 'CREATE DATABASE elsewhere; GRANT ALL ON elsewhere.* TO syncd@localhost WITH GRANT OPTION'")
        page.type("syncctl restore --rows-only FILE", {"FILE": name})
        self.inside("mariadb -e 'DROP DATABASE elsewhere; CREATE DATABASE elsewhere'")
        readme = self.chapter("restore-debian", "debian/syncserver.README.Debian")
        readme.type("syncctl restore", {"syncd-....backup.gz": name})
        self.assertEqual(self.photo_of_alice(), PHOTO)
        readme.compare()

    def photo_of_alice(self) -> str:
        """The status with which her phone downloads it, and how many bytes come."""
        # nginx opens its sockets after a reload has returned.
        self.wait_until_healthy()
        return self.inside(
            f"curl -s -o /dev/null -w '%{{http_code}} %{{size_download}}' -H @alice 'https://{HOST}/DownloadFile"
            f"?sharingGroupUUID={GROUP}&fileUUID=0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8&fileVersion=0&masterVersion=1'")

    # MARK: The predecessor

    def test_import(self) -> None:
        """Section 9: the database of a SyncServerII, by its own configuration file and by options."""
        page = self.chapter("import")
        fixtures = REPOSITORY / "Tests" / "Server" / "Operations" / "ImportTests" / "Fixtures"
        for name in ("schema", "rows"):
            shutil.copy(fixtures / f"{name}.sql", self.machine.path("/root"))
        self.inside("mariadb -e \"CREATE DATABASE SyncServer; CREATE USER sync@localhost IDENTIFIED BY 'old password'; "
                    "GRANT SELECT ON SyncServer.* TO sync@localhost\"; cat schema.sql rows.sql | mariadb SyncServer")
        self.machine.write("/root/old.password", "old password\n", 0o600)
        self.machine.write("/home/sync/Server.json", json.dumps({
            "db": {"host": "db", "user": "sync", "password": "old password", "database": "SyncServer"}, "port": 8080}))
        # What is left of invitations depends on the day.
        rehearsal = page.type("syncctl import --from-config /home/sync/Server.json --dry-run", shown=False)
        self.assertIn("Nothing was written", rehearsal)
        report = page.type("syncctl import --from-config /home/sync/Server.json", shown=False)
        for text in (rehearsal, report):
            self.assertIn("users   6 added", text)
        again = page.type("syncctl import --from-host db", shown=False)
        self.assertEqual(json.loads(again)["users"]["added"], 0)
        page.compare()

    # MARK: The end

    def test_other_name(self) -> None:
        """Section 2: the host gets another name, with a certificate for it."""
        page = self.chapter("other-name")
        page.type("certbot renew --dry-run", shown=False)
        page.type("syncctl setup --host new.example.com --certbot", answers={
            "[nothing]: ": "", "]: ": "", "(Enter 'c' to cancel): ": "", "(Y)es/(N)o: ": "Y"})
        self.inside("curl --fail --silent https://new.example.com/HealthCheck")
        page.type("certbot delete --cert-name FORMER", {"FORMER": HOST}, answers={"(Y)es/(N)o: ": "Y"}, shown=False)
        self.inside("syncctl doctor --ignore sandboxInUse")
        page.compare()

    def test_removal(self) -> None:
        """Sections 2 and 4: removed, installed again from a repository, and purged with everything."""
        page = self.chapter("removal")
        page.type("apt remove", {"apt remove": "apt remove syncserver"}, shown=False)
        self.assertEqual(self.inside("systemctl list-units --plain --no-legend 'syncd*'"), "")
        self.publish_packages(page)
        page.type("curl -fsSLo /usr/share/keyrings/syncserver.gpg")
        page.type("curl -fsSLo /etc/apt/sources.list.d/syncserver.sources")
        written = page.type("apt update && apt install syncserver", shown=False)
        self.assertIn("https://packages.example.com/syncserver stable/main amd64 syncserver", written)
        for instance in INSTANCES:
            wait_for(f"{instance} runs again", lambda name=instance: self.pid(name) != "0", START_SECONDS)

        readme = self.chapter("removal-debian", "debian/syncserver.README.Debian")
        readme.type("apt install nginx mariadb-server", shown=False)
        readme.type("tar -C /etc/syncd -c secrets | gpg -c", {"syncd-secrets": "again"})
        self.inside(f"rm -r {SECRETS}")
        readme.type("gpg -d syncd-secrets.tar.gpg", {"syncd-secrets": "again"}, shown=False)
        self.inside("syncctl check-config")
        readme.type("echo syncserver syncserver/purge-data boolean true")
        page.type("apt purge", {"apt purge": "apt purge syncserver"}, shown=False)
        self.assertEqual(self.inside("find /etc/syncd", check=False).count("\n"), 1)
        self.assertNotIn("syncserver", self.inside("mariadb -e 'SHOW DATABASES'"))
        page.compare()
        readme.compare()

    def publish_packages(self, page: Transcript) -> None:
        """The web server of whoever publishes the packages is here, too."""
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
        self.inside("systemctl reload nginx")
        # nginx serves it a moment after the reload has returned.
        wait_for("packages are there", lambda: self.inside(
            "curl -fs -o /dev/null https://packages.example.com/syncserver/syncserver.gpg && echo there", check=False),
            START_SECONDS)


def load_tests(loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    """In the order of the source: each leaves the machine as the next one needs it."""
    del loader
    names = [name for name in vars(HandbookTests) if name.startswith("test_")]
    return unittest.TestSuite(map(HandbookTests, names))


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
