"""Runs wrk."""

import re
from pathlib import Path

from syncstack.processes import run

CLIENTS_FOLDER = Path(__file__).resolve().parents[1] / "clients"
NOW_AND_THEN_CONNECTIONS = 16  # each sends about 20 requests a second


class LoadError(Exception):
    """The measurement itself failed; a sentence for the reader."""


def requests_per_second(
    url: str, seconds: float, connections: int, headers: dict[str, str] | None = None, script: Path | None = None
) -> float:
    """Successful requests per second, on persistent connections; a script gets a thread for each."""
    threads = connections if script else 1
    output = _wrk(url, seconds, connections, threads, headers or {}, script)
    return float(re.search(r"Requests/sec:\s*([\d.]+)", output).group(1))


def slowest_hundredth(url: str, seconds: float, headers: dict[str, str]) -> tuple[float, int]:
    """The 99th percentile of the reply times in milliseconds, and the number of replies, at a moderate rate."""
    output = _wrk(url, seconds, NOW_AND_THEN_CONNECTIONS, 1, headers, CLIENTS_FOLDER / "now-and-then.lua")
    microseconds, count = re.search(r"p99: (\d+) microseconds of (\d+) requests", output).groups()
    return int(microseconds) / 1e3, int(count)


def _wrk(
    url: str, seconds: float, connections: int, threads: int, headers: dict[str, str], script: Path | None
) -> str:
    options = [option for name, value in headers.items() for option in ("-H", f"{name}: {value}")]
    options += ["-s", script] if script else []
    output = run(["wrk", f"-c{connections}", f"-t{threads}", f"-d{max(1, round(seconds))}s", *options, url])
    errors = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", output)
    if errors:
        raise LoadError(f"{url}: {errors.group(0)}")
    return output
