"""A minimal Debian for installing the packages: created once by debootstrap, kept as an archive, unpacked for each run.

HOST_SUITE in the environment selects the release: bookworm (Debian 12, the default) or trixie (Debian 13). Packages
come from the sources of this machine's apt. Packages for the tests, and for upgrades of the previous release, are
downloaded beforehand, as the container has no network.
"""

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

RELEASES = ("bookworm", "trixie")
RELEASE = os.environ.get("HOST_SUITE") or RELEASES[0]
BASE = ["systemd", "systemd-sysv", "dbus", "ca-certificates", "eatmydata"]
# The packages that an operator installs, and those that our packages need or recommend.
WANTED = ["certbot", "curl", "fish", "gnupg", "libnginx-mod-nchan", "logrotate", "mariadb-server", "nginx", "openssh-server", "openssl",
          "python3-pil", "rclone", "zsh"]
NEEDED = ["libfcgi0ldbl", "libcurl4", "libisal2", "libmariadb3"]
DAYS_TO_KEEP = 7


def run(*command: object, **options) -> str:
    """Runs a command; its output is shown only if it fails."""
    done = subprocess.run(
        [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} failed with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def sources(suite: str = RELEASE) -> list[str]:
    """The release's sources in the format of sources.list(5), one per line, on this machine's own mirrors."""
    targets = run(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)",
        "Created-By: Packages")
    found = []
    for line in targets.splitlines():
        address, release, component, *origin = line.split()
        own, dash, part = release.partition("-")
        if origin[:1] == ["Debian"] and own in RELEASES:
            found.append(f"deb {address} {suite}{dash}{part} {component}")
    if not found:
        raise AssertionError(f"apt on this machine has no source for {' or '.join(RELEASES)}")
    return sorted(set(found), key=lambda line: (line.split()[2] != suite, line))


def is_fresh(kept: Path) -> bool:
    return kept.exists() and time.time() - kept.stat().st_mtime < DAYS_TO_KEEP * 86_400


def keep(root: Path, kept: Path, *members: str) -> None:
    """Archives a folder, or some of its members, in place of previous archives, and removes the folder."""
    temporary = kept.with_suffix(".new")
    run("tar", "--create", "--numeric-owner", "--xattrs", "--file", temporary, "--directory", root, *(members or ["."]))
    shutil.rmtree(root)
    for other in kept.parent.glob(f"{kept.name.rpartition('-')[0]}-*.tar"):
        other.unlink()
    os.replace(temporary, kept)


def configure_apt(root: Path, lines: list[str]) -> None:
    (root / "etc/apt/sources.list").write_text("\n".join(lines) + "\n", encoding="ascii")
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf", follow_symlinks=True)
    run("chroot", root, "apt-get", "update")


def archive(folder: Path, suite: str = RELEASE) -> Path:
    """The image as an archive; created again if it is missing or old, which takes a minute or two."""
    lists = hashlib.sha256(" ".join([suite, *BASE, *WANTED, *NEEDED]).encode()).hexdigest()[:12]
    kept = folder / f"debian-{suite}-{lists}.tar"
    if is_fresh(kept):
        return kept
    root = folder / f"image-{suite}"
    shutil.rmtree(root, ignore_errors=True)
    lines = sources(suite)
    run("eatmydata", "debootstrap", "--variant=minbase", f"--include={','.join(BASE)}", suite, root,
        lines[0].split()[1])
    (root / "etc/apt/apt.conf.d/proxy").write_text(run("apt-config", "dump", "Acquire::http::Proxy"), encoding="ascii")
    # After a power failure, the image is created again.
    (root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n", encoding="ascii")
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    configure_apt(root, lines)
    # With recommended packages, like a plain "apt install".
    run("chroot", root, "apt-get", "install", "--yes", "--download-only", *WANTED, *NEEDED)
    (root / "etc/resolv.conf").write_text("", encoding="ascii")
    run("systemd-machine-id-setup", f"--root={root}")
    keep(root, kept)
    return kept


def upgrade_archive(folder: Path, suite: str, following: str, packages: list[Path]) -> Path:
    """The files that `apt full-upgrade` downloads on a host with our packages and their dependencies: an archive of
    apt's lists and packages, to be unpacked into the host."""
    lists = hashlib.sha256(" ".join([suite, *BASE, *WANTED, *NEEDED]).encode()).hexdigest()[:12]
    kept = folder / f"upgrade-{following}-{lists}.tar"
    if is_fresh(kept):
        return kept
    root = unpack(folder, f"image-{following}", suite)
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    policy.chmod(0o755)
    for package in packages:
        shutil.copy(package, root / "root")
    run("chroot", root, "eatmydata", "apt-get", "install", "--yes", "--no-install-recommends", "nginx", "mariadb-server",
        "logrotate", *(f"/root/{package.name}" for package in packages), env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    run("chroot", root, "apt-get", "clean")
    configure_apt(root, sources(following))
    run("chroot", root, "apt-get", "full-upgrade", "--yes", "--download-only")
    keep(root, kept, "./etc/apt/sources.list", "./var/lib/apt/lists", "./var/cache/apt/archives")
    return kept


def unpack(folder: Path, name: str = "", suite: str = RELEASE) -> Path:
    """A fresh root folder for one run; multiple hosts of one run have names."""
    kept = archive(folder, suite)
    root = folder / name / "root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    run("tar", "--extract", "--numeric-owner", "--xattrs", "--file", kept, "--directory", root)
    return root
