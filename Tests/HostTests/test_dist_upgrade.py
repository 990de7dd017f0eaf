"""From Debian 12 to Debian 13 under a running server: MariaDB 10.11 to 11.8, nginx 1.22 to 1.26, OpenSSL, systemd and
libc, with the commands of docs/operations.md, section 4. Meanwhile, phones continue and retry failed requests;
everything acknowledged to them must exist afterwards. Prints the duration of the upgrade, and how long phones were not
served.

usage: scripts/test-host test_dist_upgrade
"""

import json
import re
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

# pylint: disable=wrong-import-position
from container import wait_for  # noqa: E402
from host import CA_FILE, INSTANCES, PACKAGES, REPOSITORY, SANDBOX_URL, START_SECONDS, STATE, URL, Host  # noqa: E402
from image import RELEASES, run, upgrade_archive  # noqa: E402

# pylint: disable=import-error
from demonstration.phone import Phone, new_uuid  # noqa: E402
from demonstration.web import Website  # noqa: E402
from documents.commands import commands  # noqa: E402

OLDER, NEWER = RELEASES
PEOPLE = 3
PAUSE_SECONDS = 0.5
PATIENCE_SECONDS = 120.0
SITE = "/etc/nginx/sites-available/syncd.conf"


class PatientPhone(threading.Thread):
    """Uploads and commits continuously, like an app: retries failures from the state reported by the server."""

    def __init__(self, number: int):
        super().__init__(daemon=True)
        self.group = new_uuid()
        sandbox = Website(SANDBOX_URL)
        account = sandbox.json("POST", "/sandbox/accounts", {"provider": "google", "name": f"Patient {number}"})["id"]
        self.phone = Phone(f"patient {number}", Website(URL, str(CA_FILE)), sandbox, account)
        self.contents = bytes([number]) * 50_000
        self.acknowledged: list[str] = []
        self.failures: list[str] = []
        self.longest_pause = 0.0
        self.over = threading.Event()
        self._last = time.monotonic()
        self.phone.ask("POST", "AddUser", sharingGroupUUID=self.group, cloudFolderName="Patient")

    def run(self) -> None:
        version, staged = 0, []
        self._last = time.monotonic()
        while not self.over.wait(PAUSE_SECONDS):
            file = new_uuid()
            try:
                reply = self.phone.upload(self.contents, fileUUID=file, fileVersion=0, mimeType="image/jpeg",
                                          masterVersion=version, sharingGroupUUID=self.group)
                if "masterVersionUpdate" not in reply:
                    staged.append(file)
                    reply = self.phone.ask("POST", "DoneUploads", masterVersion=version, sharingGroupUUID=self.group)
                if "masterVersionUpdate" in reply:
                    version = reply["masterVersionUpdate"]
                    continue
                version += 1
                self.acknowledged += staged
                staged = []
                self.longest_pause = max(self.longest_pause, time.monotonic() - self._last)
                self._last = time.monotonic()
            except Exception as error:  # the phone retries after any error
                self.failures.append(f"{type(error).__name__}: {error}")

    def missing(self) -> list[str]:
        """The acknowledged files that are missing or differ."""
        index = self.phone.index(self.group)
        listed = {entry["fileUUID"]: entry for entry in index["fileIndex"]}
        return [file for file in self.acknowledged
                if file not in listed or self.phone.download(listed[file], self.group, index["masterVersion"])[0] != self.contents]


