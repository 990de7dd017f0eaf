"""Checks nginx's production site with gixy and sslyze; called by scripts/check-nginx."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nginxsite

SCANS_AT_MOST = 3
COMPLIANT = "OK - Compliant"
NOT_COMPLIANT = "FAILED - Not compliant"


def gixy(programs: Path, configuration: Path) -> subprocess.CompletedProcess:
    """Disables the advice to cache file existence: the maintenance file is checked only after a 503."""
    return subprocess.run(
        [programs / "gixy", "--format", "console", "--skips", "try_files_is_evil_too", configuration.name], cwd=configuration.parent,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def sslyze(programs: Path, layout, configuration: Path, port: int) -> subprocess.CompletedProcess:
    """Scans the TLS port of an nginx that runs during the scan.

    sslyze waits 5 seconds for a connection, too short for a machine at its limit. Then it reports neither that the
    server is compliant nor that it is not, so the scan is repeated.
    """
    started = nginxsite.nginx(configuration)
    if started.returncode != 0:
        sys.exit(f"nginx does not start:\n{started.stdout}")
    try:
        for _ in range(SCANS_AT_MOST):
            done = subprocess.run(
                [programs / "sslyze", "--mozilla_config", "intermediate", "--certinfo_ca_file", layout.ca_file,
                 "--slow_connection", "--sni", "localhost", f"127.0.0.1:{port}"],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if NOT_COMPLIANT in done.stdout or COMPLIANT in done.stdout:
                break
        return done
    finally:
        nginxsite.nginx(configuration, "-s", "quit")


def weaken(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    if old not in text:
        sys.exit(f"{file.name} does not contain {old}: this check is out of date")
    file.unlink()
    file.write_text(text.replace(old, new), encoding="utf-8")


def main(results: Path) -> int:
    programs = results / "venv" / "bin"
    user = "user root;\n" if os.geteuid() == 0 else ""
    complaints = []
    with tempfile.TemporaryDirectory(prefix="syncserver-nginx-") as directory:
        layout = nginxsite.prepare(directory)
        configuration, port = nginxsite.production(layout, user)
        judged = gixy(programs, configuration)
        scanned = sslyze(programs, layout, configuration, port)
        (results / "gixy").write_text(judged.stdout, encoding="utf-8")
        (results / "sslyze").write_text(scanned.stdout, encoding="utf-8")
        if judged.returncode != 0 or "No issues found" not in judged.stdout:
            complaints.append(f"gixy:\n{judged.stdout}")
        if scanned.returncode != 0 or COMPLIANT not in scanned.stdout:
            complaints.append(f"sslyze:\n{scanned.stdout}")

        # Both tools must detect these faults: a header that removes the inherited ones, and a cipher that Mozilla does
        # not recommend.
        shared = layout.nginx / "syncd"
        shared.unlink()
        shared.mkdir()
        for file in (nginxsite.REPOSITORY / "nginx").glob("syncd-*.conf"):
            (shared / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        weaken(shared / "syncd-tls.conf", "ssl_ciphers ", "ssl_ciphers ECDHE-ECDSA-AES128-SHA:")
        weaken(shared / "syncd-locations.conf", "location / {", "location / {\n    add_header X-Other 1;")
        if "No issues found" in gixy(programs, configuration).stdout:
            complaints.append("not detected by gixy: a header that removes the inherited ones")
        if NOT_COMPLIANT not in sslyze(programs, layout, configuration, port).stdout:
            complaints.append("not detected by sslyze: a weak cipher")
    for complaint in complaints:
        print(complaint.strip())
    if not complaints:
        print("no findings; both tools detect the injected faults")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
