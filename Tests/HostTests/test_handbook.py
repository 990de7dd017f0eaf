"""docs/operations.md except its chapters on backups: setting up, changing and maintaining a server.

usage: scripts/test-host test_handbook
"""

import json
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from container import wait_for  # noqa: E402
from consent import agree  # noqa: E402
from handbook import SECRETS, HandbookCase, in_order  # noqa: E402
from host import CONFIGURATION, INSTANCES, SANDBOX_URL, START_SECONDS  # noqa: E402
from machine import HOST  # noqa: E402

from demonstration.web import Website  # noqa: E402

LIVE = f"/etc/letsencrypt/live/{HOST}"

class HandbookTests(HandbookCase):
    def test_setting_up(self) -> None:
        """Section 2: setup's steps by hand, setup with options, and reverting."""
        page = self.chapter("setting-up")
        page.type("syncctl doctor", status=1)
        page.type("syncctl users")
        page.type("syncctl help setup", shown=False)
        page.type("systemd-sysusers syncd.conf")
        page.type("systemd-tmpfiles --create syncd.conf")
        page.type("syncctl keys generate")
        page.type("syncctl config check")
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
        # Back to certbot's certificate, which already exists.
        self.inside("syncctl setup --unattended --certbot")
        self.assertIn(LIVE, self.inside("cat /etc/nginx/sites-available/syncd.conf"))
        page.type("certbot renew && systemctl reload nginx", shown=False)
        page.compare()

    def test_forgotten_reload(self) -> None:
        """If setup was killed between its change and the reload, the next setup reloads."""
        before = self.pid("syncd-api@1")
        started = self.inside(
            "systemctl show --timestamp=unix --property=ExecMainStartTimestamp --value syncd-jobs@1").strip().lstrip("@")
        wait_for("it is another second", lambda: time.time() >= int(started) + 1, START_SECONDS)
        # The state after such a kill: changed, and not reloaded.
        self.inside(f"echo >>{CONFIGURATION}")
        written = self.inside("syncctl setup --unattended")
        self.assertIn("reload the server's configuration", written)
        self.assertNotEqual(self.pid("syncd-api@1"), before)
        self.assertNotIn("reload the server's configuration", self.inside("syncctl setup --unattended"))

    def test_removed_socket(self) -> None:
        """A removed socket makes a reload fail, since that cannot help; the remedy given by doctor does."""
        self.inside("rm /run/syncd/api.sock")
        self.inside("systemctl reload syncd", check=False)
        self.assertIn("the socket /run/syncd/api.sock is missing", self.inside("journalctl -u syncd -n 20"))
        self.assertIn(
            "systemctl restart syncd-api.socket recreates the socket",
            self.inside("syncctl doctor --ignore sandboxInUse", check=False))
        self.inside("systemctl restart syncd-api.socket")
        self.wait_until_healthy()
        self.inside("systemctl reload syncd")
        self.inside("syncctl doctor --ignore sandboxInUse")

    def test_unready_unit(self) -> None:
        """doctor names an instance that does not become ready; its suggested command shows the file that is the cause."""
        unit = "syncd-transfer@1"
        drop_in = f"/etc/systemd/system/{unit}.service.d/trouble.conf"
        self.inside(f"mkdir {drop_in.rpartition('/')[0]}")
        self.machine.write(drop_in, "[Service]\nExecStart=\nExecStart=/bin/sleep 600\n", 0o644)
        self.inside(f"systemctl daemon-reload; systemctl restart --no-block {unit}")
        wait_for(
            "doctor names it", lambda: "unitNotReady" in self.inside("syncctl doctor --json", check=False), START_SECONDS)
        self.assertIn(drop_in, self.inside(f"systemctl show {unit} -p DropInPaths"))
        # systemd 252 keeps its count of restarts if the command comes while it waits before the next one.
        self.inside(f"rm {drop_in}; systemctl daemon-reload; systemctl reset-failed {unit}; systemctl restart {unit}")
        self.wait_until_healthy()
        self.inside("syncctl doctor --ignore sandboxInUse")

    def test_least_privilege(self) -> None:
        """Section 3: a server with a single database account is changed to one account per role."""
        page = self.chapter("least-privilege")
        self.configure(lambda settings: settings["database"].pop("roles"))
        for role in ("api", "transfer", "jobs"):
            self.inside(f"mariadb -e 'DROP USER syncd_{role}@localhost'; rm {SECRETS}/database-password-{role}")
        # The state before accounts of roles existed.
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
        page.type("syncctl config check --connect")
        self.configure(lambda settings: settings.update(apiThraeds=3))
        page.type("systemctl reload syncd", status=1)
        self.assertIn("apiThraeds is not a setting", page.type("journalctl -u syncd", shown=False))
        self.configure(lambda settings: settings.pop("apiThraeds"))
        pids = {instance: self.pid(instance) for instance in INSTANCES}
        page.type("systemctl reload syncd-api@1")
        page.type("systemctl restart syncd-api@1")
        self.assertNotEqual(self.pid("syncd-api@1"), pids["syncd-api@1"])
        self.assertEqual(self.pid("syncd-api@2"), pids["syncd-api@2"])
        page.type("systemctl restart syncd")
        self.wait_until_healthy()
        self.assertNotEqual(self.pid("syncd-api@2"), pids["syncd-api@2"])
        # Replaces the editor; systemd 257 also passes it a line number. Only lines between two comments of systemctl
        # count.
        insert = "#!/bin/sh\nfor file; do :; done\nsed -i '/^### Anything between here/a {}' \"$file\"\n"
        self.machine.write("/root/editor", insert.format("[Unit]\\nWants=syncd-transfer@3.service"), 0o755)
        self.machine.write("/root/other-editor", insert.format("[Timer]\\nRandomizedDelaySec=1h"), 0o755)
        page.type("systemctl edit syncd.target", {"systemctl": "SYSTEMD_EDITOR=/root/editor systemctl"})
        page.type("systemctl start syncd-transfer@3")
        self.inside("systemctl is-active syncd-transfer@3")
        page.type("systemctl edit syncd-backup.timer", {"systemctl": "SYSTEMD_EDITOR=/root/other-editor systemctl"})

        page.type("syncctl maintenance on \"We are back at noon (UTC).\"")
        wait_for("the server is closed", lambda: "noon" in self.inside(f"curl -s https://{HOST}/Index"), 5)
        page.type("syncctl status")
        page.type("syncctl maintenance status")
        page.type("syncctl maintenance off")
        page.type("syncctl maintenance on --this-host", {"…": "We are back."})
        page.type("syncctl maintenance off")
        wait_for("the server is open", lambda: "credentials_missing" in self.inside(f"curl -s https://{HOST}/Index"), 5)
        page.type("apt install ./syncserver_*.deb", shown=False)
        page.compare()

    def test_logs(self) -> None:
        """Section 5: problems that need an operator are in the journal with the priority of errors."""
        page = self.chapter("logs")
        errors = "journalctl -u 'syncd-*' -p err"
        self.inside("journalctl --rotate && journalctl --vacuum-time=1s")
        self.inside(f"cp -p {SECRETS}/google-client-secret google; echo wrong >{SECRETS}/google-client-secret")
        self.inside("systemctl reload syncd")
        refused = json.loads(self.sign_up("bob", "a0c9a8a7-3c39-4e3e-a5f0-5a3f1ab7c0d1"))
        self.assertEqual(refused["code"], "provider_misconfigured", refused)
        complaint = self.chapter("complaint", "docs/complaints.md")
        written = complaint.type("journalctl -u 'syncd-*' | grep ID", {"ID": refused["requestId"]}, shown=False)
        self.assertIn("Google's token endpoint replied invalid_client", written)
        written = page.type(errors, shown=False)
        self.assertIn('"message":"Request failed"', written.replace(": ", ":"))
        self.assertIn("Google's token endpoint replied invalid_client", written)
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
        """Section 10: commands that need secrets, except doctor, exit with status 77 without access to them."""
        def ended(*command: str) -> subprocess.CompletedProcess:
            return self.machine.run("runuser", "-u", "nobody", "--", "syncctl", *command, check=False)

        for command in (("try", "dropbox"), ("status",), ("users",), ("config", "check"), ("fsck",), ("backup", "make", "/tmp/x")):
            refused = ended(*command)
            self.assertEqual(refused.returncode, 77, f"{command}: {refused.stdout}")
            self.assertIn("run syncctl as root", refused.stdout)
        self.assertEqual(ended("setup", "--unattended").returncode, 77)
        self.assertEqual(ended("backup", "restore", "/tmp/x").returncode, 77)
        self.assertIn("notPermitted", ended("doctor", "--json").stdout)
        self.assertEqual(ended("keys", "generate").returncode, 0)
        self.assertEqual(ended("openapi", "1.0.0").returncode, 0)

    def test_trying_providers(self) -> None:
        """Section 10: syncctl try checks test accounts of the sandbox, in a browser or with an app's token."""
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

            page.type(f"syncctl try {provider} ", answers={"The code (hidden): ": led_to})
        account = sandbox.json("POST", "/sandbox/accounts", {"provider": "facebook", "name": "Tester"})
        page.type("syncctl try facebook", answers={"(hidden): ": account["accessToken"]})
        page.compare()

    def test_troubles(self) -> None:
        """Sections 8 and 10: commands for troubleshooting."""
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

    def sign_up(self, name: str, group: str) -> str:
        """The server's reply to a new Google user, whose headers are in a file with the user's name."""
        self.inside(
            f"curl --silent -o {name} -H 'Accept: text/plain' -H 'Content-Type: application/json' "
            f"http://127.0.0.1:9080/sandbox/accounts -d '{{\"provider\": \"google\", \"name\": \"{name}\"}}'")
        return self.inside(
            f"curl --silent -H @{name} -X POST 'https://{HOST}/AddUser?cloudFolderName=Photos&sharingGroupUUID={group}'")


def load_tests(_loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    return in_order(HandbookTests)


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
