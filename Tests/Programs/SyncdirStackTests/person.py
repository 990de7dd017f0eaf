#!/usr/bin/python3
"""A person at a computer with a browser, using a program that connects to its providers under their real names: a proxy
redirects these to the sandbox, and only the sandbox's certificate authority is trusted (needs root).

usage: person.py TLS_PORT CA_FILE SANDBOX_URL PROVIDER ACCOUNT COMMAND ...

Runs the command, and exits with its status. As `xdg-open`, grants the pages' requests as ACCOUNT, after registering the
redirect URIs at PROVIDER as in its console; an unexpected page ends the command.
"""

import html
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import traceback
import urllib.parse
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Oracles"))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from connect_proxy import ConnectProxy  # noqa: E402

AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
MOUNT = 'mount --bind "$1" "$2" || exit 1; shift 2; exec "$@"'
FORM = re.compile(r'<form method=post action="([^"]*)">')
MAXIMUM_PAGES = 10


def run(arguments: list[str]) -> int:
    """Runs the command as the person described by the other arguments."""
    port, authority, sandbox, provider, account, *command = arguments
    with ConnectProxy(int(port)) as proxy, tempfile.TemporaryDirectory(prefix="syncserver-person-") as folder:
        os.symlink(Path(__file__).resolve(), f"{folder}/xdg-open")
        environment = os.environ | {
            "PATH": f"{folder}:{os.environ['PATH']}", "https_proxy": proxy.url,
            "PERSON": json.dumps([authority, sandbox, provider, account]),
        }
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNT, "sh", authority, AUTHORITIES, *command],
            env=environment, check=False).returncode


def register(sandbox: str, provider: str, page: str) -> None:
    """Registers the redirect URIs, which contain this attempt's port."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(page).query)
    program = query["redirect_uri"][0]
    for uri in [program, program.replace("/program", "/server")]:
        body = json.dumps({"provider": provider, "redirectURI": uri}).encode()
        urllib.request.urlopen(urllib.request.Request(
            sandbox + "/sandbox/redirect-uris", body, {"Content-Type": "application/json"})).close()


def browse(page: str) -> None:
    """Grants consent on each page, until a page does not request it."""
    authority, sandbox, provider, account = json.loads(os.environ["PERSON"])
    if provider != "microsoft":
        register(sandbox, provider, page)
    browser = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority)))
    form = None
    for _ in range(MAXIMUM_PAGES):
        with browser.open(page, form) as reply:
            page, text = reply.url, reply.read().decode()
        action = FORM.search(text)
        if action is None:
            assert "signed in to syncdir" in text, text
            return
        assert f'<option value="{account}"' in text, text
        page = urllib.parse.urljoin(page, html.unescape(action[1]))
        form = urllib.parse.urlencode({"account": account, "decision": "allow"}).encode()
    raise AssertionError("too many pages")


if Path(sys.argv[0]).name == "xdg-open":
    try:
        browse(sys.argv[1])
    except Exception:
        # The output of xdg-open is discarded; that of the program is read by the test.
        Path(f"/proc/{os.getppid()}/fd/2").open("a", encoding="utf-8").write(traceback.format_exc())
        os.kill(os.getppid(), signal.SIGTERM)
else:
    sys.exit(run(sys.argv[1:]))
