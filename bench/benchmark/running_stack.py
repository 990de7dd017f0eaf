"""Queries of a running stack, for benchmarks and attacks."""

from demonstration.web import Website
from syncstack.processes import run


class RunningStack:
    """A stack, described by the output of `scripts/stack env`."""

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}

    @property
    def server(self) -> Website:
        return Website(self.environment["SYNC_URL"], self.environment["CA_FILE"])

    @property
    def sandbox(self) -> Website:
        return Website(self.environment["SANDBOX_URL"])

    def sql(self, statements: str) -> str:
        """Runs statements as the database's administrator."""
        return run(
            ["mariadb", "--no-defaults", f"--socket={self.environment['DB_SOCKET']}", "--batch",
             "--skip-column-names", self.environment["DB_NAME"]],
            text_input=statements)

    def metric(self, sample: str) -> float:
        """The value of a metric by its name with labels; 0 if it does not exist yet."""
        page = Website(self.environment["METRICS_URL"]).call("GET", "/metrics").body.decode()
        values = [line.removeprefix(sample + " ") for line in page.splitlines() if line.startswith(sample + " ")]
        return float(values[0]) if values else 0.0
