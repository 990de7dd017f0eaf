"""The packages on a separate host, in the order of a server's life: installed, running, in trouble, upgraded, removed.

usage: scripts/test-host [ARGUMENT OF unittest ...]
"""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from os import kill
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from container import wait_for  # noqa: E402
from host import (  # noqa: E402
    CA_FILE, CERTIFICATE, CONFIGURATION, INSTANCES, KEY, METRICS_URL, PACKAGES, REPOSITORY, RESPONDERS, SANDBOX_URL, START_SECONDS,
    UNITS, URL, Host, unit_name)
from image import RELEASE, run  # noqa: E402
from load import CONTENTS, Load  # noqa: E402
from release import newer_package, next_release  # noqa: E402

from demonstration.phone import Phone, new_uuid  # noqa: E402
from demonstration.web import Deviation, Website  # noqa: E402

RESIDENT_KIB = 40 * 1024
READY_MILLISECONDS = 500
BACK_SECONDS = 2.0
EXPOSURE = 1.2
# So that changing the table takes a while: deleted files of a group without members.
MANY_FILES = """
    INSERT INTO users (user_id, account_type, provider_user_id, display_name, cloud_folder_name, created_at)
    VALUES (900000, 'Google', 'g-many', 'Many', 'Folder', NOW());
    INSERT INTO sharing_groups (sharing_group_id, sharing_group_uuid, name, master_version, created_at)
    VALUES (900000, 'AAAAAAAA-0000-4000-8000-0000000F4240', 'Many', 1, NOW());
    INSERT INTO files (sharing_group_id, file_uuid, owning_user_id, storage_type, device_uuid, created_at, updated_at,
                       mime_type, is_deleted, file_version, check_sum, sha256, size_bytes, object_id,
                       changed_at_master_version)
    SELECT 900000, UPPER(UUID()), 900000, 'Google', 'DDDDDDDD-0000-4000-8000-000000000001', NOW(), NOW(),
           'image/jpeg', TRUE, 0, REPEAT('a', 32), REPEAT('s', 32), 2048, CONCAT('object-', seq), 1
      FROM seq_1_to_100000;
"""

# The tool is replaced by a function that prints its first argument.
ZSH_COMPLETION = r"""
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'autoload -U compinit && compinit -u; syncctl() { print -r -- "did $1." }; print $((6 * 7)).'
    zpty -r shell seen '*42.*'
    zpty -w shell $'syncctl back\t'
    zpty -r shell seen '*did *.*'
    print -r -- $seen
"""

UNDO_MIGRATION = """
    ALTER TABLE files DROP INDEX trial_by_label, DROP COLUMN trial_label;
    ALTER TABLE staged_changes DROP COLUMN trial_label;
    DELETE FROM files WHERE sharing_group_id = 900000;
    DELETE FROM sharing_groups WHERE sharing_group_id = 900000;
    DELETE FROM users WHERE user_id = 900000;
    DELETE FROM schema_migrations WHERE name = 'trial';
"""


