"""One address names an invented server in each request, with a SyncServer that admits any public server.

The names do not exist, or their name server does not answer.
"""

import json
import secrets
from collections.abc import Iterator

from .figure import Figure
from .impatient import figures, insisting, measure, others
from .stage import Stage

# The stack's own name server resolves the names.
STACK_OPTIONS = ("--resolve-names",)
ADDRESS = "127.0.80.1"
DOMAIN = "made-up.example.com"


def attack(stage: Stage) -> Iterator[Figure]:
    seconds, sizes = (2.0, (20,)) if stage.small else (12.0, (60, 500))
    faults = stage.directory / "names" / "faults.json"
    measures = others(stage)
    alone = measure(measures, seconds)
    for size in sizes:
        for kind in ("nxdomain", "silent"):
            faults.write_text(json.dumps([{"name": DOMAIN, "kind": kind}]), encoding="ascii")
            with insisting(stage, [(ADDRESS, lambda: invented(stage))] * size) as answers:
                attacked = measure(measures, seconds)
            faults.write_text("[]", encoding="ascii")
            yield from figures(stage, f"{size} callers, {kind}", alone, attacked, answers)


def invented(stage: Stage) -> dict[str, str]:
    """Credentials for an unknown server."""
    name = secrets.token_hex(8)
    return {
        "X-token-type": "WebDAVToken", "access_token": name, "SyncServer-Device-UUID": stage.new_uuid(),
        "X-account-details": json.dumps({"address": f"https://{name}.{DOMAIN}/dav/", "user": "nobody"})}
