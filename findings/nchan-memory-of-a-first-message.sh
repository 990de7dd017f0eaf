#!/usr/bin/env bash
# Expected: a listener of server-sent events needs the same memory of the server before and after a short message, once
# the message has been sent: the server has to keep nothing of it for the listener.
# Happens: with nchan, each listener needs 4 KiB more from its first message on, until it disconnects, even for a message
# of two bytes: a buffer of 2.5 KiB for the message's id, in a new block of the request's pool. Further messages need no
# more memory. Before its first message, a listener needs 10 KiB.
# Version: nginx 1.22.1 and nchan 1.3.6 (Debian 12, libnginx-mod-nchan); measured with psutil 7.2.2 (PyPI).
# Matters: after one broadcast, 100,000 listeners need 400 MB more than was measured while they were idle, all at the
# same moment.
set -euo pipefail
folder=$(mktemp -d)
chmod 755 "$folder"
trap 'kill $(cat "$folder/nginx.pid" 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check psutil==7.2.2
(cd "$folder" && apt-get download --quiet=2 nginx libnginx-mod-nchan libhiredis0.14 >/dev/null 2>&1)
for package in "$folder"/*.deb; do
    dpkg-deb --show --showformat '${Package} ${Version}\n' "$package"
    dpkg-deb --extract "$package" "$folder/root"
done
export LD_LIBRARY_PATH=$folder/root/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$folder/nginx.conf" <<NGINX
load_module $folder/root/usr/lib/nginx/modules/ngx_nchan_module.so;
worker_processes 1;
worker_rlimit_nofile 5000;
pid $folder/nginx.pid;
error_log $folder/error.log;
events { worker_connections 4000; }
http {
    access_log off;
    client_body_temp_path $folder/body; proxy_temp_path $folder/proxy; fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi; scgi_temp_path $folder/scgi;
    server {
        listen 127.0.0.1:$port;
        location /listen { nchan_subscriber eventsource; nchan_channel_id all; }
        location /publish { nchan_publisher http; nchan_channel_id all; nchan_store_messages off; }
    }
}
NGINX
"$folder/root/usr/sbin/nginx" -e "$folder/error.log" -c "$folder/nginx.conf" -p "$folder"
ulimit -Sn 4000

cat >"$folder/try.py" <<'PY'
import socket, sys, urllib.request
import psutil
port, pid = int(sys.argv[1]), int(open(sys.argv[2]).read())
LISTENERS = 2_000
worker, = psutil.Process(pid).children()

def kibibytes(): return worker.memory_full_info().uss / 1024

def read(listener, end):
    received = b""
    while not received.endswith(end): received += listener.recv(4096)

def open_listeners(count):
    listeners = []
    for _ in range(count):
        listener = socket.create_connection(("127.0.0.1", port))
        listener.sendall(b"GET /listen HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n")
        read(listener, b": hi\n\n")
        listeners.append(listener)
    return listeners

def publish(listeners, text):
    urllib.request.urlopen(f"http://127.0.0.1:{port}/publish", data=text).read()
    for listener in listeners: read(listener, b"data: " + text + b"\n\n")

before = kibibytes()
listeners = open_listeners(LISTENERS)
idle = kibibytes()
used = [idle]
for number in range(3):
    publish(listeners, b"x%d" % number)
    used.append(kibibytes())
print(f"{LISTENERS} listeners, idle: {(idle - before) / LISTENERS:.1f} KiB each")
growth = [(after - earlier) / LISTENERS for earlier, after in zip(used, used[1:])]
print("more after each of three messages of two bytes:", ", ".join(f"{kib:.2f} KiB" for kib in growth))
assert 3.5 < growth[0] < 4.8 and all(kib < 0.3 for kib in growth[1:])
PY
"$folder/venv/bin/python" "$folder/try.py" "$port" "$folder/nginx.pid"
