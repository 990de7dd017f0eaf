"""nginx's production site, adapted for tests: with addresses, certificates and logs that exist here.

Everything else is the installed configuration.
"""

import re
import subprocess
import sys
from pathlib import Path

from syncstack import certificates
from syncstack.layout import REPOSITORY, Layout, write
from syncstack.ports import choose
from syncstack.processes import environment
from syncstack.webserver import PORTS, WebServer, adapted

MAIN = """\
{user}pid {directory}/nginx.pid;
error_log {directory}/log/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    fastcgi_temp_path {directory}/fastcgi;
    proxy_temp_path {directory}/proxy;
    scgi_temp_path {directory}/scgi;
    uwsgi_temp_path {directory}/uwsgi;
    include site.conf;
}}
"""


def prepare(directory: str) -> Layout:
    """Writes the configuration of a stack into a directory: nginx/nginx.conf."""
    layout = Layout(directory)
    layout.create()
    certificates.prepare(layout)
    ports: dict[str, int] = {}
    for name in PORTS:
        ports[name] = choose(set(ports.values()))
    WebServer(layout).write_configuration(ports)
    return layout


def turn_signals_off(layout: Layout) -> None:
    """As long as `syncctl setup --changes` was not run, nginx needs no module."""
    for file in (layout.nginx / "syncd-changes").glob("*.conf"):
        file.unlink()


def production(layout: Layout, user: str = "") -> tuple[Path, int]:
    """Writes the site as installation does, next to the stack's own files; returns its main file and its TLS port."""
    turn_signals_off(layout)
    text = (REPOSITORY / "nginx" / "syncd.conf").read_text(encoding="utf-8")
    text = re.sub(r"/etc/letsencrypt/\S+/fullchain\.pem", str(layout.certificates / "server.pem"), text)
    text = re.sub(r"/etc/letsencrypt/\S+/privkey\.pem", str(layout.certificates / "server.key"), text)
    text = text.replace("/var/log/nginx/", f"{layout.logs}/")
    ports: list[int] = []

    def listen(_: re.Match) -> str:
        ports.append(choose(set(ports)))
        return f"listen 127.0.0.1:{ports[-1]}"

    text = re.sub(r"listen (\[::\]:)?(80|443)\b", listen, text)
    text = text.replace("syncd/syncd-version.conf", "syncd-version.conf")
    text = text.replace("syncd/syncd-metrics.conf", "metrics.conf")
    # The test certificate names no OCSP responder, which makes nginx warn.
    text = text.replace("ssl_stapling on;", "")
    write(layout.nginx / "site.conf", adapted(text))
    write(layout.nginx / "production.conf", MAIN.format(directory=layout.directory, user=user))
    return layout.nginx / "production.conf", ports[0]


def nginx(configuration: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs nginx with this configuration; without what nchan reports of its memory at each start."""
    done = subprocess.run(
        ["nginx", *arguments, "-e", "stderr", "-c", str(configuration), "-p", str(configuration.parent)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(), check=False)
    done.stdout = "".join(line for line in done.stdout.splitlines(True) if "of shared memory for nchan" not in line)
    return done


def judge(name: str, configuration: Path) -> bool:
    """Whether nginx itself accepts a configuration without a warning."""
    done = nginx(configuration, "-q", "-t")
    complaints = done.stdout.strip()
    if done.returncode == 0 and not complaints:
        return True
    print(f"nginx rejects {name}:\n{complaints}", file=sys.stderr)
    return False
