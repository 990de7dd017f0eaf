"""Releases after the current build: the same package with another version, and debug builds of the same programs, which
contain one more migration if its text exists (Sources/Server/Store/Schema/Migration.swift)."""

import re
import shutil
from pathlib import Path

from host import REPOSITORY
from image import run

PROGRAMS = ("syncd", "syncctl")
# A valid migration: repeatable, and compatible with the previous release.
MIGRATION = """\
ALTER TABLE files
    ADD COLUMN IF NOT EXISTS trial_label VARCHAR(64) NOT NULL DEFAULT '',
    ADD INDEX IF NOT EXISTS trial_by_label (trial_label, sharing_group_id);
ALTER TABLE staged_changes
    ADD COLUMN IF NOT EXISTS trial_label VARCHAR(64) NULL,
    ALGORITHM = COPY;
UPDATE files
   SET trial_label = mime_type
 WHERE trial_label = '';
"""


def next_release(package: Path, version: str, folder: Path) -> Path:
    """The next release's package, derived from the current one."""
    built = Path(run(REPOSITORY / "scripts" / "build", "debug", *PROGRAMS).splitlines()[-1])
    contents = folder / "next"
    run("dpkg-deb", "--raw-extract", package, contents)
    for name in PROGRAMS:
        program = contents / "usr" / "bin" / name
        shutil.copy(built / name, program)
        run("strip", program)
        for library in swift_libraries(built / name):
            # The folder in which every program looks for libraries: only release builds contain the runtime.
            target = contents / "usr" / "lib" / "x86_64-linux-gnu"
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)
    (contents / "usr/share/syncserver/trial-migration.sql").write_text(MIGRATION, encoding="ascii")
    control = contents / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    result = folder / f"syncserver_{version}_next.deb"
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", contents, result)
    return result


def newer_package(package: Path, version: str, folder: Path) -> Path:
    """The same package with another version."""
    contents = folder / package.stem
    run("dpkg-deb", "--raw-extract", package, contents)
    control = contents / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    result = folder / f"{package.name.partition('_')[0]}_{version}_new.deb"
    run("dpkg-deb", "--root-owner-group", "-Znone", "--build", contents, result)
    return result


def swift_libraries(program: Path) -> list[Path]:
    found = re.findall(r"=> (\S+/usr/lib/swift/linux/\S+)", run("ldd", program))
    return [Path(path) for path in found]