class HostTests(unittest.TestCase):
    host: Host

    @classmethod
    def setUpClass(cls) -> None:
        cls.host = Host()
        cls.addClassCleanup(cls.host.container.halt)
        cls.host.set_up()
        cls.site = Website(URL, str(CA_FILE))

    def inside(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.host.container.run(*command, check=check)

    def assert_serving(self) -> None:
        self.assertEqual(self.site.call("GET", "/HealthCheck").status, 200)

    def assert_all_new(self, before: dict[str, int]) -> None:
        after = self.host.pids()
        for instance, pid in before.items():
            self.assertNotIn(after[instance], (0, pid), f"{instance} was not restarted")

    def wait_until_active(self, *instances: str) -> None:
        for instance in instances or INSTANCES:
            wait_for(f"{instance} runs", lambda name=instance: self.host.is_active(name), START_SECONDS)

    # MARK: Running

    def test_demonstration(self) -> None:
        """Two people share files over TLS, under all restrictions of the units."""
        self.assertIn("everything arrived as it was sent", self.host.demonstrate())

    def test_exposure(self) -> None:
        """systemd-analyze security reports a low exposure level for each of our units."""
        for unit in UNITS:
            verdict = self.inside("systemd-analyze", "security", "--no-pager", unit_name(unit)).stdout
            exposure = float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", verdict)[1])
            print(f"\n{unit}: {exposure} ", end="")
            self.assertLessEqual(exposure, EXPOSURE, verdict)

    def test_memory_and_start(self) -> None:
        """A responder is ready quickly, and uses little memory after its start."""
        for instance in RESPONDERS:
            milliseconds = []
            for _ in range(5):  # the machine may be busy at times
                self.inside("systemctl", "restart", unit_name(instance))
                begun, ready = self.host.show(instance, "ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic")
                milliseconds.append((int(ready) - int(begun)) / 1_000)
            status = self.inside("cat", f"/proc/{self.host.pid(instance)}/status").stdout
            resident = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])
            print(f"\n{instance}: ready after {min(milliseconds):.0f} ms, {resident / 1024:.1f} MiB ", end="")
            self.assertLessEqual(min(milliseconds), READY_MILLISECONDS, f"{instance}: {milliseconds}")
            self.assertLessEqual(resident, RESIDENT_KIB, instance)

    def test_reload_under_load(self) -> None:
        """systemctl reload restarts all instances and drops no request."""
        before = self.host.pids()
        load = Load()
        with load.running():
            self.inside("systemctl", "reload", "syncd")
            load.wait_for_rounds(8)
        self.assertEqual(load.failures, [])
        print(f"\n{load.requests} requests ", end="")
        self.assert_all_new(before)

    def test_reload_of_one_instance(self) -> None:
        """A single instance can be reloaded; systemctl returns once it serves again with new secrets."""
        before = self.host.pids()
        secret = self.host.container.path("/etc/syncd/secrets/facebook-client-secret").read_text(encoding="ascii")
        # Trailing line breaks do not count: the secret works as before.
        self.host.write("/etc/syncd/secrets/facebook-client-secret", secret + "\n", 0o600)
        self.inside("systemctl", "reload", "syncd-api@2")
        after = self.host.pids()
        self.assertTrue(self.host.is_active("syncd-api@2"))
        self.assertNotEqual(after.pop("syncd-api@2"), before.pop("syncd-api@2"))
        self.assertEqual(after, before)
        self.inside(
            "cmp", "/etc/syncd/secrets/facebook-client-secret",
            "/run/credentials/syncd-api@2.service/secret_facebook-client-secret")
        # The other instances have not read it yet.
        self.assertEqual(self.diagnose(), (1, {"configurationNotLoaded"}))
        self.inside("systemctl", "reload", "syncd")

    def test_least_privilege(self) -> None:
        """Each role receives only the secrets that it needs, and its own account; private networks are denied."""
        shared = {"sealing-key", "google-client-secret", "dropbox-app-secret", "microsoft-client-secret"}
        expected = {
            "api": shared | {"facebook-client-secret"}, "transfer": shared | {"facebook-client-secret"}, "jobs": shared,
        }
        for role, names in expected.items():
            unit = f"syncd-{role}@1.service"
            found = self.inside("ls", f"/run/credentials/{unit}").stdout.split()
            secrets = {f"secret_{name}" for name in names | {f"database-password-{role}"}}
            self.assertEqual(set(found), secrets | {"configuration"}, unit)
            (denied,) = self.host.show(unit, "IPAddressDeny")
            for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"):
                self.assertIn(network, denied, unit)
        doctor = self.inside("syncctl", "doctor", check=False).stdout
        self.assertEqual(doctor.count("may do what its role needs, and no more"), 3, doctor)

    def diagnose(self) -> tuple[int, set[str]]:
        """The exit status of doctor, and its findings, except the presence of the sandbox."""
        done = self.inside("syncctl", "doctor", "--json", "--ignore", "sandboxInUse", check=False)
        self.report = done.stdout
        return done.returncode, {
            diagnosis["code"] for diagnosis in json.loads(done.stdout)["diagnoses"]
            if diagnosis["verdict"] in ("warning", "bad") and not diagnosis["ignored"]}

    def test_doctor(self) -> None:
        """doctor finds nothing on a stock Debian with our packages; for real problems it names the cause."""
        self.assertEqual(self.diagnose(), (0, set()))
        drop_in = "/etc/systemd/system/syncd-jobs@1.service.d"
        site = "/etc/nginx/sites-enabled/syncd.conf"
        jobs = "systemctl daemon-reload; systemctl restart syncd-jobs@1 || true"
        # The sandbox uses the same nginx as the server; without it, providers are unreachable.
        without_nginx = {"unitStopped", "frontDoorClosed", "metricsUnanswered", "sandboxSilent", "providerUnreachable"}
        trouble = (
            ("systemctl stop nginx", "systemctl start nginx", without_nginx),
            ("systemctl disable nginx syncd.target", "systemctl enable nginx syncd.target", {"unitDisabled"}),
            ("systemctl mask --now nginx", "systemctl unmask nginx && systemctl enable --now nginx", without_nginx),
            # Restarted, because after a reload the metrics, which the site includes, are served for a moment longer.
            (f"mv {site} /root && systemctl restart nginx", f"mv /root/syncd.conf {site} && systemctl restart nginx",
             {"siteMissing", "metricsUnanswered"}),
            (f"mkdir -p {drop_in}; printf '[Service]\\nExecStart=\\nExecStart=/bin/false\\nRestart=no\\n' "
             f">{drop_in}/zz-broken.conf; {jobs}", f"rm -r {drop_in}; {jobs}", {"unitFailed", "countersMissing"}),
            ("systemctl stop syncd-transfer.socket 'syncd-transfer@*'",
             "systemctl start syncd-transfer.socket syncd-transfer@1 syncd-transfer@2",
             {"unitStopped", "responderSilent", "countersMissing"}),
            ("systemctl stop mariadb", "systemctl start mariadb",
             {"unitStopped", "databaseUnavailable", "responderUnhealthy", "frontDoorUnhealthy"}),
            # Files changed without the following steps.
            self.broken_file(CONFIGURATION, "sed -i 's/\"database\"/\"databse\"/'", {"configurationInvalid"}),
            self.broken_file(CONFIGURATION, "sed -i 's/^{/{\"maximumUploadBytes\": 6000000000,/'",
                             {"uploadLimitTooSmall", "configurationNotLoaded"}),
            self.broken_file("/etc/syncd/secrets/facebook-client-secret", "echo wrong | tee",
                             {"secretRefused", "configurationNotLoaded"}),
            # No role has the owner's password.
            self.broken_file("/etc/syncd/secrets/database-password", "echo wrong | tee", {"databaseDenied"}),
            self.broken_file("/etc/nginx/nginx.conf", "sed -i '1i nonsense;'", {"nginxInvalid"}),
            self.broken_file(CERTIFICATE, "echo nothing | tee", {"certificateUnreadable", "nginxInvalid"}),
            self.broken_file(KEY, "openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out",
                             {"keyMismatch", "nginxInvalid"}),
            self.broken_file(CERTIFICATE, "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 "
                             f"-subj /CN=other.example -keyout {KEY} -out",
                             {"certificateForOtherName", "certificateNotLoaded"}, KEY),
            # The database, and the roles' rights in it.
            (sql("DELETE FROM schema_migrations ORDER BY version DESC LIMIT 1",
                 before="CREATE TABLE kept AS SELECT * FROM schema_migrations"),
             sql("REPLACE INTO schema_migrations SELECT * FROM kept; DROP TABLE kept"), {"schemaDiffers"}),
            (sql("ALTER USER syncd_jobs@localhost ACCOUNT LOCK"), sql("ALTER USER syncd_jobs@localhost ACCOUNT UNLOCK"),
             {"roleAccountUnusable"}),
            (sql("GRANT UPDATE ON invitations TO syncd_jobs@localhost"), "syncctl migrate", {"rightsSurplus"}),
            (sql("REVOKE DELETE ON invitations FROM syncd_jobs@localhost"), "syncctl migrate", {"rightsMissing"}),
            # The machine.
            ("mount -t tmpfs -o size=50m none /var/log && mkdir /var/log/nginx", "umount /var/log", {"diskFull"}),
        )
        for harm, cure, findings in trouble:
            with self.subTest(harm):
                self.inside("/bin/sh", "-c", harm)
                try:
                    found = self.diagnose()
                    self.assertEqual(found, (1, findings), self.report)
                finally:
                    self.inside("/bin/sh", "-c", cure)
        self.wait_until_active()
        wait_for("all is well", lambda: self.diagnose() == (0, set()), START_SECONDS)
        self.assertGreaterEqual(len(trouble), 20)

    def broken_file(self, path: str, change: str, findings: set[str], *others: str) -> tuple[str, str, set[str]]:
        """The command that changes a file, the one that restores it and `others`, and doctor's findings in between."""
        files = (path, *others)
        keep = " && ".join(f"cp --preserve {file} /root/{Path(file).name}.kept" for file in files)
        bring_back = " && ".join(f"mv /root/{Path(file).name}.kept {file}" for file in files)
        return f"{keep} && {change} {path} >/dev/null", f"{bring_back} && systemctl reload syncd", findings

    def test_connections_of_nginx(self) -> None:
        """A stock nginx accepts few connections; after the command printed by setup, doctor reports no problem."""
        connections = "each of nginx's processes accepts {} connections"
        self.assertIn(connections.format("only 768"), self.inside("syncctl", "doctor", check=False).stdout)
        told = self.inside("syncctl", "setup", "--unattended", "--sandbox", "--host", "localhost", "--dry-run").stdout
        command = "syncctl setup --nginx-connections"
        self.assertIn(f"Before people use this server: {command}", told)
        self.inside("/bin/sh", "-c", f"{command} --unattended --sandbox --host localhost")
        self.assertIn(connections.format(4096), self.inside("syncctl", "doctor", check=False).stdout)
        limits = self.inside("/bin/sh", "-c", "cat /proc/$(pgrep --newest --full '[n]ginx: worker process$')/limits").stdout
        self.assertRegex(limits, r"Max open files +8192 ")

    def test_reload_with_a_mistake(self) -> None:
        """An invalid configuration is rejected with a message, and running instances continue."""
        good = self.host.configuration()
        before = self.host.pids()
        self.host.configure(good | {"apiThraeds": 3})
        try:
            for unit in ("syncd", "syncd-transfer@1"):
                refused = self.inside("systemctl", "reload", unit, check=False)
                self.assertNotEqual(refused.returncode, 0, unit)
                journal = self.inside("journalctl", "--no-pager", "--output=cat", "--unit", unit_name(unit)).stdout
                self.assertIn("apiThraeds is not a setting of this server", journal)
            self.assertEqual(self.host.pids(), before)
            self.assert_serving()
        finally:
            self.host.configure(good)

    def test_misplaced_key(self) -> None:
        """A key that root can read but the services cannot is rejected before anything restarts."""
        good = self.host.configuration()
        before = self.host.pids()
        key = self.inside("syncctl", "keys", "generate").stdout
        self.host.write("/etc/syncd/sealing-key-2026", key)
        self.host.configure(good | {"sealing": {"keyFile": "sealing-key-2026", "formerKeyFiles": ["sealing-key"]}})
        try:
            told = self.inside("syncctl", "config", "check", check=False)
            self.assertEqual(told.returncode, 78, told.stdout)
            self.assertIn("services get only the files in /etc/syncd/secrets", told.stdout)
            self.assertNotEqual(self.inside("systemctl", "reload", "syncd", check=False).returncode, 0)
            self.assertEqual(self.host.pids(), before)
            self.assert_serving()
            # A file used in place must be readable for the services' user.
            self.host.write("/etc/syncd/sealing-key-2026", key, 0o600)
            self.host.configure(good | {"sealing": {"keyFile": "/etc/syncd/sealing-key-2026"}})
            told = self.inside("syncctl", "config", "check", check=False)
            self.assertEqual(told.returncode, 78, told.stdout)
            self.assertIn("which run as syncd, cannot read /etc/syncd/sealing-key-2026", told.stdout)
        finally:
            self.host.configure(good)
            self.inside("rm", "/etc/syncd/sealing-key-2026")
        self.assertEqual(self.inside("syncctl", "config", "check", check=False).returncode, 0)

    def test_key_rotation(self) -> None:
        """The sealing key is replaced step by step under load; services can restart between any two steps."""
        def step(name: str) -> dict:
            told = json.loads(self.inside("syncctl", "keys", "rotate", name, "--json").stdout)
            # Simulates a crash: the state of the units is not checked.
            for instance in ("syncd-api@1", "syncd-transfer@1", "syncd-jobs@1"):
                self.inside("systemctl", "restart", unit_name(instance))
            self.assertEqual(self.inside("syncctl", "config", "check", check=False).returncode, 0)
            return told

        load = Load()
        with load.running():
            begun = step("begin")
            owner = self.inside("stat", "--format=%U:%G %a", begun["keyFile"]).stdout.strip()
            self.assertEqual(owner, "root:root 600")
            self.assertTrue(begun["keyFile"].startswith("/etc/syncd/secrets/sealing-key-"))
            refused = self.inside("syncctl", "keys", "rotate", "switch", check=False)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.inside("systemctl", "reload", "syncd")
            step("switch")
            refused = self.inside("syncctl", "keys", "rotate", "finish", check=False)
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.inside("systemctl", "reload", "syncd")
            finished = step("finish")
            self.inside("systemctl", "reload", "syncd")
            load.wait_for_rounds(4)
        self.assertEqual(load.failures, [])
        self.assertGreaterEqual(finished["resealing"]["resealed"], 1)
        for role in ("api", "transfer", "jobs"):
            found = self.inside("ls", f"/run/credentials/syncd-{role}@1.service").stdout.split()
            self.assertEqual([name for name in found if "sealing" in name],
                             [f"secret_{Path(begun['keyFile']).name}"])
        # At most notes, which do not affect the status.
        fsck = self.inside("syncctl", "fsck", check=False)
        self.assertEqual(fsck.returncode, 0, fsck.stdout)

    def test_reload_of_what_cannot_work(self) -> None:
        """A missing database and an unsuitable sealing key are rejected before anything restarts."""
        self.host.demonstrate()
        good = self.host.configuration()
        before = self.host.pids()
        key = self.inside("syncctl", "keys", "generate").stdout
        self.host.write("/etc/syncd/secrets/another-key", key, 0o600)
        changes = {
            "/nowhere/socket": {"database": good["database"] | {"socket": "/nowhere/socket"}},
            "are sealed with the key": {"sealing": {"keyFile": "another-key"}},
        }
        try:
            for complaint, change in changes.items():
                self.host.configure(good | change)
                refused = self.inside("systemctl", "reload", "syncd", check=False)
                self.assertNotEqual(refused.returncode, 0, complaint)
                journal = self.inside("journalctl", "--no-pager", "--output=cat", "--unit", "syncd.service").stdout
                self.assertIn(complaint, journal)
                self.assertEqual(self.host.pids(), before)
            self.assert_serving()
        finally:
            self.host.configure(good)
            self.inside("rm", "/etc/syncd/secrets/another-key")

    def test_reload_ends_at_the_first_unhealthy_instance(self) -> None:
        """A reload stops after the first restarted instance that cannot reach the database."""
        drop_in = "/etc/systemd/system/syncd-api@1.service.d"
        self.host.write(f"{drop_in}/apart.conf", "[Service]\nInaccessiblePaths=/run/mysqld\n")
        before = self.host.pids()
        try:
            refused = self.inside("systemctl", "reload", "syncd", check=False)
            self.assertNotEqual(refused.returncode, 0, refused.stdout)
            journal = self.inside("journalctl", "--no-pager", "--output=cat", "--unit", "syncd.service").stdout
            self.assertIn("syncd-api@1.service does not become healthy (Waiting for the database)", journal)
            after = self.host.pids()
            self.assertNotEqual(after.pop("syncd-api@1"), before.pop("syncd-api@1"))
            self.assertEqual(after, before)
        finally:
            self.inside("rm", "-r", drop_in)
            self.inside("systemctl", "reload", "syncd")
        self.assert_serving()

    def test_maintenance(self) -> None:
        """The server, and then this host without any of its processes, replies with the operator's text."""
        text = "We are back at noon."
        self.inside("syncctl", "maintenance", "on", text)
        try:
            # Each process detects the change itself.
            wait_for("the server is closed", lambda: self.site.call("GET", "/Index").status == 503, 5)
            wait_for("apps get the text", lambda: self.site.call("GET", "/FailoverMessage").body.decode() == text, 5)
            self.assert_serving()
        finally:
            self.inside("syncctl", "maintenance", "off")
        wait_for("the server is open", lambda: self.site.call("GET", "/Index").status == 401, 5)
        self.inside("syncctl", "maintenance", "on", "--this-host", text)
        self.inside("systemctl", "stop", "syncd.target")
        try:
            reply = self.site.call("GET", "/Index")
            self.assertEqual((reply.status, json.loads(reply.body)["error"]), (503, text))
            self.assertEqual(reply.headers["Retry-After"], "120")
            self.assertEqual(self.site.call("GET", "/FailoverMessage").body.decode(), text)
        finally:
            self.inside("systemctl", "start", "syncd.target")
            self.inside("syncctl", "maintenance", "off")
        self.wait_until_active()
        wait_for("the server is open", lambda: self.site.call("GET", "/Index").status == 401, 5)

    # MARK: Backups

    def test_backup(self) -> None:
        """The timer's service makes a backup with minimal rights and copies it; doctor and metrics report both."""
        self.assertEqual(self.host.show("syncd-backup.timer", "UnitFileState"), ["disabled"])
        self.inside("systemctl", "enable", "--now", "syncd-backup.timer")
        self.assertEqual(self.diagnose(), (1, {"backupOld"}))
        self.copy_by('send) mkdir -p elsewhere; cat >"elsewhere/$2" ;; fetch) cat "elsewhere/$2" ;;')

        self.inside("systemctl", "start", "syncd-backup.service")
        wait_for("the backup is copied", lambda: self.record("copied") is not None, START_SECONDS)

        (name,) = self.inside("ls", "/var/backups/syncd").stdout.split()
        self.assertRegex(name, r"^syncd-\d{4}-\d\d-\d\dT\d{6}Z\.backup\.gz$")
        self.assertEqual(self.record("made")["name"], name)
        self.assertEqual(
            self.inside("stat", "--format=%U %a", "/var/backups/syncd", f"/var/backups/syncd/{name}").stdout.split(),
            ["syncd-backup", "700", "syncd-backup", "600"])
        self.inside("cmp", f"/var/backups/syncd/{name}", f"/var/lib/syncd-backup/elsewhere/{name}")
        passed_on = [line for line in self.inside("systemctl", "cat", "syncd-backup.service").stdout.splitlines()
                     if line.startswith("LoadCredential=")]
        self.assertEqual(
            passed_on[-2:],
            ["LoadCredential=", "LoadCredential=secret_database-password:/etc/syncd/secrets/database-password"])
        self.assertEqual(self.diagnose(), (0, set()))
        for metric in ("syncd_last_backup_timestamp_seconds", "syncd_last_backup_copy_timestamp_seconds"):
            self.assertRegex(self.metrics(), rf"(?m)^{metric} [1-9]\d+$")
        whole = self.inside("sh", "-c", "syncctl backup make - 2>/dev/null | syncctl backup verify -").stdout
        self.assertIn("all checksums and counts are correct", whole)
        full = self.inside("sh", "-c", "syncctl backup make - >/dev/full", check=False)
        self.assertEqual(full.returncode, 1, full.stdout)

    def test_backups_that_fail(self) -> None:
        """doctor reports a rejected or different copy, and missing backups."""
        for verbs in ("send) exit 3 ;;", "send) cat >/dev/null ;; fetch) echo other ;;"):
            self.copy_by(verbs)
            self.assertNotEqual(self.inside("systemctl", "start", "syncd-backup-copy", check=False).returncode, 0)
            self.assertIn(
                "there is no good copy", self.inside("journalctl", "--output=cat", "--unit", "syncd-backup-copy").stdout)
            self.assertEqual(self.diagnose(), (1, {"unitFailed"}))
        self.inside("rm", "/etc/syncd/backup-copy")
        self.inside("systemctl", "reset-failed", "syncd-backup-copy")
        folder = self.host.container.path("/var/lib/syncd/backup")
        for kind in ("made", "copied"):
            record = self.record(kind) | {"takenAt": "2026-01-01 00:00:00"}
            (folder / f"{kind}.json").write_text(json.dumps(record))
        self.assertEqual(self.diagnose(), (1, {"backupOld", "backupCopyOld"}))
        self.inside("rm", "/var/lib/syncd/backup/copied.json")
        self.inside("systemctl", "start", "syncd-backup.service")
        self.assertEqual(self.diagnose(), (0, set()))

    def copy_by(self, verbs: str) -> None:
        self.host.write("/etc/syncd/backup-copy", f"#!/bin/sh\nset -eu\ncase $1 in {verbs} esac\n", 0o755)

    def record(self, kind: str) -> dict | None:
        path = self.host.container.path(f"/var/lib/syncd/backup/{kind}.json")
        return json.loads(path.read_text()) if path.exists() else None

    def test_disaster(self) -> None:
        """A bare host, a backup and the copy of the secrets give a server with which phones continue."""
        sandbox = Website(SANDBOX_URL)
        account = sandbox.json("POST", "/sandbox/accounts", {"provider": "google", "name": "Survivor"})
        phone, group = Phone("before", self.site, sandbox, account["id"]), new_uuid()
        phone.ask("POST", "AddUser", sharingGroupUUID=group, cloudFolderName="Disaster")
        self.publish(phone, group, 0)
        self.host.write("/etc/systemd/system/syncd.target.d/more.conf", "[Unit]\nWants=syncd-api@3.service\n")
        self.inside("syncctl", "backup", "make", "/root/host.backup.gz")
        self.inside("rm", "-r", "/etc/systemd/system/syncd.target.d")
        # A provider's data survives the loss of a host; here, the provider is the sandbox on it.
        self.inside("systemctl", "stop", "syncsandbox.service")
        new = Host("new")
        self.addCleanup(self.host.container.enter_network)
        self.addCleanup(new.container.halt)
        new.begin()
        run("cp", "--archive", self.host.container.path("/var/lib/private/syncsandbox"),
            new.container.path("/var/lib/private/"))
        new.container.run("ln", "-s", "../sites-available/syncsandbox.conf", "/etc/nginx/sites-enabled/")
        new.take_certificate(self.host)
        run("cp", self.host.container.path("/root/host.backup.gz"), new.container.path("/root/"))

        refused = new.container.run("syncctl", "backup", "restore", "/root/host.backup.gz", check=False)
        self.assertEqual(refused.returncode, 78, refused.stdout)
        self.assertRegex(refused.stdout, r"/etc/syncd/secrets/sealing-key\S* \(sealing\.key\)")
        self.assertFalse(new.container.path(CONFIGURATION).exists())

        secrets = new.container.path("/etc/syncd/secrets")
        for secret in self.host.container.path("/etc/syncd/secrets").iterdir():
            # Database passwords are generated again.
            if not secret.name.startswith("database-password"):
                run("cp", secret, secrets)
        key = secrets / Path(self.host.configuration()["sealing"]["keyFile"]).name
        new.write(f"/etc/syncd/secrets/{key.name}", new.container.run("syncctl", "keys", "generate").stdout, 0o600)
        refused = new.container.run("syncctl", "backup", "restore", "/root/host.backup.gz", check=False)
        self.assertEqual(refused.returncode, 78, refused.stdout)
        self.assertIn("nothing was done: the tokens in the backup are sealed with the key", refused.stdout)
        self.assertFalse(new.container.path(CONFIGURATION).exists())
        run("cp", self.host.container.path(f"/etc/syncd/secrets/{key.name}"), secrets)
        told = new.container.run("syncctl", "backup", "restore", "/root/host.backup.gz")
        print(f"\n{told.stdout}")

        for instance in (*INSTANCES, "syncd-api@3"):
            self.assertTrue(new.is_active(instance), f"{instance}\n{told.stdout}")
        self.assertEqual(phone.index(group)["masterVersion"], 1)
        self.publish(phone, group, 1)
        doctor = new.container.run("syncctl", "doctor", "--ignore", "sandboxInUse", check=False)
        self.assertEqual(doctor.returncode, 0, doctor.stdout)
        again = new.container.run("syncctl", "backup", "restore", "/root/host.backup.gz", check=False)
        self.assertEqual(again.returncode, 1, again.stdout)
        self.assertIn("the database is not empty", again.stdout)
        self.restore_without_certificate(new)
        self.assertEqual(phone.index(group)["masterVersion"], 1)

    def restore_without_certificate(self, host: Host) -> None:
        """Everything else is restored, nginx can still start, and the printed next command completes the rest."""
        host.container.run("mariadb", "-e", "DROP DATABASE syncserver")
        host.container.run("sh", "-c", f"rm /etc/nginx/sites-enabled/syncd.conf; mv {CERTIFICATE} /root/; nginx -s reload")
        told = host.container.run("syncctl", "backup", "restore", "/root/host.backup.gz", check=False)
        self.assertEqual(told.returncode, 1, told.stdout)
        self.assertIn("kept       /etc/syncd/syncd.json", told.stdout)
        self.assertRegex(told.stdout, rf"FAILED     nginx serves \S+: .*{CERTIFICATE}")
        host.container.run("nginx", "-t", "-q")
        host.container.run("mv", f"/root/{Path(CERTIFICATE).name}", CERTIFICATE)
        (commands,) = re.findall(r"NEXT       obtain the certificate that the site names, then: (.*)", told.stdout)
        host.container.run("sh", "-c", commands)
        # nginx opens its sockets after the reload has returned.
        wait_for("the server is reachable", self.is_reachable, START_SECONDS)

    def is_reachable(self) -> bool:
        try:
            return self.site.call("GET", "/HealthCheck").status == 200
        except Deviation:
            return False

    def publish(self, phone: Phone, group: str, version: int) -> None:
        """Uploads and commits a file, and downloads all files of the group again."""
        phone.upload(CONTENTS, fileUUID=new_uuid(), fileVersion=0, mimeType="image/jpeg", masterVersion=version,
                     sharingGroupUUID=group)
        phone.ask("POST", "DoneUploads", masterVersion=version, sharingGroupUUID=group)
        files = phone.index(group)["fileIndex"]
        self.assertEqual(len(files), version + 1)
        for file in files:
            self.assertEqual(phone.download(file, group, version + 1)[0], CONTENTS)

    # MARK: Trouble

    def test_killed(self) -> None:
        """A killed responder is restarted within two seconds."""
        for instance in INSTANCES:
            before = self.host.pid(instance)
            self.inside("kill", "-KILL", str(before))
            seconds = wait_for(
                f"{instance} is back", lambda name=instance, old=before: self.host.pid(name) not in (0, old)
                and self.host.is_active(name), START_SECONDS)
            self.assertLess(seconds, BACK_SECONDS, instance)
        self.assert_serving()

    def test_hung(self) -> None:
        """The watchdog ends a hung responder, and systemd restarts it."""
        drop_in = "/etc/systemd/system/syncd-api@1.service.d"
        self.host.write(f"{drop_in}/watchdog.conf", "[Service]\nWatchdogSec=2\n")
        self.inside("systemctl", "daemon-reload")
        try:
            self.inside("systemctl", "restart", "syncd-api@1")
            before = self.host.pid("syncd-api@1")
            self.inside("kill", "-STOP", str(before))
            wait_for(
                "the watchdog has restarted the responder", lambda: self.host.pid("syncd-api@1") not in (0, before)
                and self.host.is_active("syncd-api@1"), 20)
            self.assertIn(
                "Watchdog timeout", self.inside("journalctl", "--no-pager", "--unit", "syncd-api@1.service").stdout)
        finally:
            self.inside("rm", "-r", drop_in)
            self.inside("systemctl", "daemon-reload")
            self.inside("systemctl", "restart", "syncd-api@1")
        self.assert_serving()

    def test_logs_rotate(self) -> None:
        """Our log files and nginx's are rotated under load, and each request is in both exactly once."""
        good = self.host.configuration()
        self.host.configure(good | {"log": {"file": "/var/log/syncd/syncd.log"}})
        try:
            self.inside("systemctl", "reload", "syncd")
            self.inside("logrotate", "--force", "/etc/logrotate.d/nginx")
            for old in self.host.container.path("/var/log/nginx").glob("*.[0-9]*"):
                old.unlink()
            load = Load()
            with load.running():
                for _ in range(3):
                    load.wait_for_rounds(3)
                    self.inside("logrotate", "--force", "/etc/logrotate.d/syncserver")
                    self.inside("logrotate", "--force", "/etc/logrotate.d/nginx")
                load.wait_for_rounds(3)
        finally:
            self.host.configure(good)
            self.inside("systemctl", "reload", "syncd")
        self.assertEqual(load.failures, [])
        ours = self.request_ids("/var/log/syncd", "syncd.log*")
        theirs = self.request_ids("/var/log/nginx", "syncd.access.log*")
        self.assertEqual([number for number in set(ours) if ours.count(number) > 1], [])
        self.assertEqual(sorted(ours), sorted(theirs))
        self.assertGreaterEqual(len(ours), load.requests)

    def request_ids(self, folder: str, pattern: str) -> list[str]:
        files = list(self.host.container.path(folder).glob(pattern))
        self.assertGreaterEqual(len(files), 3, f"{folder} was not rotated: {files}")
        found = []
        for file in files:
            data = file.read_bytes()
            for line in (gzip.decompress(data) if file.suffix == ".gz" else data).decode().splitlines():
                record = json.loads(line)
                if record.get("request_id"):
                    found.append(record["request_id"])
        return found

    def test_no_secret_anywhere(self) -> None:
        """Secrets are in no environment, command line, unit, log or core dump."""
        kill(self.host.outside(self.host.pid("syncd-api@1")), signal.SIGABRT)
        self.wait_until_active()
        texts = list(self.host.planted.values())
        self.assertTrue(all(len(text) > 12 for text in texts), list(self.host.planted))
        self.assertIn("sealing-key", self.host.planted)
        self.host.write("/root/patterns", "\n".join(texts) + "\n", 0o600)
        search = """
            grep --files-with-matches --text --fixed-strings --file=/root/patterns \\
                /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null
            grep --recursive --files-with-matches --text --fixed-strings --file=/root/patterns \\
                /etc/systemd /lib/systemd/system /run/systemd /var/log /etc/nginx /usr/share/syncserver \\
                /var/lib/systemd /tmp /var/tmp 2>/dev/null
            journalctl --no-pager --output=export | grep --text --fixed-strings --file=/root/patterns
            find / -xdev -name 'core*' -type f -size +100k ! -path '/usr/*' ! -path '/var/lib/dpkg/*' ! -path '/var/cache/*'
            true
        """
        self.assertEqual(self.inside("sh", "-c", search).stdout, "")
        # An empty result would prove nothing if the search did not work.
        found = self.inside("grep", "--recursive", "--files-with-matches", "--fixed-strings",
                            "--file=/root/patterns", "/etc/syncd/secrets").stdout.split()
        self.assertEqual(len(found), len(texts))
        self.assertFalse([text for text in texts if text in self.metrics()])
        for instance in INSTANCES:
            limits = self.inside("cat", f"/proc/{self.host.pid(instance)}/limits").stdout
            self.assertRegex(limits, r"Max core file size\s+0\s+0\s")

    def metrics(self) -> str:
        """The metrics read by the host's own monitoring; empty if the server has none."""
        if not self.host.container.path("/etc/nginx/syncd/syncd-metrics.conf").exists():
            return ""
        reply = Website(METRICS_URL).call("GET", "/metrics")
        self.assertEqual(reply.status, 200)
        return reply.body.decode()

    def test_only_administrators_read_logs_and_secrets(self) -> None:
        """nginx's error log, which quotes requests, and the secrets are not readable by others."""
        for path, mode in (("/var/log/nginx/syncd.error.log", "640"), ("/etc/syncd/secrets", "700"),
                           ("/etc/syncd/secrets/sealing-key", "600"), ("/var/log/syncd", "750")):
            self.assertEqual(self.inside("stat", "--format=%a", path).stdout.strip(), mode, path)

    def test_manual(self) -> None:
        """syncctl(8) has every command that syncctl has."""
        manual = self.inside("zcat", "/usr/share/man/man8/syncctl.8.gz").stdout.replace("\\-", "-")
        help_text = self.inside("syncctl", "--help").stdout.partition("SUBCOMMANDS:")[2].partition("EXAMPLES:")[0]
        commands = re.findall(r"(?m)^  ([a-z][a-z-]*)(?: |$)", help_text)
        self.assertIn("backup", commands)
        for command in commands:
            self.assertRegex(manual, rf"(?m)^\.It Cm {command}( |$)")

    def test_news(self) -> None:
        """Release information for administrators is where apt-listchanges(1) looks for it."""
        news = self.inside("zcat", "/usr/share/doc/syncserver/NEWS.Debian.gz").stdout
        self.assertRegex(news, r"\Asyncserver \(\d+(\.\d+)+\) ")
        self.assertIn("syncctl migrate", news)

    def test_completion(self) -> None:
        """The shells complete the tool's commands."""
        self.inside("eatmydata", "apt-get", "install", "--yes", "--no-install-recommends", "fish", "zsh")
        for program in ("syncctl", "syncd", "syncsandbox"):
            self.inside("bash", "-n", f"/usr/share/bash-completion/completions/{program}")
            self.inside("zsh", "-n", f"/usr/share/zsh/vendor-completions/_{program}")
        offered = self.inside("fish", "-c", "complete --do-complete 'syncctl back'").stdout
        self.assertRegex(offered, r"(?m)^backup\t")
        offered = self.inside(
            "bash", "-c", ". /usr/share/bash-completion/completions/syncctl; COMP_WORDS=(syncctl back) COMP_CWORD=1; "
            "_syncctl syncctl back syncctl; echo ${COMPREPLY[*]}").stdout
        self.assertEqual(offered.split(), ["backup"])
        # Like on a terminal: the Tab key completes the word.
        completed = self.inside("timeout", "30", "zsh", "-fc", ZSH_COMPLETION, check=False)
        self.assertEqual(completed.returncode, 0, completed.stdout)
        self.assertIn("did backup.", completed.stdout)

    def test_bill_of_materials(self) -> None:
        """The packages list the Swift packages linked into their programs, in the versions that were built."""
        state = json.loads((REPOSITORY / ".build" / "workspace-state.json").read_text(encoding="utf-8"))
        versions = {entry["packageRef"]["identity"]: entry["state"]["checkoutState"]["version"]
                    for entry in state["object"]["dependencies"]}
        for package, linked in (("syncserver", {"swift-log", "swift-http-types", "swift-argument-parser"}),
                                ("syncsandbox", {"swift-argument-parser"})):
            bill = json.loads(self.host.container.path(
                f"/usr/share/doc/{package}/bill-of-materials.cdx.json").read_text(encoding="utf-8"))
            found = {each["name"]: each["version"] for each in bill["components"] if each["type"] == "library"}
            self.assertEqual(found, {name: versions[name] for name in linked})
            self.assertIn("Swift runtime, standard library and Foundation", [each["name"] for each in bill["components"]])

    def test_profile(self) -> None:
        """AppArmor can parse syncd's profile."""
        run("apparmor_parser", "--skip-kernel-load", "--skip-cache", REPOSITORY / "etc/apparmor/usr.bin.syncd")

    # MARK: Upgrade and removal

    def test_repository(self) -> None:
        """Packages are installed only from a repository that the host trusts."""
        folder = self.host.container.path("/srv/repository")
        with tempfile.TemporaryDirectory() as home:
            environment = os.environ | {"GNUPGHOME": home}

            def make() -> None:
                run(REPOSITORY / "scripts" / "repository", "--url", "file:///srv/repository", folder, env=environment)

            make()
            shutil.copy(folder / "syncserver.gpg", self.host.container.path("/usr/share/keyrings"))
            shutil.copy(folder / f"syncserver-{RELEASE}.sources",
                        self.host.container.path("/etc/apt/sources.list.d/syncserver.sources"))
            only = ("-o", "Dir::Etc::SourceList=/etc/apt/sources.list.d/syncserver.sources",
                    "-o", "Dir::Etc::SourceParts=-", "-o", "APT::Get::List-Cleanup=0")
            self.inside("apt-get", *only, "--error-on=any", "update")
            output = self.inside("eatmydata", "apt-get", "install", "--yes", "--reinstall", "syncserver").stdout
            self.assertIn(f"file:/srv/repository {RELEASE}", output)
            self.assert_serving()

            # Acts like an attacker who has taken over the web server.
            (folder / "conf" / "distributions").unlink()
            run("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "Somebody else", env=environment)
            run(REPOSITORY / "scripts" / "repository", "--key", "Somebody else", "--url", "file:///srv/repository", folder,
                env=environment)
            refused = self.inside("apt-get", *only, "--error-on=any", "update", check=False)
            self.assertNotEqual(refused.returncode, 0, refused.stdout)
            self.assertRegex(refused.stdout, "NO_PUBKEY|Missing key")  # apt 2 with gpgv, apt 3 with sqv
        self.inside("rm", "/etc/apt/sources.list.d/syncserver.sources", "/usr/share/keyrings/syncserver.gpg")

    def upgrade(self, version: str, packages: str = "sync*.deb") -> str:
        with tempfile.TemporaryDirectory() as folder:
            newer = [newer_package(package, version, Path(folder))
                     for package in PACKAGES.glob(packages)]
            return self.host.install(newer)

    def test_upgrade_under_load(self) -> None:
        """A newer package restarts all instances without dropping a request, and keeps the administrator's changes."""
        snippet = self.host.container.path("/etc/nginx/syncd/syncd-locations.conf")
        snippet.write_text(snippet.read_text() + "# the administrator's own line\n")
        kept = {path: self.host.container.path(path).read_bytes()
                for path in (CONFIGURATION, "/etc/nginx/sites-available/syncd.conf", "/etc/nginx/syncd/syncd-locations.conf")}
        before = self.host.pids()
        load = Load()
        with load.running():
            self.upgrade("1000.0.0", "syncserver_*.deb")
            load.wait_for_rounds(4)
        self.assertEqual(load.failures, [])
        self.assert_all_new(before)
        self.assertEqual(self.inside("dpkg-query", "--show", "--showformat=${Version}", "syncserver").stdout, "1000.0.0")
        for path, contents in kept.items():
            self.assertEqual(self.host.container.path(path).read_bytes(), contents, path)

    def test_upgrade_with_another_schema(self) -> None:
        """If the schema does not match, the instances keep running unchanged, and apt's output says why."""
        before = self.host.pids()
        self.inside("mariadb", "syncserver", "-e", "CREATE TABLE kept AS SELECT * FROM schema_migrations; "
                    "DELETE FROM schema_migrations ORDER BY version DESC LIMIT 1")
        output = self.upgrade("1000.0.1")
        self.assertIn("syncctl migrate", output)
        self.assertEqual(self.host.pids(), before)
        self.assert_serving()
        self.inside("mariadb", "syncserver", "-e", "REPLACE INTO schema_migrations SELECT * FROM kept; DROP TABLE kept")

    def test_migration_under_load(self) -> None:
        """The next release, with one more migration, is installed, migrated and reloaded in the documented order."""
        self.inside("mariadb", "syncserver", "-e", MANY_FILES)
        before = self.host.pids()
        load = Load()
        with load.running(), tempfile.TemporaryDirectory() as folder:
            (package,) = PACKAGES.glob("syncserver_*.deb")
            output = self.host.install([next_release(package, "1000.0.2", Path(folder))])
            self.assertIn("syncctl migrate", output)
            load.wait_for_rounds(4)
            self.assertEqual(self.host.pids(), before)
            # An instance that ends now cannot start again before the migration.
            self.inside("systemctl", "kill", "--kill-whom=main", "--signal=TERM", "syncd-api@2")
            wait_for("it has ended", lambda: self.host.pid("syncd-api@2") != before["syncd-api@2"], START_SECONDS)
            load.wait_for_rounds(4)
            del before["syncd-api@2"]
            begun = time.monotonic()
            applied = json.loads(self.inside("syncctl", "migrate", "--json").stdout)["applied"]
            took = time.monotonic() - begun
            self.assertEqual(applied, ["trial"])
            load.wait_for_rounds(8)
            self.assertEqual({instance: self.host.pid(instance) for instance in before}, before)
            self.inside("systemctl", "reload", "syncd")
            load.wait_for_rounds(4)
        self.assertEqual(load.failures, [])
        print(f"\n{load.requests} requests, migration of {took:.1f} s ", end="")
        self.assert_all_new(before)
        self.wait_until_active()
        labelled = self.inside(
            "mariadb", "syncserver", "--batch", "--skip-column-names", "-e",
            "SELECT COUNT(*) FROM files WHERE trial_label <> ''").stdout
        self.assertGreaterEqual(int(labelled), 100_000)
        self.inside("syncctl", "migrate", "--check")

        # Back to the current release, for the following tests.
        self.inside("mariadb", "syncserver", "-e", UNDO_MIGRATION)
        self.upgrade("1000.0.3", "syncserver_*.deb")
        self.wait_until_active()

    def test_remove_and_install(self) -> None:
        """Removal stops everything and keeps the configuration; units run again after the next installation."""
        self.inside("eatmydata", "apt-get", "remove", "--yes", "syncserver")
        self.assertEqual(self.running_units(), "")
        self.inside("test", "-e", CONFIGURATION, "-a", "-e", "/etc/syncd/secrets/sealing-key")
        self.inside("nginx", "-q", "-t")

        self.host.install([*PACKAGES.glob("syncserver_*.deb")])
        self.wait_until_active()
        self.inside("systemctl", "is-enabled", "syncd.target")
        self.assert_serving()

        # Except those that the administrator has stopped.
        self.inside("systemctl", "stop", "syncd.target", "syncd-api.socket", "syncd-transfer.socket")
        self.inside("eatmydata", "apt-get", "remove", "--yes", "syncserver")
        self.host.install([*PACKAGES.glob("syncserver_*.deb")])
        self.assertFalse(self.host.is_active("syncd-api@1"))

    def test_purge(self) -> None:
        """Purge removes everything except the database and secrets; with confirmation, it removes these as well."""
        self.inside("eatmydata", "apt-get", "purge", "--yes", "syncserver", "syncsandbox")
        self.inside("nginx", "-q", "-t")
        self.inside("systemctl", "is-active", "nginx", "mariadb")
        # Backups are kept; without any, the next purge removes their folder.
        self.assertIn(".backup.gz", self.inside("ls", "/var/backups/syncd").stdout)
        self.inside("rm", "-r", "/var/backups/syncd")
        self.assertEqual(self.left(), ["/etc/syncd", "/etc/syncd/secrets"])
        self.inside("test", "-s", "/etc/syncd/secrets/sealing-key")
        self.assertIn("users", self.inside("mariadb", "syncserver", "-e", "SHOW TABLES").stdout)

        # On a terminal it asks, and keeps everything if the answer is no.
        self.host.install([*PACKAGES.glob("syncserver_*.deb")])
        status, told = self.host.container.converse(
            {"[yes/no] ": "no"}, "/bin/sh", "-c", "DEBIAN_FRONTEND=teletype eatmydata apt-get purge --yes syncserver",
            seconds=START_SECONDS)
        self.assertEqual(status, 0, told)
        self.assertIn("Delete SyncServer's database and keys? [yes/no]", told)
        self.inside("test", "-s", "/etc/syncd/secrets/sealing-key")
        self.assertIn("users", self.inside("mariadb", "syncserver", "-e", "SHOW TABLES").stdout)

        self.host.install([*PACKAGES.glob("sync*.deb")])
        self.host.container.run(
            "syncctl", "setup", "--unattended", "--sandbox", "--host", "localhost", "--certificate", CERTIFICATE, "--key",
            KEY)
        self.host.container.run(
            "debconf-set-selections", text_input="syncserver syncserver/purge-data boolean true\n")
        self.inside("eatmydata", "apt-get", "purge", "--yes", "syncserver", "syncsandbox")
        self.assertEqual(self.left(), [])
        self.assertNotIn("syncserver", self.inside("mariadb", "-e", "SHOW DATABASES").stdout)
        self.assertEqual(self.inside("mariadb", "-e", "SELECT user FROM mysql.user WHERE user LIKE 'sync%'").stdout, "")

    def test_first_upload(self) -> None:
        """The tests of autopkgtest(1) pass on a host without any of our files."""
        self.host.write("/etc/hosts", "127.0.0.1 localhost\n")
        tree = self.host.container.path("/root/tree")
        for part in ("debian/tests", "scripts"):
            shutil.copytree(REPOSITORY / part, tree / part, ignore=shutil.ignore_patterns("__pycache__"))
        self.host.install([*PACKAGES.glob("sync*.deb")], "curl", "python3-pil")
        self.inside("sh", "-c", "cd /root/tree && debian/tests/first-upload")

    def test_readme_of_the_sandbox(self) -> None:
        """The commands in README.Debian of syncsandbox can be typed as written, and do the same as setup."""
        readme = self.host.container.path("/usr/share/doc/syncsandbox/README.Debian").read_text(encoding="utf-8")
        typed = re.findall(r"(?m)^    (.*)$", readme)
        self.assertEqual(
            [line.split()[0] for line in typed],
            ["apt", "ln", "systemctl", "curl", "syncctl", '"sandbox":', "systemctl"])
        self.assertEqual(json.loads("{" + typed[5] + "}"), {"sandbox": self.host.configuration()["sandbox"]})

        self.inside("rm", "/etc/nginx/sites-enabled/syncsandbox.conf")
        self.inside("systemctl", "reload", "nginx")
        for command in typed[1:4]:
            self.inside("sh", "-c", command)
        self.inside("sh", "-c", typed[6])

    def left(self) -> list[str]:
        """Our files and folders, except the secrets themselves."""
        return sorted(self.inside(
            "find", "/etc", "/lib/systemd", "/usr", "/var", "(", "-path", "*/syncd*", "-o", "-path", "*/sync[sc]*", ")",
            "!", "-path", "/etc/syncd/secrets/*", "!", "-path", "/var/log/nginx/*", "!", "-path", "/var/lib/mysql/*",
            "!", "-path", "/var/cache/*").stdout.splitlines())

    def running_units(self) -> str:
        return self.inside(
            "systemctl", "list-units", "--plain", "--no-legend", "--no-pager", "--state=active,activating,failed",
            "syncd*").stdout


def sql(statements: str, before: str = "DO 0") -> str:
    """The command that runs the statements as the database's administrator."""
    return f"mariadb syncserver -e '{before}; {statements}'"


def load_tests(loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    """In source order: each test leaves the host in the state that the next one requires."""
    del loader
    names = [name for name in vars(HostTests) if name.startswith("test_")]
    return unittest.TestSuite(map(HostTests, names))


if __name__ == "__main__":
    unittest.main(verbosity=2)
