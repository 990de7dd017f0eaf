"""A real storage server behind the sandbox."""

import subprocess

from syncstack.layout import REPOSITORY

from .bench_stack import BenchStack
from .load import LoadError


class StorageServer:
    """Up between `__enter__` and `__exit__`; `kind` is one of scripts/lib/storage-server, `host` ends in .sandbox.test."""

    def __init__(self, stack: BenchStack, kind: str, host: str):
        self.stack, self.kind, self.host = stack, kind, host
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "StorageServer":
        with open(self.stack.layout.logs / f"{self.kind}.log", "wb") as log:
            self.process = subprocess.Popen(
                [REPOSITORY / "scripts/lib/storage-server", self.kind, self.stack.directory / self.kind],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        port = self.process.stdout.readline().strip()
        if not port:
            self.__exit__()
            raise LoadError(f"{self.kind} did not start.")
        self.stack.sandbox.json(
            "POST", "/sandbox/backends", {"host": self.host, "address": f"http://127.0.0.1:{port}"})
        return self

    def __exit__(self, *_) -> None:
        # It ends with its standard input.
        self.process.stdin.close()
        self.process.wait()
