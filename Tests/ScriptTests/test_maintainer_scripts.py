"""The package's maintainer scripts, with programs in place of syncctl and systemd's that record their calls. The host
tests run them as dpkg does.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

DEBIAN = Path(__file__).resolve().parents[2] / "debian"
APP = "notes"
PROGRAMS = {
    "syncctl": """\
echo "syncctl $* app=${SYNCD_APP:-}" >>"$DIRECTORY/calls"
[ "$1 $2" != "config check" ] || [ ! -e "$DIRECTORY/mistake-${SYNCD_APP:-default}" ]
""",
    "systemctl": """\
[ "$1" != is-active ] || grep -qx "$3" "$DIRECTORY/active"
""",
    "deb-systemd-invoke": """\
echo "$*" >>"$DIRECTORY/calls"
[ "$1" != stop ] || for unit in "$@"; do sed -i "/^$unit\\$/d" "$DIRECTORY/active"; done
""",
}


class MaintainerScriptTests(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)
        for folder in ("programs", "run/systemd/system", "etc/systemd/system", "var/lib/syncd"):
            (self.directory / folder).mkdir(parents=True)
        for name, text in PROGRAMS.items():
            (self.directory / "programs" / name).write_text(f"#!/bin/sh\n{text}", encoding="ascii")
            (self.directory / "programs" / name).chmod(0o755)
        (self.directory / f"etc/systemd/system/syncd-{APP}.target").touch()
        self.activate("syncd.target", f"syncd-{APP}.target")

    def activate(self, *units: str) -> None:
        (self.directory / "active").write_text("".join(f"{unit}\n" for unit in units), encoding="ascii")

    def call(self, script: str, *arguments: str, **variables: str) -> list[str]:
        """Runs a script; returns its calls."""
        text = (DEBIAN / f"syncserver.{script}").read_text(encoding="utf-8").replace("#DEBHELPER#", "")
        for folder in ("/run/systemd", "/etc/systemd", "/etc/syncd", "/var/lib/syncd", "/usr/share/debconf"):
            text = text.replace(folder, f"{self.directory}{folder}")
        (self.directory / "calls").write_text("", encoding="ascii")
        environment = os.environ | variables | {
            "DIRECTORY": str(self.directory), "PATH": f"{self.directory / 'programs'}:{os.environ['PATH']}"}
        done = subprocess.run(["/bin/sh", "-c", text, script, *arguments], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return (self.directory / "calls").read_text(encoding="utf-8").splitlines()

    def test_an_upgrade_restarts_all_apps_before_nginx_reads_new_settings(self) -> None:
        calls = self.call("postinst", "configure", "1.0.0")
        reloads = [calls.index(f"reload {unit}.service") for unit in ("syncd", f"syncd-{APP}")]
        sites = [calls.index(f"syncctl refresh-site app={app}") for app in ("", APP)]
        self.assertLess(max(reloads), min(sites))

    def test_while_one_app_is_of_the_former_release_no_site_is_written(self) -> None:
        """Writing a site makes nginx read the settings of all apps."""
        for app, other in (("default", f"syncd-{APP}"), (APP, "syncd")):
            with self.subTest(app):
                mistake = self.directory / f"mistake-{app}"
                mistake.touch()
                calls = self.call("postinst", "configure", "1.0.0")
                mistake.unlink()
                self.assertEqual([call for call in calls if "refresh-site" in call], [])
                self.assertEqual([call for call in calls if call.startswith("reload")], [f"reload {other}.service"])

    def test_another_nginx_has_the_sites_written(self) -> None:
        self.assertEqual(self.call("postinst", "triggered", "/usr/sbin/nginx"),
                         ["syncctl refresh-site app=", f"syncctl refresh-site app={APP}"])

    def test_the_app_of_roots_shell_is_nothing_to_the_scripts(self) -> None:
        calls = self.call("postinst", "configure", "1.0.0", SYNCD_APP=APP)
        self.assertIn("syncctl config check app=", calls)
        self.assertIn("syncctl apps refresh app=", calls)
        calls = self.call("prerm", "remove", SYNCD_APP=APP)
        self.assertIn("syncctl removal-statements app=", calls)

    def test_what_ran_when_the_package_was_removed_runs_again(self) -> None:
        """This applies to targets and timers of all apps; stopped units stay stopped."""
        before = ["syncd.target", "syncd-backup.timer", f"syncd-{APP}-authority.timer"]
        self.activate(*before)
        self.call("prerm", "remove")
        self.assertEqual((self.directory / "active").read_text(encoding="ascii"), "")
        calls = self.call("postinst", "configure", "1.0.0")
        self.assertEqual([call for call in calls if call.startswith("start")], [f"start {unit}" for unit in before])
        # They are started only once.
        calls = self.call("postinst", "configure", "1.0.0")
        self.assertEqual([call for call in calls if call.startswith("start")], [])


if __name__ == "__main__":
    unittest.main()
