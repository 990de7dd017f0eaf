"""Checks the sandbox's Google Drive with rclone."""

import hashlib

from rclone import Rclone
from sandbox import broken_rules, check, contents, control, random_bytes, run

CHUNK = 262_144
# With the unit: rclone interprets a bare number as KiB, and would send every file in one request.
CHUNKS = ("--drive-upload-cutoff", "256k", "--drive-chunk-size", "256k")


def chunks_received():
    """The size and status of each upload session request in the sandbox's log."""
    return sorted((request["requestBytes"], request["status"])
                  for request in control("GET", "/sandbox/requests?since=0")
                  if request["path"] == "/upload/drive/v3/files" and "upload_id" in request["query"])


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "google", "name": "Rita Rclone"})
    token = {"access_token": account["accessToken"], "refresh_token": account["refreshToken"]}
    with Rclone("drive", token, client_id="1234567890-server.apps.googleusercontent.com",
                client_secret="sandbox-google-secret", scope="drive.file") as rclone:
        sizes = {"empty.bin": 0, "one.bin": 1, "below.bin": 262_143, "chunk.bin": 262_144, "large.bin": 1_000_003}
        for number, (name, size) in enumerate(sizes.items()):
            rclone.local(name, random_bytes(size, number))
        ok, _ = rclone.run("copy", rclone.local(""), "remote:Shared Images", *CHUNKS)
        check(ok, "rclone copies files of several sizes to Drive and finds them unchanged")
        if not ok:
            print(rclone.errors)
        # chunk.bin has one chunk, large.bin four, the last of which completes the file; the other files are below the
        # cutoff.
        check(chunks_received() == [(1_000_003 - 3 * CHUNK, 200), (CHUNK, 200)] + 3 * [(CHUNK, 308)],
              f"rclone sends a large file in several chunks of a resumable session: {chunks_received()}")
        listing = rclone.listing("remote:Shared Images") or {}
        check({name: entry["Size"] for name, entry in listing.items()} == sizes, "rclone lists them with their sizes")
        check(all(entry["Hashes"]["md5"] == hashlib.md5(rclone.local(name).read_bytes()).hexdigest()
                  for name, entry in listing.items()), "rclone lists them with their MD5")
        check(contents(account, "large.bin") == rclone.local("large.bin").read_bytes(),
              "the owner has exactly the bytes that rclone sent")

        back = rclone.folder / "back"
        ok, _ = rclone.run("copy", "remote:Shared Images", back)
        check(ok and all((back / name).read_bytes() == rclone.local(name).read_bytes() for name in sizes),
              "rclone downloads the bytes that it sent")
        ok, _ = rclone.run("check", rclone.local(""), "remote:Shared Images", "--download")
        check(ok, "rclone check --download finds no difference")

        ok, _ = rclone.run("moveto", "remote:Shared Images/one.bin", "remote:Other/renamed.bin")
        check(ok and list(rclone.listing("remote:Other") or {}) == ["renamed.bin"],
              "rclone moves a file to another folder")
        ok, _ = rclone.run("deletefile", "remote:Shared Images/large.bin", "--drive-use-trash=false")
        check(ok and contents(account, "large.bin") is None, "rclone deletes a file permanently")
        check(rclone.hosts == {"www.googleapis.com"}, f"rclone asked Google's production host: {rclone.hosts}")
        rules = broken_rules()
        check(rules == [], f"rclone breaks none of Drive's rules: {rules}")


run(main)
