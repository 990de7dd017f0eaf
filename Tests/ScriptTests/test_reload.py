"""systemd/reload and systemd/generator, with programs in place of syncctl and systemctl that record their calls.

usage: /usr/bin/python3 -m unittest discover Tests/ScriptTests
"""

import os
import re
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

UNITS = Path(__file__).resolve().parents[2] / "systemd"
SCRIPT = UNITS / "reload"
SYSTEMCTL = """\
#!/bin/sh
echo "$*" >>"$DIRECTORY/calls"
case "$1" in
    list-units) for unit in ${UNITS:-syncd-api@1 syncd-api@2 syncd-jobs@1}; do echo "$unit.service loaded"; done ;;
    show) [ "${5#syncd-api@2}" != "$5" ] && [ -e "$DIRECTORY/waits" ] && echo 'Waiting for the database' || echo Ready ;;
    restart) [ ! -e "$DIRECTORY/fails" ] || [ "${3#syncd-api@2}" = "$3" ] ;;
esac
"""
SYNCCTL = """\
#!/bin/sh
echo "syncctl $* app=${SYNCD_APP:-}" >>"$DIRECTORY/calls"
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
        script = script.replace("/run/syncd", str(self.directory))
        (self.directory / "notes").mkdir()
        for name in ("api", "transfer", "notes/api", "notes/transfer"):
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            listener.bind(str(self.directory / f"{name}.sock"))
        (self.directory / "reload").write_text(script, encoding="utf-8")

    def reload(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        environment = os.environ | variables | {
            "DIRECTORY": str(self.directory), "PATH": f"{self.directory}:{os.environ['PATH']}",
            "SYNCD_RELOAD_PATIENCE": "1"}
        return subprocess.run(
            ["/bin/sh", str(self.directory / "reload"), *arguments], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)

    def calls(self) -> list[str]:
        return (self.directory / "calls").read_text(encoding="utf-8").splitlines()

    def restarted(self) -> list[str]:
        return [call.split()[-1] for call in self.calls() if call.startswith("restart")]

    def test_all_instances_are_restarted_in_turn(self) -> None:
        done = self.reload()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.restarted(), ["syncd-api@1.service", "syncd-api@2.service", "syncd-jobs@1.service"])
        self.assertIn("config check --connect", (self.directory / "calls").read_text(encoding="utf-8"))

    def test_without_its_socket_nothing_is_restarted(self) -> None:
        (self.directory / "transfer.sock").unlink()
        done = self.reload()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("systemctl restart syncd-transfer.socket creates it", done.stdout)
        self.assertEqual(self.restarted(), [])

    def test_another_instance_serves_while_the_only_one_restarts(self) -> None:
        """Applies to roles that serve requests; the other instance completes its requests, and then ends."""
        done = self.reload(UNITS="syncd-api@1 syncd-transfer@1 syncd-jobs@1")
        self.assertEqual(done.returncode, 0, done.stdout)
        calls = [re.sub(r"spare[0-9]+", "spare", call) for call in self.calls() if call.startswith(("restart", "stop"))]
        self.assertEqual(calls, [
            "restart -- syncd-api@spare.service", "restart -- syncd-api@1.service", "stop --no-block -- syncd-api@spare.service",
            "restart -- syncd-transfer@spare.service", "restart -- syncd-transfer@1.service",
            "stop --no-block -- syncd-transfer@spare.service", "restart -- syncd-jobs@1.service"])

    def test_the_other_instance_ends_if_the_only_one_fails(self) -> None:
        (self.directory / "waits").touch()
        done = self.reload(UNITS="syncd-api@2")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(self.calls()[-1], r"^stop --no-block -- syncd-api@spare[0-9]+\.service$")

    def test_what_an_earlier_reload_has_left_ends(self) -> None:
        """A leftover is not restarted, and does not count: a single instance still gets a replacement."""
        done = self.reload(UNITS="syncd-api@1 syncd-api@spare77 syncd-jobs@1")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(
            [re.sub(r"spare(?!77)[0-9]+", "spare", unit) for unit in self.restarted()],
            ["syncd-api@spare.service", "syncd-api@1.service", "syncd-jobs@1.service"])
        self.assertEqual(self.calls()[-2:], ["stop --no-block -- syncd-api@spare77.service",
                                             "reset-failed -- syncd-api@spare77.service"])

    def test_an_added_app(self) -> None:
        """The added app's configuration is checked, and its instances are restarted."""
        done = self.reload("--app", "notes", UNITS="syncd-notes-api@1 syncd-notes-api@2")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("syncctl config check --connect app=notes", self.calls())
        listing = next(call for call in self.calls() if call.startswith("list-units"))
        self.assertTrue(listing.endswith("syncd-notes-jobs@*.service syncd-notes-api@*.service syncd-notes-transfer@*.service"))
        self.assertEqual(self.restarted(), ["syncd-notes-api@1.service", "syncd-notes-api@2.service"])
        (self.directory / "calls").unlink()
        self.reload("--app", "notes", "syncd-notes-api@1.service")
        self.assertEqual(self.restarted(), ["syncd-notes-api@1.service"])

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


class GeneratorTests(unittest.TestCase):
    def test_memory_is_protected_for_each_app(self) -> None:
        """The common slice protects as much memory as its apps' slices together, which derive from the package's."""
        (each,) = re.findall(r"(?m)^MemoryLow=(\d+)M$", (UNITS / "syncd-default.slice").read_text(encoding="utf-8"))
        for apps in (["notes", "photos"], []):
            with tempfile.TemporaryDirectory() as name, self.subTest(apps):
                folder = Path(name)
                for app in apps:
                    (folder / f"syncd-{app}.target").touch()
                script = (UNITS / "generator").read_text(encoding="utf-8").replace("/etc/systemd/system", name)
                subprocess.run(["/bin/sh", "-c", script.replace("/usr/bin/syncctl", "/bin/true"), "generator", name], check=True)
                self.assertEqual((folder / "syncd.slice.d/memory.conf").read_text(encoding="ascii"),
                                 f"[Slice]\nMemoryLow={int(each) * (1 + len(apps))}M\n")


if __name__ == "__main__":
    unittest.main()
