"""scripts/release, in a repository of its own."""

import re
import shutil
import subprocess
import tempfile
import unittest
from datetime import datetime, timezone
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FILES = ["scripts/release", "VERSION", "debian/changelog", "docs/openapi.json",
         "Sources/Server/Configuration/ServerRelease.swift", "Sources/Programs/syncdir/Syncdir.swift",
         "Sources/Client/SyncClient/Documentation.docc/GettingStarted.md"]
CHANGELOG = "# Changelog\n\nIntroduction.\n\n## Unreleased\n\n### Added\n\n- Something.\n"


class ReleaseTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in FILES:
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, self.folder / name)
        self.first = self.read("VERSION").strip()
        major, minor, _ = map(int, self.first.split("."))
        self.next = f"{major}.{minor + 1}.0"
        self.git("init", "--quiet")
        self.git("config", "user.name", "A developer")
        self.git("config", "user.email", "developer@syncserver.invalid")
        self.write("CHANGELOG.md", CHANGELOG)

    def git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True).stdout

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> None:
        """Writes and commits a file."""
        (self.folder / name).write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", name)

    def add_entry(self) -> None:
        self.write("CHANGELOG.md", self.read("CHANGELOG.md").replace("Unreleased\n", "Unreleased\n\n- More.\n", 1))

    def call(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.folder / "scripts/release", *arguments], cwd="/", capture_output=True, text=True,
                              check=False)

    def release(self, version: str) -> None:
        done = self.call(version)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_refused(self, version: str, reason: str) -> None:
        before = self.git("log", "--format=%H"), self.git("tag"), self.git("status", "--porcelain")
        done = self.call(version)
        self.assertEqual(done.returncode, 1)
        self.assertIn(reason, done.stderr)
        self.assertEqual((self.git("log", "--format=%H"), self.git("tag"), self.git("status", "--porcelain")), before)

    def test_first_release_has_the_version_that_the_tree_states(self) -> None:
        self.release(self.first)

        self.assertEqual(self.git("tag").split(), [self.first])
        self.assertEqual(self.git("cat-file", "-t", self.first), "tag\n")
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(self.git("diff", "--name-only", "HEAD~").split(), ["CHANGELOG.md", "debian/changelog"])
        today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
        self.assertIn(f"\n\n## Unreleased\n\n## {self.first} ({today})\n\n### Added\n\n- Something.\n",
                      self.read("CHANGELOG.md"))
        self.assertEqual(self.read("debian/changelog").count("syncserver ("), 1)

    def test_next_release_is_stated_everywhere(self) -> None:
        self.release(self.first)
        self.add_entry()
        self.release(self.next)

        self.assertEqual(self.git("tag").split(), [self.first, self.next])
        self.assertEqual(self.read("VERSION"), f"{self.next}\n")
        changed = set(self.git("diff", "--name-only", "HEAD~").split())
        self.assertEqual(changed, {*FILES, "CHANGELOG.md"} - {"scripts/release"})
        self.assertEqual(self.call("--check").returncode, 0)
        self.assertIn(f"## Unreleased\n\n## {self.next} (", self.read("CHANGELOG.md"))
        self.assertLess(self.read("CHANGELOG.md").index(self.next), self.read("CHANGELOG.md").index(self.first))
        parsed = subprocess.run(
            ["dpkg-parsechangelog", "--file", self.folder / "debian/changelog", "--show-field", "Version"],
            capture_output=True, text=True, check=False)
        self.assertEqual((parsed.stdout, parsed.stderr), (f"{self.next}\n", ""))

    def test_what_the_tree_states_is_one_version(self) -> None:
        self.write("VERSION", f"{self.next}\n")
        done = self.call("--check")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(re.findall(rf"states {self.first}; VERSION states {self.next}", done.stderr)), 5)
        self.assert_refused(self.next, f"debian/changelog states {self.first}")

    def test_dry_run_changes_nothing(self) -> None:
        head = self.git("rev-parse", "HEAD")
        done = self.call("--dry-run", self.next)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"+## {self.next} (", done.stdout)
        self.assertIn(f"+{self.next}\n", done.stdout)
        self.assertEqual((self.git("rev-parse", "HEAD"), self.git("status", "--porcelain"), self.git("tag")),
                         (head, "", ""))

    def test_changes_in_the_tree_are_refused(self) -> None:
        (self.folder / "new").touch()
        self.assert_refused(self.first, "has changes")

    def test_versions_that_are_not_newer_are_refused(self) -> None:
        self.release(self.first)
        self.add_entry()
        self.assert_refused(self.first, f"The tag {self.first} exists")
        self.release(self.next)
        self.add_entry()
        self.assert_refused("0.9.0", f"is not newer than {self.next}")

    def test_what_is_no_version_is_refused(self) -> None:
        for version in ("9.2", "v9.2.0", "9.02.0", "9.2.0-beta"):
            self.assert_refused(version, f"{version} is not three numbers")

    def test_version_older_than_the_stated_one_is_refused(self) -> None:
        self.assert_refused("0.9.0", "is older than")

    def test_changelog_without_entries_is_refused(self) -> None:
        for text in ("# Changelog\n", "# Changelog\n\n## Unreleased\n\n### Added\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n"):
            self.write("CHANGELOG.md", text)
            self.assert_refused(self.first, "no entry")

    def test_release_makes_the_changelog_empty(self) -> None:
        self.release(self.first)
        self.assert_refused(self.next, "no entry")


if __name__ == "__main__":
    unittest.main()
