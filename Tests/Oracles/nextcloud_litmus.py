"""Checks the sandbox's Nextcloud with litmus, a test suite for WebDAV servers, and compares it with a real server.

Each test must have the same result on the emulation as on Apache, except those in `OTHERWISE`. Tests of custom
properties are omitted, since the sandbox does not store them.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from connect_proxy import ConnectProxy
from sandbox import PORT, check, control, run
from storage_server import SECRET, USER

SUITES = ("basic", "copymove")
# Nextcloud has no locks.
OTHERWISE = {"basic/options": "WARNING: server does not claim Class 2 compliance"}
VERDICT = re.compile(r" *\d+\. (\w+)\.+ (pass|FAIL|SKIPPED|WARNING.*)(?: \((.*)\))?")


def verdicts(url, user, password, *options):
    """The result of each litmus test on a server, and its reason."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for suite in SUITES:
            output = subprocess.run(
                ["litmus", *options, url, user, password], env={"PATH": "/usr/bin:/bin", "TESTS": suite}, cwd=folder,
                capture_output=True, text=True, timeout=120, check=False).stdout
            lines = map(VERDICT.fullmatch, re.split("[\r\n]", output))
            found |= {f"{suite}/{line[1]}": (line[2], line[3]) for line in lines if line}
    return found


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "webdav", "name": "Lilly Litmus"})
    with ConnectProxy(PORT) as proxy:
        emulated = verdicts(account["address"], account["id"], account["accessToken"], f"--proxy={proxy.url}")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, Path(__file__).with_name("storage_server.py"), "webdav-apache", folder]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            real = verdicts(f"http://127.0.0.1:{server.stdout.readline().strip()}/", USER, SECRET)
            server.stdin.close()
    check(len(real) > 25 and emulated.keys() == real.keys(), f"litmus runs {len(real)} tests on both servers")
    for name, (verdict, reason) in real.items():
        found = emulated.get(name, ("missing", None))
        check(found[0] == OTHERWISE.get(name, verdict), f"{name}: {found}; Apache: {verdict} {reason or ''}")


run(main)
