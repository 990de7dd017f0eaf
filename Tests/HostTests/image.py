"""A minimal Debian 12 to install the packages in: made once by debootstrap, kept as an archive, unpacked for each run.

Packages come from where this machine's apt has them from. Those that a test will install are downloaded beforehand, as
the container has no network.
"""

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

RELEASE = "bookworm"
BASE = ["systemd", "systemd-sysv", "dbus", "ca-certificates", "eatmydata"]
# What an operator installs, and what our packages need or recommend.
WANTED = ["certbot", "curl", "fish", "gnupg", "logrotate", "mariadb-server", "nginx", "openssh-server", "openssl",
          "python3-pil", "rclone", "zsh"]
NEEDED = ["libfcgi0ldbl", "libcurl4", "libmariadb3"]
DAYS_TO_KEEP = 7


def run(*command: object, **options) -> str:
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} failed with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def sources() -> list[str]:
    """This machine's sources of the release, one a line in the format of sources.list(5)."""
    targets = run(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)",
        "Created-By: Packages")
    found = []
    for line in targets.splitlines():
        address, release, component, *origin = line.split()
        if origin[:1] == ["Debian"] and release.partition("-")[0] == RELEASE:
            found.append(f"deb {address} {release} {component}")
    if not found:
        raise AssertionError(f"apt on this machine has no source of Debian {RELEASE}")
    return sorted(set(found), key=lambda line: (line.split()[2] != RELEASE, line))


def archive(folder: Path) -> Path:
    """The image as an archive; created again if it is missing or old, which takes a minute or two."""
    lists = hashlib.sha256(" ".join([RELEASE, *BASE, *WANTED, *NEEDED]).encode()).hexdigest()[:12]
    kept = folder / f"debian-{lists}.tar"
    if kept.exists() and time.time() - kept.stat().st_mtime < DAYS_TO_KEEP * 86_400:
        return kept
    root = folder / "image"
    shutil.rmtree(root, ignore_errors=True)
    lines = sources()
    run("eatmydata", "debootstrap", "--variant=minbase", f"--include={','.join(BASE)}", RELEASE, root,
        lines[0].split()[1])
    (root / "etc/apt/sources.list").write_text("\n".join(lines) + "\n", encoding="ascii")
    (root / "etc/apt/apt.conf.d/proxy").write_text(run("apt-config", "dump", "Acquire::http::Proxy"), encoding="ascii")
    # Power may fail: then the image is made again.
    (root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n", encoding="ascii")
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    run("chroot", root, "apt-get", "update")
    # With what is recommended, for a person who types "apt install" and no more.
    run("chroot", root, "apt-get", "install", "--yes", "--download-only", *WANTED, *NEEDED)
    (root / "etc/resolv.conf").write_text("", encoding="ascii")
    run("systemd-machine-id-setup", f"--root={root}")
    temporary = kept.with_suffix(".new")
    run("tar", "--create", "--numeric-owner", "--xattrs", "--file", temporary, "--directory", root, ".")
    shutil.rmtree(root)
    for other in folder.glob("debian*.tar"):
        other.unlink()
    os.replace(temporary, kept)
    return kept


def unpack(folder: Path, name: str = "") -> Path:
    """A fresh root folder for one run; several hosts of one run have names."""
    kept = archive(folder)
    root = folder / name / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    run("tar", "--extract", "--numeric-owner", "--xattrs", "--file", kept, "--directory", root)
    return root
