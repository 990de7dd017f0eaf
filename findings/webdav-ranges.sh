#!/usr/bin/env bash
# Expected: for a range that extends past the end of a file, a server sends the existing bytes; it ignores an invalid range (RFC
# 9110, sections 14.1.2 and 14.2); for several ranges, it sends all of them or the whole file.
# Happens: ASGIWebDAV answers a range past the end with 416, as well as a request for the last hundred bytes of a shorter file,
# and sends only the first of two ranges. WsgiDAV sends only the last of two ranges, and treats the invalid range 5-2 as the
# last two bytes; both reply 206, so the client mistakes these bytes for the requested ones.
# Version: ASGIWebDAV 2.1.0, WsgiDAV 4.4.0 (PyPI).
# Matters: a client that reads a file in pieces of a fixed size never gets the last piece from ASGIWebDAV, and a client that
# requests two pieces gets the wrong bytes for one of them from both servers, unless it reads Content-Range.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
/usr/bin/python3 -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check ASGIWebDAV==2.1.0 uvicorn==0.54.0 backports.zstd==1.8.0 \
    WsgiDAV==4.4.0 cheroot==11.1.2
"$bin/pip" list 2>/dev/null | grep -iE '^(asgiwebdav|wsgidav) '

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
asgi=$(free) wsgidav=$(free)
mkdir "$folder/files"
printf 'hello world' >"$folder/files/file.txt"
cat >"$folder/asgi.json" <<JSON
{"account_mapping": [{"username": "u", "password": "p", "permissions": ["+"]}],
 "provider_mapping": [{"prefix": "/", "uri": "file://$folder/files"}]}
JSON
"$bin/asgi-webdav" -H 127.0.0.1 -P "$asgi" -c "$folder/asgi.json" &>/dev/null &
"$bin/wsgidav" --host 127.0.0.1 --port "$wsgidav" --root "$folder/files" --auth anonymous &>/dev/null &

# Status, Content-Range and body of a request for ranges.
ranges() {
    curl --silent --user u:p --dump-header "$folder/head" --output "$folder/body" --header "Range: bytes=$2" \
        --retry 60 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$1/file.txt" || true
    local status range
    status=$(sed -n '1s/[^ ]* \([0-9]*\).*/\1/p' "$folder/head")
    range=$(sed -n 's/^content-range: *\([^\r]*\).*/\1/Ip' "$folder/head")
    [[ $status == 206 || $status == 200 ]] || : >"$folder/body"
    echo "$2: $status, ${range:-no Content-Range}, \"$(head -c 40 "$folder/body")\""
}
for name in asgi wsgidav; do
    for asked in 0-100 -100 5-2 0-1,4-5; do echo "$name $(ranges "${!name}" "$asked")"; done
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
asgi 0-100: 416, */11, ""
asgi -100: 416, */11, ""
asgi 5-2: 200, no Content-Range, "hello world"
asgi 0-1,4-5: 206, bytes 0-1/11, "he"
wsgidav 0-100: 206, bytes 0-10/11, "hello world"
wsgidav -100: 206, bytes 0-10/11, "hello world"
wsgidav 5-2: 206, bytes 9-10/11, "ld"
wsgidav 0-1,4-5: 206, bytes 4-5/11, "o "
SEEN
