"""A phone that sends and receives many files with curl, over the maximum number of persistent connections."""

import hashlib
import os

from syncstack.processes import run

from .bench_stack import BenchStack
from .load import LoadError

SECONDS = 120


class BusyPhone:
    """Some files of random bytes, all of one size, and how curl sends and receives all of them."""

    def __init__(self, stack: BenchStack, count: int, size_bytes: int):
        self.ca_file = stack.environment["CA_FILE"]
        self.size_bytes = size_bytes
        self.files = [stack.directory / f"file-{number}-of-{size_bytes}" for number in range(count)]
        self.check_sums = []
        for file in self.files:
            contents = os.urandom(size_bytes)
            file.write_bytes(contents)
            self.check_sums.append(hashlib.md5(contents).hexdigest())

    def send(self, urls: list[str], at_once: int, *options: str) -> None:
        self._curl([
            line for url, file in zip(urls, self.files, strict=True)
            for line in (f'url = "{url}"', f'upload-file = "{file}"', 'output = "/dev/null"')], at_once, options)

    def receive(self, urls: list[str], at_once: int, *options: str) -> None:
        self._curl([line for url in urls for line in (f'url = "{url}"', 'output = "/dev/null"')], at_once, options)

    def _curl(self, transfers: list[str], at_once: int, options: tuple[str, ...]) -> None:
        configuration = [
            "silent", "show-error", "http1.1", f'cacert = "{self.ca_file}"', f"max-time = {SECONDS}",
            'header = "Expect:"', r'write-out = "%{http_code} %{num_connects} %{size_upload} %{size_download}\n"',
            *options, *transfers]
        if at_once > 1:
            configuration += ["parallel", "parallel-immediate", f"parallel-max = {at_once}"]
        output = run(["curl", "--disable", "--config", "-"], text_input="\n".join(configuration) + "\n")
        replies = [line.split() for line in output.splitlines()]
        good = [reply for reply in replies if reply[0] in ("200", "201") and str(self.size_bytes) in reply[2:]]
        host = transfers[0].split("/")[2]
        if len(good) != len(self.files):
            bad = [reply for reply in replies if reply not in good]
            raise LoadError(f"{host}: only {len(good)} of {len(self.files)} files arrived; the others: {bad[:3]}")
        connections = sum(int(reply[1]) for reply in replies)
        if connections > at_once:
            raise LoadError(f"{host}: connections did not stay open; {connections} were opened for {at_once} at once.")
