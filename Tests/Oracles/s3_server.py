"""A real server with the interface of Amazon S3 on a free port of 127.0.0.1, with the bucket `photos`, until the standard
input ends.

usage: s3_server.py moto|rclone FOLDER

moto enforces conditions and the order of multipart uploads; it takes any key. `rclone serve s3` verifies signatures and
`Content-MD5`, for the key `AKTEST` with the secret `secret-of-the-tests`; FOLDER/photos holds its objects as files. The
first line of the output is the port.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

BUCKET = "photos"
KEY = "AKTEST,secret-of-the-tests"
# Parts as small as those of other storages, so that tests need not send megabytes.
SMALLEST_PART_BYTES = 256 * 1024
START_SECONDS = 30


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def moto(_folder: Path) -> None:
    os.environ["S3_UPLOAD_PART_MIN_SIZE"] = str(SMALLEST_PART_BYTES)
    from moto.server import ThreadedMotoServer  # pylint: disable=import-outside-toplevel  after the setting
    import urllib.request  # pylint: disable=import-outside-toplevel

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")).close()
    announce(port)
    server.stop()


def rclone(folder: Path) -> None:
    (folder / BUCKET).mkdir(parents=True, exist_ok=True)
    port = free_port()
    with subprocess.Popen([
        Path(sys.executable).with_name("rclone"), "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key", KEY,
        # What the tests do to the files behind its back is seen at once.
        "--dir-cache-time", "0s", "--config", "/dev/null", "--log-level", "ERROR", folder,
    ]) as server:
        wait_for(port)
        announce(port)
        server.terminate()


def announce(port: int) -> None:
    print(port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    {"moto": moto, "rclone": rclone}[sys.argv[1]](Path(sys.argv[2]))
