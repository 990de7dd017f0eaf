#!/usr/bin/env bash
# Expected: it is an error if a connection ends before the empty line after a reply's header fields, just as if a body is
# shorter than its Content-Length (RFC 9112, section 8: such a message is incomplete).
# Happens: for a reply that ends within the name of its first field, libcurl, wget, Python's urllib and requests report
# success, status 200 and an empty body. httpx and aiohttp raise an error.
# Version: curl 7.88.1, wget 1.21.3 and Python 3.11 (Debian 12); libcurl 8.23.0 in pycurl 7.49.0, requests 2.34.2 with urllib3
# 2.2.3, httpx 0.28.1, aiohttp 3.14.5 (PyPI).
# Matters: if a proxy or server dies during a reply, the result looks like an empty file, or like a successful deletion. Users
# of libcurl must check themselves that a required field has arrived.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dpkg-query --show --showformat '${Package} ${Version}\n' curl wget python3.11
/usr/bin/python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pycurl==7.49.0 requests==2.34.2 urllib3==2.2.3 httpx==0.28.1 aiohttp==3.14.5
cat >"$folder/try.py" <<'PY'
import asyncio, socket, subprocess, threading, urllib.request
import aiohttp, httpx, pycurl, requests

listener = socket.create_server(("127.0.0.1", 0))

def serve():
    while True:
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
        peer.close()

threading.Thread(target=serve, daemon=True).start()
url = f"http://127.0.0.1:{listener.getsockname()[1]}/"

def with_pycurl():
    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, url)
    handle.perform()
    return handle.getinfo(pycurl.RESPONSE_CODE)

async def with_aiohttp():
    async with aiohttp.ClientSession() as session, session.get(url) as reply: return reply.status

def run(*command): return subprocess.run(command, capture_output=True).returncode

def seen(call):
    try: return call()
    except Exception as error: return type(error).__name__

print(pycurl.version.split(" OpenSSL")[0])
results = {
    "curl, exit status": run("curl", "--silent", url),
    "wget, exit status": run("wget", "--quiet", "--tries=1", "--output-document=-", url),
    "pycurl": seen(with_pycurl),
    "urllib": seen(lambda: urllib.request.urlopen(url).status),
    "requests": seen(lambda: requests.get(url).status_code),
    "httpx": seen(lambda: httpx.get(url).status_code),
    "aiohttp": seen(lambda: asyncio.run(with_aiohttp())),
}
for name, result in results.items(): print(f"{name:18} {result}")
assert list(results.values()) == [
    0, 0, 200, 200, 200, "RemoteProtocolError", "ServerDisconnectedError"]
PY
"$folder/venv/bin/python" "$folder/try.py"