class DistUpgradeTests(unittest.TestCase):
    host: Host

    @classmethod
    def setUpClass(cls) -> None:
        packages = [*PACKAGES.glob("sync*.deb")]
        cls.following = upgrade_archive(STATE, OLDER, NEWER, packages)
        cls.host = Host("dist-upgrade", OLDER)
        cls.addClassCleanup(cls.host.container.halt)
        cls.host.set_up()

    def inside(self, *command: str, check: bool = True) -> str:
        return self.host.container.run(*command, check=check).stdout

    def versions(self) -> str:
        return self.inside("sh", "-c", "mariadb -BNe 'SELECT VERSION()'; nginx -v; openssl version; cat /etc/debian_version")

    def type_documented(self) -> None:
        """Types the handbook's commands; the archive has the result of the first ones, apt's new sources and lists."""
        self.rename_sources()
        typed = [command.text for command in commands(REPOSITORY / "docs/operations.md") if command.is_displayed]
        first = typed.index("apt upgrade --without-new-pkgs")
        last = typed.index("syncctl fsck", first)
        run("tar", "--extract", "--numeric-owner", "--file", self.following, "--directory", self.host.container.root)
        for text in typed[first:last + 1]:
            # A person presses Enter, which keeps a changed file.
            quick = text.replace("apt ", "eatmydata apt-get --yes -o Dpkg::Options::=--force-confdef "
                                         "-o Dpkg::Options::=--force-confold ")
            begun = time.monotonic()
            output = self.inside("sh", "-c", quick)
            print(f"\n  {time.monotonic() - begun:6.1f} s  {text}", end="", flush=True)
            self.log.append(f"# {text}\n{output}")

    def rename_sources(self) -> None:
        """Runs the handbook's first command, even on sources with several suites per line (sources.list(5), deb822)."""
        handbook = (REPOSITORY / "docs/operations.md").read_text(encoding="utf-8")
        (command,) = re.findall(rf"(?m)^ *(sed .*{OLDER}.* /etc/apt/.*)$", handbook)
        several = "/etc/apt/sources.list.d/debian.sources"
        self.host.write(several, "Types: deb\nURIs: http://archive.example.org/debian\n"
                                 f"Suites: {OLDER} {OLDER}-updates {OLDER}-backports\nComponents: main\n")
        self.inside("sh", "-c", command)
        for path in (several, "/etc/apt/sources.list"):
            self.assertNotIn(OLDER, self.inside("cat", path), path)
        self.inside("rm", several)

    def test_upgrade(self) -> None:
        """Nothing acknowledged is lost, the server is healthy afterwards, and nginx reports no problem."""
        self.log: list[str] = []
        before = self.versions()
        self.assertRegex(before, r"\A10\.11\.(?s:.*)nginx/1\.22\.")
        former = self.host.pids()
        phones = [PatientPhone(number) for number in range(PEOPLE)]
        for phone in phones:
            phone.start()
        wait_for("phones commit", lambda: all(len(phone.acknowledged) > 3 for phone in phones), PATIENCE_SECONDS)
        begun = time.monotonic()
        try:
            self.type_documented()
        finally:
            took = time.monotonic() - begun
            seen = [len(phone.acknowledged) for phone in phones]
            (STATE / "dist-upgrade.log").write_text("\n".join(self.log), encoding="utf-8")
        wait_for("phones commit again", lambda: all(len(phone.acknowledged) > count + 3 for phone, count in zip(phones, seen)),
                 PATIENCE_SECONDS)
        for phone in phones:
            phone.over.set()
            phone.join()

        after = self.versions()
        self.assertRegex(after, r"\A11\.8\.(?s:.*)nginx/1\.26\.")
        self.assertEqual([phone.missing() for phone in phones], [[] for _ in phones])
        self.assertEqual(self.inside("nginx", "-t", "-q"), "")
        site = self.host.container.path(SITE).read_text(encoding="utf-8")
        self.assertIn("    http2 on;", site)
        self.assertNotRegex(site, r"(?m)^ *listen .*http2")
        for instance in INSTANCES:
            wait_for(f"{instance} runs", lambda name=instance: self.host.is_active(name), START_SECONDS)
        now = self.host.pids()
        self.assertTrue(all(now[instance] not in (0, pid) for instance, pid in former.items()), "some use the old libraries")
        doctor = json.loads(self.inside("syncctl", "doctor", "--json", "--ignore", "sandboxInUse", check=False))
        self.assertEqual([each["finding"] for each in doctor["diagnoses"]
                          if each["verdict"] in ("warning", "bad") and not each["ignored"]], [])
        self.inside("syncctl", "fsck", "--clouds")
        # The site is the one that setup would write now.
        self.assertIn(f"kept     {SITE} exists", self.inside("syncctl", "setup", "--unattended"))
        self.assertIn("everything arrived as it was sent", self.host.demonstrate())
        print(f"\n  {took:.0f} s in all; phones were not served for {max(phone.longest_pause for phone in phones):.1f} s at most, "
              f"{sum(len(phone.acknowledged) for phone in phones)} commits acknowledged, "
              f"{sum(len(phone.failures) for phone in phones)} failures\n  before: {' '.join(before.split())}\n"
              f"  after:  {' '.join(after.split())} ", end="")


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=True)
