#!/usr/bin/env bash
# Expected: a client of server-sent events keeps the last event ID of the stream, which a later event without an id field and an
# event with an id field alone do not reset, dispatches no event without data, and discards an event that the end of the
# connection cuts off (HTML Standard, section 9.2.6).
# Happens: only requests-sse does all of this. sseclient-py and aiosseclient forget the ID at the next event; httpx-sse and
# aiosseclient dispatch an empty event for an ID alone; sseclient-py ignores an ID alone, and dispatches half an event as a whole.
# Version: httpx-sse 0.4.3, sseclient-py 1.9.0, aiosseclient 0.1.8, requests-sse 0.5.3, httpx 0.28.1, requests 2.34.2,
# aiohttp 3.14.5 (PyPI).
# Matters: a client that resumes with Last-Event-ID skips events or receives all of them again, and one that parses half an event
# as JSON fails, or acts on a shortened text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check httpx-sse==0.4.3 sseclient-py==1.9.0 aiosseclient==0.1.8 \
    requests-sse==0.5.3 httpx==0.28.1 requests==2.34.2 aiohttp==3.14.5

cat >"$folder/try.py" <<'PY'
import asyncio, http.server, threading
import httpx, httpx_sse, requests, requests_sse, sseclient
from aiosseclient import aiosseclient

STREAMS = {
    "an event without an id": b"id: 7\ndata: one\n\ndata: two\n\n",
    "an id alone": b"id: 7\n\ndata: one\n\n",
    "a cut event": b"data: one\n\ndata: tw\n",
}

class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(STREAMS[list(STREAMS)[int(self.path[1:])]])
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()

def with_httpx_sse(url):
    with httpx.Client() as client, httpx_sse.connect_sse(client, "GET", url) as source:
        return [(event.id, event.data) for event in source.iter_sse()]

def with_sseclient_py(url):
    return [(event.id, event.data) for event in sseclient.SSEClient(requests.get(url, stream=True)).events()]

def with_aiosseclient(url):
    async def read(): return [(event.id, event.data) async for event in aiosseclient(url)]
    return asyncio.run(read())

def with_requests_sse(url, count):
    # Connects again at the end of the stream; the events of the first connection are compared.
    with requests_sse.EventSource(url) as source:
        return [(event.last_event_id, event.data) for event, _ in zip(source, range(count))]

seen = {}
for number, (name, right) in enumerate(zip(STREAMS, (2, 1, 1))):
    url = f"http://127.0.0.1:{server.server_port}/{number}"
    seen[name] = {
        "requests-sse": with_requests_sse(url, right), "httpx-sse": with_httpx_sse(url),
        "sseclient-py": with_sseclient_py(url), "aiosseclient": with_aiosseclient(url),
    }
    print(f"{name}: {STREAMS[name]}")
    for client, events in seen[name].items(): print(f"    {client:13} {events}")

assert seen == {
    "an event without an id": {
        "requests-sse": [("7", "one"), ("7", "two")], "httpx-sse": [("7", "one"), ("7", "two")],
        "sseclient-py": [("7", "one"), (None, "two")], "aiosseclient": [("7", "one"), (None, "two")],
    },
    "an id alone": {
        "requests-sse": [("7", "one")], "httpx-sse": [("7", ""), ("7", "one")],
        "sseclient-py": [(None, "one")], "aiosseclient": [("7", ""), (None, "one")],
    },
    "a cut event": {
        "requests-sse": [("", "one")], "httpx-sse": [("", "one")],
        "sseclient-py": [(None, "one"), (None, "tw")], "aiosseclient": [(None, "one")],
    },
}
PY
"$folder/venv/bin/python" "$folder/try.py"
