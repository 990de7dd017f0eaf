"""A person with only the README: from a bare Debian 12 to a first upload over HTTPS, and the next steps.

Each command is taken from README.md; this test's certificate authority replaces Let's Encrypt, and the sandbox the
providers.

usage: scripts/test-host test_first_hour
"""

import json
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from host import METRICS_URL, REPOSITORY, SANDBOX_URL  # noqa: E402
from machine import HOST, PICTURE, Machine, quick_start  # noqa: E402

from demonstration.web import Website  # noqa: E402
from documents.commands import commands  # noqa: E402

MINUTES = 15.0
MOST_COMMANDS = 6
SITE = "/etc/nginx/sites-available/syncd.conf"


class FirstHourTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = Machine.shared()
        cls.container = cls.machine.container

    def type(self, command: str, answers: dict[str, str] | None = None) -> str:
        status, written = self.machine.type(command, answers)
        self.assertEqual(status, 0, f"{command}:\n{written[-6000:]}")
        return written

    def inside(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.container.run(*command, check=check)

    def status_over_https(self, host: str, path: str) -> str:
        return self.inside(
            "curl", "--silent", "--show-error", "--output", "/dev/null", "--write-out", "%{http_code}",
            f"https://{host}{path}", check=False).stdout.strip()

    def doctor(self) -> tuple[int, str]:
        done = self.inside("syncctl", "doctor", "--ignore", "sandboxInUse", check=False)
        return done.returncode, done.stdout

    def test_first_upload(self) -> None:
        """The README's commands result in an upload over HTTPS within a few minutes."""
        typed = quick_start()
        self.assertLessEqual(len(typed), MOST_COMMANDS, typed)
        begun = time.monotonic()
        for command in typed:
            since = time.monotonic()
            written = self.machine.type_of_quick_start(command)
            print(f"\n{time.monotonic() - since:6.1f} s  {command[:80]}", end="")
        self.machine.is_set_up = True
        minutes = (time.monotonic() - begun) / 60
        print(f"\n{minutes:.1f} minutes, {len(typed)} commands ", end="")
        self.assertLess(minutes, MINUTES)
        self.assertIn('"numberUploadsTransferred":1', written)
        sandbox = Website(SANDBOX_URL)
        (account,) = [account for account in sandbox.json("GET", "/sandbox/accounts") if account["name"] == "Alice"]
        files = sandbox.json("GET", f"/sandbox/accounts/{account['id']}/files")
        self.assertIn(len(PICTURE), [file.get("size") for file in files], files)

    def test_all_is_well(self) -> None:
        """After setup, doctor finds nothing, and metrics and health are available at the documented addresses."""
        status, told = self.doctor()
        self.assertEqual(status, 0, told)
        site = Website(METRICS_URL)
        for document in ("docs/operations.md", "README.md"):
            self.assertIn(f"{METRICS_URL}/metrics", (REPOSITORY / document).read_text(encoding="utf-8"), document)
        reply = site.call("GET", "/metrics")
        self.assertEqual(reply.status, 200)
        self.assertRegex(reply.body.decode(), r'syncd_requests_total\{endpoint="UploadFile",status="200"\} 1\b')
        for page in ("/live", "/ready"):
            self.assertEqual(site.call("GET", page).status, 200, page)

    def test_once_more(self) -> None:
        """Setup remembers the previous answers, and changes nothing without new ones."""
        files = ("/etc/syncd/syncd.json", SITE)
        before = [self.container.path(file).read_bytes() for file in files]
        written = self.type("syncctl setup", {"[nothing]: ": ""})
        self.assertIn(f"This is {HOST}, with: Google, Dropbox, Microsoft, Facebook", written)
        self.assertEqual([self.container.path(file).read_bytes() for file in files], before)

    def test_new_secret(self) -> None:
        """Setup changes a secret, and the services use it afterwards."""
        self.container.path("/root/facebook").write_text("another secret\n", encoding="ascii")
        written = self.type("syncctl setup --unattended --facebook-app-id 123456789012345 "
                            "--facebook-app-secret-file /root/facebook")
        self.assertIn("reload the server's configuration", written)
        self.inside("cmp", "/root/facebook", "/run/credentials/syncd-api@1.service/secret_facebook-client-secret")
        self.assertEqual(self.status_over_https(HOST, "/HealthCheck"), "200")
        self.assertIn("Facebook rejects this server's registration", self.doctor()[1])
        # Back to the previous secret, of which a copy exists.
        self.type("syncctl setup --unattended --facebook-app-id 123456789012345 "
                  "--facebook-app-secret-file /etc/syncd/secrets/facebook-client-secret.previous")
        status, told = self.doctor()
        self.assertEqual(status, 0, told)

    def test_wrong_answers(self) -> None:
        """Wrong options are reported together, and the server continues unchanged."""
        done = self.inside("syncctl", "setup", "--unattended", "--host", "https://new.example.com", "--facebook-app-id", "x",
                           check=False)
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("--host: https://new.example.com must be only a name", done.stdout)
        self.assertIn("--facebook-app-id: x must be an app ID", done.stdout)

    def test_other_host(self) -> None:
        """The host is renamed, with a new certificate; until that exists, the former name is served."""
        before = self.container.path(SITE).read_text(encoding="utf-8")
        written = self.type("syncctl setup --unattended --host renamed.example.com")
        self.assertIn("with --certbot", written)
        self.assertEqual(self.status_over_https(HOST, "/HealthCheck"), "200")
        self.type("syncctl setup --unattended --host renamed.example.com --certbot")
        self.assertEqual(self.status_over_https("renamed.example.com", "/HealthCheck"), "200")
        self.assertIn("server_name sync.example.com", before)
        self.assertNotIn("sync.example.com", self.container.path(SITE).read_text(encoding="utf-8"))
        self.inside("test", "-e", "/etc/syncd/syncd.conf.previous")
        status, told = self.doctor()
        self.assertEqual(status, 0, told)

    def test_site_of_the_administrator(self) -> None:
        """A manually changed site is not overwritten, and the required lines are printed."""
        site = self.container.path(SITE)
        mine = site.read_text(encoding="utf-8") + "# mine\n"
        site.write_text(mine, encoding="utf-8")
        written = self.type(f"syncctl setup --unattended --host {HOST}")
        self.assertIn("was changed by an administrator", written)
        self.assertIn(f"server_name {HOST};", written)
        self.assertEqual(site.read_text(encoding="utf-8"), mine)
        # Back to the host name used in the documents.
        site.write_text(mine.removesuffix("# mine\n"), encoding="utf-8")
        self.type(f"syncctl setup --unattended --host {HOST}")
        self.assertEqual(self.status_over_https(HOST, "/HealthCheck"), "200")


class TrialTests(unittest.TestCase):
    """A trial on a laptop: no name in DNS, and not reachable for an authority."""

    SETUP = "syncctl setup --sandbox --trial"
    FOLDER = f"/var/lib/syncd/authority/{HOST}"

    @classmethod
    def setUpClass(cls) -> None:
        cls.machine = Machine("trial", None)
        cls.addClassCleanup(cls.machine.end)

    def inside(self, command: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.machine.run("/bin/sh", "-c", command, check=check)

    def ask(self, *options: str) -> str:
        """The status of the server's reply to a program on this host, or curl's own status."""
        done = self.machine.run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", *options, f"https://{HOST}/HealthCheck",
                                check=False)
        return done.stdout.strip() if done.returncode == 0 else f"curl {done.returncode}"

    def test_trial(self) -> None:
        """The README's commands result in an upload, and the trust in the authority can be revoked."""
        self.assertIn(self.SETUP, [command.text for command in commands(REPOSITORY / "README.md")])
        for command in quick_start():
            written = self.machine.type_of_quick_start(self.SETUP if command == "syncctl setup --sandbox" else command)
            # The reply to an upload consists of headers only.
            if "curl -sSw" in command and "/UploadFile" not in command:
                self.assertTrue(written.endswith("}\n"), written)
        self.assertIn('"numberUploadsTransferred":1', written)

        doctor = json.loads(self.inside("syncctl doctor --json --ignore sandboxInUse").stdout)["diagnoses"]
        self.assertIn("certificateOfTrial", [each.get("code") for each in doctor])
        self.assertEqual([each["finding"] for each in doctor if each["verdict"] in ("warning", "bad") and not each["ignored"]], [])
        self.assertIn("accepts 4096 connections", "".join(each["finding"] for each in doctor))
        self.assertIn(f"{self.FOLDER}/root.pem", self.inside("syncctl authority show").stdout)
        self.assertEqual(self.inside(f"stat -c %a%U {self.FOLDER}/root.key").stdout, "600root\n")

        self.assertEqual(self.ask(), "200")
        self.inside("syncctl authority distrust")
        self.assertEqual(self.ask(), "curl 6")
        at = ("--connect-to", "::127.0.0.1:443")
        self.assertEqual(self.ask(*at), "curl 60")
        self.assertEqual(self.ask(*at, "--cacert", f"{self.FOLDER}/root.pem"), "200")
        self.inside("syncctl authority trust")
        self.assertEqual(self.ask(), "200")

        # The timer replaces an expiring certificate, under the restrictions of its unit.
        shorten = (f"cd {self.FOLDER} && openssl req -new -key server.key -subj /CN={HOST} | openssl x509 -req -CA root.pem "
                   "-CAkey root.key -set_serial 2 -days 59 -out server.pem")
        root = self.inside(f"cat {self.FOLDER}/root.pem").stdout
        self.inside("systemctl is-enabled syncd-authority.timer")
        for also in ("", " && rm root.key"):  # Second: a new, trusted authority replaces one that cannot sign.
            self.inside(shorten + also)
            self.inside("systemctl start syncd-authority.service")
            self.inside(f"openssl x509 -in {self.FOLDER}/server.pem -noout -checkend {396 * 86_400}")
            self.assertEqual(self.inside(f"cat {self.FOLDER}/root.pem").stdout == root, not also)
            self.assertEqual(self.ask(), "200")

        self.inside("apt-get purge --yes syncserver")
        self.assertEqual(self.inside(f"grep -c {HOST} /etc/hosts; ls /usr/local/share/ca-certificates", check=False).stdout, "0\n")


def load_tests(loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    """In source order: an operator's first hour."""
    del loader
    names = [name for name in vars(FirstHourTests) if name.startswith("test_")]
    return unittest.TestSuite([*map(FirstHourTests, names), TrialTests("test_trial")])


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
