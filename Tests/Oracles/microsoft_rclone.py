"""Checks the sandbox's OneDrive with rclone."""

from rclone import Rclone
from sandbox import broken_rules, check, contents, control, random_bytes, run

CHUNKS = ("--onedrive-chunk-size", "320k", "--onedrive-upload-cutoff", "320k")
CLIENT = {"client_id": "5a0d31c6-0b7e-4f5d-9c1e-2f6a7b8c9d0e", "client_secret": "sandbox~microsoft+secret/="}


def options(account):
    """The drive, which rclone expects in its configuration instead of querying it."""
    return {**CLIENT, "drive_id": account["driveId"], "drive_type": "personal"}


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "microsoft", "name": "Rita Rclone"})
    token = {"access_token": account["accessToken"], "refresh_token": "none"}
    with Rclone("onedrive", token, **options(account)) as rclone:
        sizes = {"empty.bin": 0, "one.bin": 1, "below.bin": 327_679, "block.bin": 327_680, "above.bin": 327_681,
                 "large.bin": 5_000_003}
        for number, (name, size) in enumerate(sizes.items()):
            rclone.local(name, random_bytes(size, number))
        ok, _ = rclone.run("copy", rclone.local(""), "remote:Photos", *CHUNKS)
        check(ok, "rclone copies files of several sizes to OneDrive and finds them unchanged")
        if not ok:
            print(rclone.errors)
        listing = rclone.listing("remote:Photos") or {}
        check({name: entry["Size"] for name, entry in listing.items()} == sizes, "rclone lists them with their sizes")
        check(all(entry["Hashes"].get("quickxor") for entry in listing.values()),
              "rclone lists them with their quickXorHash")
        check(contents(account, "large.bin", "?folder=Photos") == rclone.local("large.bin").read_bytes(),
              "the owner has exactly the bytes that rclone sent")
        ok, _ = rclone.run("check", rclone.local(""), "remote:Photos")
        check(ok, "rclone check finds the same hashes that it computes")

        back = rclone.folder / "back"
        ok, _ = rclone.run("copy", "remote:Photos", back)
        check(ok and all((back / name).read_bytes() == rclone.local(name).read_bytes() for name in sizes),
              "rclone downloads the bytes that it sent")
        ok, _ = rclone.run("moveto", "remote:Photos/one.bin", "remote:Photos/renamed & moved.bin")
        check(ok and "renamed & moved.bin" in (rclone.listing("remote:Photos") or {}), "rclone renames a file")
        ok, _ = rclone.run("deletefile", "remote:Photos/large.bin")
        check(ok and contents(account, "large.bin") is None, "rclone deletes a file")
        ok, _ = rclone.run("purge", "remote:Photos")
        check(ok and "Photos" not in (rclone.listing("remote:") or {}), "rclone deletes a folder with its contents")
        ok, output = rclone.run("about", "remote:", "--json")
        check(ok and "used" in output, "rclone reads the storage's usage")

        check(rclone.hosts <= {"graph.microsoft.com", "my.microsoftpersonalcontent.com", "login.microsoftonline.com"},
              f"rclone asked Microsoft's production hosts: {rclone.hosts}")
        rules = broken_rules()
        check(rules == [], f"rclone breaks none of Microsoft's rules: {rules}")


run(main)
