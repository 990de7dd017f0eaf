"""The stack whose server meets the faults, with the relay between it and the sandbox."""

import json
import shlex
import subprocess
import tempfile
from pathlib import Path

from benchmark.running_stack import RunningStack
from demonstration.web import Deviation, Website
from syncstack.layout import REPOSITORY

from .bucket import Bucket
from .calls import S3_HOST
from .relay import Relay

OVERRIDES = {
    # Each request verifies its token again, so that the number of calls does not depend on a process's cache.
    "signInTokenTimeToLive": 0, "transferThreads": 64,
    # Every cell has new accounts, codes and groups.
    "quotas": {"codeExchangesPerHour": 100_000, "groupsPerHour": 100_000},
    "allowedSignInTypes": {"Google": True, "Microsoft": True, "Dropbox": True, "WebDAV": True, "S3": True},
    "s3": {"endpoints": [f"https://{S3_HOST}/"]},
}


class Stage(RunningStack):
    """Up between `__enter__` and `__exit__`."""

    def __init__(self, build: str, is_kept: bool = False):
        super().__init__()
        self.build, self.is_kept = build, is_kept
        self.relay = Relay()
        self.bucket: Bucket | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="syncserver-faults-"))

    def __enter__(self) -> "Stage":
        authority = self.folder / "tls" / "ca.pem"
        names = self.relay.names
        overrides = OVERRIDES if names is not None else OVERRIDES | {
            "sandbox": {"connectTo": self.relay.address, "caFile": str(authority)}}
        (self.folder / "syncd-overrides.json").write_text(json.dumps(overrides), encoding="ascii")
        try:
            self._stack("up", "--build", self.build, "--responders", "1",
                        *(["--name-server", self.relay.host] if names is not None else []))
            self.environment = dict(part.partition("=")[::2] for part in shlex.split(self._stack("env")))
            self.bucket = Bucket(self.folder / "s3")
            self.relay.lead(int(self.environment["SANDBOX_TLS_PORT"]), self.folder / "tls", self.bucket)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        self._stack("down")
        self.relay.close()
        if self.bucket is not None:
            self.bucket.close()
        if self.is_kept:
            print(f"The logs are in {self.folder}/log.", flush=True)
        else:
            subprocess.run(["rm", "-rf", self.folder], check=False)

    def _stack(self, verb: str, *options: str) -> str:
        command = [REPOSITORY / "scripts" / "stack", verb, self.folder, *options]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout

    def change_account(self, account: str, event: str, **details) -> None:
        """Triggers an event of an account (docs/sandbox.md)."""
        reply = self.sandbox.call("POST", f"/sandbox/accounts/{account}/{event}", {"Content-Type": "application/json"},
                                  json.dumps(details).encode())
        if not 200 <= reply.status < 300:
            raise Deviation(f"The sandbox replied {reply.status} to {event}: {reply.body[:300]!r}")

    def change_file(self, account: str, method: str, name: str, contents: bytes | None = None) -> None:
        """Replaces or deletes a file of an account, as its owner would."""
        reply = self.sandbox.call(method, f"/sandbox/accounts/{account}/files/{name}",
                                  {"Content-Type": "application/octet-stream"}, contents)
        if not 200 <= reply.status < 300:
            raise Deviation(f"The sandbox replied {reply.status} to {method} of a file")

    def calls_without_connection(self, provider: str) -> int:
        """How many calls to a provider never reached it, as the server counts them."""
        page = Website(self.environment["METRICS_URL"]).call("GET", "/metrics").body.decode()
        return sum(int(float(line.rpartition(" ")[2])) for line in page.splitlines()
                   if line.startswith("syncd_provider_requests_total{") and f'provider="{provider}"' in line
                   and ('outcome="unreachable"' in line or 'outcome="timeout"' in line))

    def complaints(self) -> list[str]:
        """Problems of the database, violations of the providers' rules, defects and secrets in the logs."""
        complaints = []
        program = REPOSITORY / ".build" / self.build / "syncctl"
        report = subprocess.run([program, "fsck", "--json", "--config", self.environment["CONFIG_FILE"]],
                                stdout=subprocess.PIPE, check=False).stdout
        complaints += [f"fsck: {finding}" for finding in json.loads(report).get("findings", [report.decode()])]
        complaints += [f"violation: {violation}" for violation in self.sandbox.json("GET", "/sandbox/violations")]
        self.sandbox.call("DELETE", "/sandbox/violations")
        complaints += [f"violation: {violation}" for violation in self.bucket.violations]
        self.bucket.violations.clear()
        for call in self.relay.strangers:
            complaints.append(f"a call to {call.host}: {call.describes_itself} with {call.headers}")
        self.relay.strangers.clear()
        return complaints

    def defects(self) -> list[str]:
        """Lines of the server's logs that report a defect, and tokens in any log.

        An operator has to learn of a provider's invalid certificate, so that is also logged as an error, and expected here.
        """
        lines = []
        for log in (self.folder / "log").glob("syncd-*.log"):
            lines += [f"{log.name}: {line[:400]}" for line in log.read_text("utf-8", "replace").splitlines()
                      if '"level":"error"' in line and '"reason":"misconfigured' not in line or "Fatal" in line]
        search = subprocess.run([REPOSITORY / "scripts" / "lib" / "canary", self.folder], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        if search.returncode != 0:
            lines.append(f"a log contains a token: {search.stdout[-600:]}")
        secrets = [*self.bucket.secrets.values(), *self.bucket.withdrawn.values()]
        for log in (self.folder / "log").iterdir():
            text = log.read_text("utf-8", "replace")
            lines += [f"{log.name} contains the secret of a key" for secret in secrets if secret in text]
        return lines
