#!/usr/bin/env bash
# Expected: HTTP clients read a gzip body that consists of several members (RFC 1952, section 2.2) to the end, as gzip and zcat
# do (RFC 9110, section 8.4.1.3, names the same format).
# Happens: two of five clients read all of it. httpx and wget silently return only the first member, with status 200 and exit
# status 0; curl returns the first member and fails with error 23.
# Version: httpx 0.28.1, requests 2.34.2 with urllib3 2.2.3, aiohttp 3.14.5 (PyPI); curl 7.88.1, wget 1.21.3 (Debian 12).
# Matters: a server that flushes by ending a member, or that sends a file to which members were appended, such as a log, gives
# these clients partial data that looks complete.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dpkg-query --show --showformat '${Package} ${Version}\n' curl wget
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    httpx==0.28.1 requests==2.34.2 urllib3==2.2.3 aiohttp==3.14.5

cat >"$folder/try.py" <<'PY'
import asyncio, gzip, http.server, subprocess, threading
import aiohttp, httpx, requests

BODY = gzip.compress(b"first ") + gzip.compress(b"second")

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/"

async def with_aiohttp():
    async with aiohttp.ClientSession() as session, session.get(url) as reply: return await reply.read()

def run(*command):
    ended = subprocess.run(command, capture_output=True)
    return ended.stdout, ended.returncode

seen = {
    "gzip": gzip.decompress(BODY),
    "requests": requests.get(url).content,
    "aiohttp": asyncio.run(with_aiohttp()),
    "httpx": httpx.get(url).content,
    "wget": run("wget", "--quiet", "--compression=auto", "--output-document=-", url),
    "curl": run("curl", "--silent", "--compressed", url),
}
for name, result in seen.items(): print(f"{name:10} {result}")
assert seen == {
    "gzip": b"first second", "requests": b"first second", "aiohttp": b"first second",
    "httpx": b"first ", "wget": (b"first ", 0), "curl": (b"first ", 23),
}
PY
"$folder/venv/bin/python" "$folder/try.py"
