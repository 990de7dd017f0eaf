"""The releases after the one that was built: the same package with another version; and debugging builds of the same programs,
which know one more migration if its text is there (Sources/Server/Store/Schema/Migration.swift)."""

import re
import shutil
from pathlib import Path

from host import REPOSITORY
from image import run

PROGRAMS = ("syncd", "syncctl")
# As migrations have to be: repeatable, and such that the release before works with what it leaves.
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
    """A package of it, made from that of the present release."""
    built = Path(run(REPOSITORY / "scripts" / "build", "debug", *PROGRAMS).splitlines()[-1])
    contents = folder / "next"
    run("dpkg-deb", "--raw-extract", package, contents)
    for name in PROGRAMS:
        program = contents / "usr" / "bin" / name
        shutil.copy(built / name, program)
        run("strip", program)
        for library in swift_libraries(built / name):
            # Where every program looks for libraries: the runtime is part of release builds only.
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
