"""What is asked of a stack that is up, by benchmarks and by attacks."""

from demonstration.web import Website
from syncstack.processes import run


class RunningStack:
    """A stack by what `scripts/stack env` says of it."""

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
        """What the server's metrics say for a name with its labels, or 0 if nothing yet."""
        page = Website(self.environment["METRICS_URL"]).call("GET", "/metrics").body.decode()
        values = [line.removeprefix(sample + " ") for line in page.splitlines() if line.startswith(sample + " ")]
        return float(values[0]) if values else 0.0
