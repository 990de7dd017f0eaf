"""wrk, as a function."""

import re
from pathlib import Path

from syncstack.processes import run


class LoadError(Exception):
    """The measurement itself failed; a sentence for the reader."""


def requests_per_second(
    url: str, seconds: float, connections: int, headers: dict[str, str] | None = None, script: Path | None = None
) -> float:
    """Requests that a server answers with success, on connections that stay open; a script gets a thread for each."""
    options = [option for name, value in (headers or {}).items() for option in ("-H", f"{name}: {value}")]
    options += ["-s", script, f"-t{connections}"] if script else ["-t1"]
    output = run(["wrk", f"-c{connections}", f"-d{max(1, round(seconds))}s", *options, url])
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", output)
    if errors:
        raise LoadError(f"{url}: {errors.group(0)}")
    return float(re.search(r"Requests/sec:\s*([\d.]+)", output).group(1))
