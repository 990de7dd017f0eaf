"""scripts/bootstrap, with stand-ins for dpkg and apt."""

import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BOOTSTRAP = Path(__file__).resolve().parents[2] / "scripts" / "bootstrap"
# Reports every requested package as installed if apt has run.
DPKG_QUERY = '''#!/bin/sh
[ -e "$STATE/installed" ] || exit 1
shift 2
for package; do echo "installed $package"; done
'''
# Replaces `env apt-get ...`: records that it runs, and ends when the test allows.
ENV = '''#!/bin/sh
echo started >>"$STATE/runs"
read -r line <"$STATE/go"
touch "$STATE/installed"
'''
# Runs its command with a test folder in place of /usr/sbin.
REAL_ENV = '''#!/bin/bash
exec /usr/bin/env "$1" POLICY="$STATE/policy-rc.d" "${@:3}"
'''
# Knows no packages before an update; on some machines not even then.
APT_GET = '''#!/bin/sh
echo "$1" >>"$STATE/runs"
case "$*" in
update) [ -e "$STATE/offline" ] || touch "$STATE/lists" ;;
*)
    [ -e "$STATE/lists" ] || { echo "E: Unable to locate package" >&2; exit 100; }
    case "$*" in *--download-only*) exit ;; esac
    touch "$STATE/installed"
    # Debian 12's harmless messages, and a warning that must be shown.
    cat >&2 <<SAID
debconf: delaying package configuration, since apt-utils is not installed
invoke-rc.d: could not determine current runlevel
invoke-rc.d: policy-rc.d denied execution of start.
$STATE/policy-rc.d returned 101, not running 'start nginx.service'
dpkg: warning: something is odd
SAID
    ;;
esac
'''


class BootstrapTests(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        tools = self.folder / "bin"
        tools.mkdir()
        self.tools = tools
        for name, text in {"dpkg-query": DPKG_QUERY, "env": ENV, "swift": "#!/bin/sh\necho Swift version 6.9\n",
                           "sudo": "#!/bin/sh\nshift\nexec \"$@\"\n", "systemctl": "#!/bin/sh\n"}.items():
            self.make_tool(name, text)
        os.mkfifo(self.folder / "go")
        # A copy, since the person who runs the tests may be installing with the original.
        self.script = self.folder / "bootstrap"
        self.script.write_bytes(BOOTSTRAP.read_bytes())
        self.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "STATE": str(self.folder)}

    def make_tool(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text, encoding="utf-8")
        (self.tools / name).chmod(0o755)

    def start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(["bash", str(self.script), "--browser"], env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.kill)
        return process

    def runs(self) -> int:
        path = self.folder / "runs"
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0

    def is_waited_for(self) -> bool:
        """Whether a process waits for the lock on the script (proc_locks(5))."""
        inode = f":{self.script.stat().st_ino}"
        return any("->" in line and f"{inode} " in line
                   for line in Path("/proc/locks").read_text(encoding="ascii").splitlines())

    def await_that(self, condition) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_two_that_need_the_same_packages_install_them_once(self) -> None:
        first = self.start()
        self.await_that(lambda: self.runs() == 1)
        second = self.start()
        self.await_that(lambda: self.is_waited_for() or self.runs() > 1)
        self.assertEqual(self.runs(), 1)
        (self.folder / "go").write_text("go\n", encoding="ascii")

        for process in [first, second]:
            self.assertEqual(process.wait(timeout=30), 0, process.stdout.read())
            process.stdout.close()
        self.assertEqual(self.runs(), 1)

    def test_a_machine_without_lists_of_packages_gets_them_and_nobody_reads_errors(self) -> None:
        self.make_tool("env", REAL_ENV)
        self.make_tool("apt-get", APT_GET)

        process = self.start()
        said, _ = process.communicate(timeout=30)

        self.assertEqual(process.returncode, 0, said)
        self.assertNotIn("E: ", said)
        self.assertNotRegex(said, "invoke-rc.d|debconf|returned 101")
        self.assertIn("dpkg: warning: something is odd", said)
        self.assertEqual((self.folder / "runs").read_text(encoding="utf-8").split(), ["install", "update", "install"])

    def test_a_package_that_cannot_be_had_is_named(self) -> None:
        self.make_tool("env", REAL_ENV)
        self.make_tool("apt-get", APT_GET)
        (self.folder / "offline").touch()

        process = self.start()
        said, _ = process.communicate(timeout=30)

        self.assertNotEqual(process.returncode, 0, said)
        self.assertEqual(said.count("E: Unable to locate package"), 1, said)


if __name__ == "__main__":
    unittest.main()
