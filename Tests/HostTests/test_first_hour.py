"""A person with the README and nothing else: from a bare Debian 12 to a first upload over HTTPS, and what comes next.

Each command is taken from README.md; a certificate authority of this test stands in for Let's Encrypt, and the sandbox for
the providers.

usage: scripts/test-host test_first_hour
"""

import re
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from authority import DIRECTORY, Authority  # noqa: E402
from container import Container  # noqa: E402
from host import METRICS_URL, REPOSITORY, SANDBOX_URL, STATE  # noqa: E402
from image import unpack  # noqa: E402

from demonstration.web import Website  # noqa: E402

MINUTES = 15.0
MOST_COMMANDS = 6
SILENCE_SECONDS = 180.0
HOST = "sync.example.com"
PICTURE = bytes(range(256)) * 4_000
SITE = "/etc/nginx/sites-available/syncd.conf"
# What a person answers, by the ends of the questions; all else is answered with nothing, for what is in brackets.
ANSWERS = {
    "Do you want to continue? [Y/n] ": "",
    "(e.g. sync.example.com): ": HOST,
    "]: ": "",
}


def commands() -> list[str]:
    """The quick start's commands, without what is said about them."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (block,) = [block for block in re.findall(r"(?s)```sh\n(.*?)```", text) if "apt install" in block]
    lines = block.replace("\\\n", "").splitlines()
    return [command for command in (re.sub(r"(^|\s+)# .*", "", line).strip() for line in lines) if command]


class FirstHourTests(unittest.TestCase):
    container: Container
    authority: Authority

    @classmethod
    def setUpClass(cls) -> None:
        cls.container = Container(unpack(STATE, "first-hour"))
        cls.addClassCleanup(shutil.rmtree, cls.container.root, ignore_errors=True)
        cls.addClassCleanup(cls.container.halt)
        cls.container.boot()
        cls.container.enter_network()
        cls.authority = Authority(STATE / "authority")
        cls.authority.start()
        # What is there before a person begins: names in DNS, the authority, and in the folder the packages and a picture.
        with cls.container.path("/etc/hosts").open("a", encoding="ascii") as hosts:
            hosts.write(f"127.0.0.1 localhost {HOST} new.example.com\n")
        shutil.copy(cls.authority.root_file, cls.container.path("/usr/local/share/ca-certificates/authority.crt"))
        cls.container.run("update-ca-certificates")
        for package in (REPOSITORY / ".build" / "packages").glob("sync*.deb"):
            shutil.copy(package, cls.container.path("/root"))
        cls.container.path("/root/photo.jpg").write_bytes(PICTURE)

    def type(self, command: str, answers: dict[str, str] | None = None) -> str:
        status, written = self.container.converse(
            answers or ANSWERS, "/bin/sh", "-c", f"cd /root && {command}", seconds=SILENCE_SECONDS)
        self.assertEqual(status, 0, f"{command}:\n{written[-6000:]}")
        return written

    def inside(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.container.run(*command, check=check)

    def use_own_authority(self) -> None:
        """certbot's own configuration leads to Let's Encrypt."""
        with self.container.path("/etc/letsencrypt/cli.ini").open("a", encoding="ascii") as settings:
            settings.write(f"server = {DIRECTORY}\n")

    def status_over_https(self, host: str, path: str) -> str:
        return self.inside(
            "curl", "--silent", "--show-error", "--output", "/dev/null", "--write-out", "%{http_code}",
            f"https://{host}{path}", check=False).stdout.strip()

    def doctor(self) -> tuple[int, str]:
        done = self.inside("syncctl", "doctor", "--ignore", "sandboxInUse", check=False)
        return done.returncode, done.stdout

    def test_first_upload(self) -> None:
        """The README's commands lead to an upload over HTTPS, in a few minutes."""
        typed = commands()
        self.assertLessEqual(len(typed), MOST_COMMANDS, typed)
        begun = time.monotonic()
        for command in typed:
            since = time.monotonic()
            written = self.type(command)
            if command.startswith("apt "):
                self.use_own_authority()
            print(f"\n{time.monotonic() - since:6.1f} s  {command[:80]}", end="")
        minutes = (time.monotonic() - begun) / 60
        print(f"\n{minutes:.1f} minutes, {len(typed)} commands ", end="")
        self.assertLess(minutes, MINUTES)
        self.assertIn('"numberUploadsTransferred":1', written)
        sandbox = Website(SANDBOX_URL)
        (account,) = [account for account in sandbox.json("GET", "/sandbox/accounts") if account["name"] == "Alice"]
        files = sandbox.json("GET", f"/sandbox/accounts/{account['id']}/files")
        self.assertIn(len(PICTURE), [file.get("size") for file in files], files)

    def test_all_is_well(self) -> None:
        """After setup doctor finds nothing, and metrics and health answer where the documents say."""
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
        """Setup knows the answers of last time, and changes nothing without new ones."""
        files = ("/etc/syncd/syncd.json", SITE)
        before = [self.container.path(file).read_bytes() for file in files]
        written = self.type("syncctl setup", {"[nothing]: ": ""})
        self.assertIn(f"This is {HOST}, with: Google, Dropbox, Microsoft, Facebook", written)
        self.assertEqual([self.container.path(file).read_bytes() for file in files], before)

    def test_new_secret(self) -> None:
        """A secret is changed by setup, and the services have it afterwards."""
        self.container.path("/root/facebook").write_text("another secret\n", encoding="ascii")
        written = self.type("syncctl setup --unattended --facebook-app-id 123456789012345 "
                            "--facebook-app-secret-file /root/facebook")
        self.assertIn("let the server read its configuration again", written)
        self.inside("cmp", "/root/facebook", "/run/credentials/syncd-api@1.service/secret_facebook-client-secret")
        self.assertEqual(self.status_over_https(HOST, "/HealthCheck"), "200")
        self.assertIn("Facebook refuses the server", self.doctor()[1])
        # And back: the one before is there.
        self.type("syncctl setup --unattended --facebook-app-id 123456789012345 "
                  "--facebook-app-secret-file /etc/syncd/secrets/facebook-client-secret.previous")
        status, told = self.doctor()
        self.assertEqual(status, 0, told)

    def test_wrong_answers(self) -> None:
        """Wrong options are reported together, and the server runs on as it is."""
        done = self.inside("syncctl", "setup", "--unattended", "--host", "https://new.example.com", "--facebook-app-id", "x",
                           check=False)
        self.assertEqual(done.returncode, 64, done.stdout)
        self.assertIn("--host: https://new.example.com must be a name alone", done.stdout)
        self.assertIn("--facebook-app-id: x must be an app id", done.stdout)

    def test_other_host(self) -> None:
        """The host's name is changed, with a certificate of its own; until there is one the former name is served."""
        before = self.container.path(SITE).read_text(encoding="utf-8")
        written = self.type("syncctl setup --unattended --host new.example.com")
        self.assertIn("with --certbot", written)
        self.assertEqual(self.status_over_https(HOST, "/HealthCheck"), "200")
        self.type("syncctl setup --unattended --host new.example.com --certbot")
        self.assertEqual(self.status_over_https("new.example.com", "/HealthCheck"), "200")
        self.assertIn("server_name sync.example.com", before)
        self.assertNotIn("sync.example.com", self.container.path(SITE).read_text(encoding="utf-8"))
        self.inside("test", "-e", "/etc/syncd/syncd.conf.previous")
        status, told = self.doctor()
        self.assertEqual(status, 0, told)

    def test_site_of_the_administrator(self) -> None:
        """A site that was changed by hand is left alone, and what to put in is said."""
        site = self.container.path(SITE)
        mine = site.read_text(encoding="utf-8") + "# mine\n"
        site.write_text(mine, encoding="utf-8")
        written = self.type(f"syncctl setup --unattended --host {HOST}")
        self.assertIn("was changed by an administrator", written)
        self.assertIn(f"server_name {HOST};", written)
        self.assertEqual(site.read_text(encoding="utf-8"), mine)


def load_tests(loader: unittest.TestLoader, _tests, _pattern) -> unittest.TestSuite:
    """In the order of the source: an operator's first hour."""
    del loader
    names = [name for name in vars(FirstHourTests) if name.startswith("test_")]
    return unittest.TestSuite(map(FirstHourTests, names))


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
