"""systemd/reload, with programs in place of syncctl and systemctl that write down how they are called.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "systemd" / "reload"
SYSTEMCTL = """\
#!/bin/sh
echo "$*" >>"$DIRECTORY/calls"
case "$1" in
    list-units) printf '%s\\n' 'syncd-api@1.service loaded' 'syncd-api@2.service loaded' 'syncd-jobs@1.service loaded' ;;
    show) [ "${5#syncd-api@2}" != "$5" ] && [ -e "$DIRECTORY/waits" ] && echo 'Waiting for the database' || echo Ready ;;
    restart) [ ! -e "$DIRECTORY/fails" ] || [ "${3#syncd-api@2}" = "$3" ] ;;
esac
"""
SYNCCTL = """\
#!/bin/sh
echo "syncctl $*" >>"$DIRECTORY/calls"
[ ! -e "$DIRECTORY/mistake" ] || { echo 'the database cannot be used'; exit 69; }
"""


class ReloadTests(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = Path(temporary.name)
        for name, text in (("systemctl", SYSTEMCTL), ("syncctl", SYNCCTL)):
            (self.directory / name).write_text(text, encoding="ascii")
            (self.directory / name).chmod(0o755)
        script = SCRIPT.read_text(encoding="utf-8").replace("/usr/bin/syncctl", str(self.directory / "syncctl"))
        (self.directory / "reload").write_text(script, encoding="utf-8")

    def reload(self, *arguments: str) -> subprocess.CompletedProcess:
        environment = os.environ | {
            "DIRECTORY": str(self.directory), "PATH": f"{self.directory}:{os.environ['PATH']}",
            "SYNCD_RELOAD_PATIENCE": "1"}
        return subprocess.run(
            ["/bin/sh", str(self.directory / "reload"), *arguments], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)

    def restarted(self) -> list[str]:
        calls = (self.directory / "calls").read_text(encoding="utf-8").splitlines()
        return [call.split()[-1] for call in calls if call.startswith("restart")]

    def test_all_instances_are_restarted_in_turn(self) -> None:
        done = self.reload()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.restarted(), ["syncd-api@1.service", "syncd-api@2.service", "syncd-jobs@1.service"])
        self.assertIn("check-config --connect", (self.directory / "calls").read_text(encoding="utf-8"))

    def test_a_configuration_that_does_not_work_restarts_nothing(self) -> None:
        (self.directory / "mistake").touch()
        for arguments in ((), ("syncd-api@1.service",)):
            done = self.reload(*arguments)
            self.assertEqual(done.returncode, 69)
            self.assertIn("Not reloaded", done.stdout)
            self.assertIn("the database cannot be used", done.stdout)
        self.assertEqual(self.restarted(), [])

    def test_an_instance_that_does_not_become_healthy_is_the_last(self) -> None:
        (self.directory / "waits").touch()
        done = self.reload()
        self.assertEqual(done.returncode, 1)
        self.assertIn("syncd-api@2.service does not become healthy (Waiting for the database)", done.stdout)
        self.assertEqual(self.restarted(), ["syncd-api@1.service", "syncd-api@2.service"])

    def test_an_instance_that_does_not_start_is_the_last(self) -> None:
        (self.directory / "fails").touch()
        done = self.reload()
        self.assertEqual(done.returncode, 1)
        self.assertIn("syncd-api@2.service does not start", done.stdout)
        self.assertEqual(self.restarted(), ["syncd-api@1.service", "syncd-api@2.service"])


if __name__ == "__main__":
    unittest.main()
