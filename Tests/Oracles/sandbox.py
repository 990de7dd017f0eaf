"""Shared by all oracles: the sandbox's address, its control interface, and a list of failures.

Environment: SANDBOX_URL (control interface), SANDBOX_TLS_PORT, SANDBOX_CA,
SANDBOX_STATE (its state directory, for keys that the app maker has registered).
"""

import json
import os
import random
import sys
import traceback
import urllib.error
import urllib.parse
import urllib.request

PORT = int(os.environ["SANDBOX_TLS_PORT"])
CA = os.environ["SANDBOX_CA"]
CONTROL = os.environ["SANDBOX_URL"]

# The machine's trust settings would override the authority configured in the libraries.
for _name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy"):
    os.environ.pop(_name, None)

failures = []


def control(method, path, value=None):
    """Sends a request to the control interface; returns the reply's JSON, or None if it is empty."""
    data = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(CONTROL + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request) as reply:
        text = reply.read()
        return json.loads(text) if text else None


def put_file(account, name, data, query=""):
    """Writes a file as the account's owner; returns the control interface's reply."""
    request = urllib.request.Request(
        f"{CONTROL}/sandbox/accounts/{account['id']}/files/{urllib.parse.quote(name)}{query}", data,
        {"Content-Type": "text/plain"}, method="PUT")
    with urllib.request.urlopen(request) as reply:
        return json.loads(reply.read())


def contents(account, name, query=""):
    """The bytes of a file as seen by its owner; None if it does not exist."""
    try:
        with urllib.request.urlopen(
                f"{CONTROL}/sandbox/accounts/{account['id']}/files/{urllib.parse.quote(name)}{query}") as reply:
            return reply.read()
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


def broken_rules():
    """The names of the rules violated so far."""
    return [violation["rule"] for violation in control("GET", "/sandbox/violations")]


def random_bytes(size, seed):
    """Pseudorandom bytes, reproducible from the seed."""
    return random.Random(seed).randbytes(size)


def check(condition, sentence):
    """Records whether the statement is true."""
    if not condition:
        failures.append(sentence)
        print("not ok:", sentence)
    else:
        print("ok:", sentence)


def run(main):
    """Runs an oracle and ends the process: 0 if everything behaves like the provider."""
    try:
        main()
    except Exception:  # pylint: disable=broad-except  a crash of the client is a failure, too
        traceback.print_exc()
        failures.append("the client failed")
        print("not ok: the client failed")
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)
