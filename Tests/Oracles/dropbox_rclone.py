"""Checks the sandbox's Dropbox with rclone."""

from rclone import Rclone
from sandbox import broken_rules, check, contents, control, random_bytes, run

CHUNKS = ("--dropbox-chunk-size", "4M")


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "dropbox", "name": "Rita Rclone"})
    token = {"access_token": account["accessToken"], "refresh_token": account["refreshToken"]}
    with Rclone("dropbox", token, client_id="sandboxdropboxkey", client_secret="sandbox-dropbox-secret") as rclone:
        sizes = {"empty.bin": 0, "one.bin": 1, "below.bin": 4_194_303, "block.bin": 4_194_304, "large.bin": 9_000_003}
        for number, (name, size) in enumerate(sizes.items()):
            rclone.local(name, random_bytes(size, number))
        ok, _ = rclone.run("copy", rclone.local(""), "remote:Photos", *CHUNKS)
        check(ok, "rclone copies files of several sizes to Dropbox and finds them unchanged")
        if not ok:
            print(rclone.errors)
        listing = rclone.listing("remote:Photos") or {}
        check({name: entry["Size"] for name, entry in listing.items()} == sizes, "rclone lists them with their sizes")
        check(contents(account, "Photos/large.bin") == rclone.local("large.bin").read_bytes(),
              "the owner has exactly the bytes that rclone sent")
        ok, _ = rclone.run("check", rclone.local(""), "remote:Photos")
        check(ok, "rclone check finds the same content hashes that it computes")

        back = rclone.folder / "back"
        ok, _ = rclone.run("copy", "remote:Photos", back)
        check(ok and all((back / name).read_bytes() == rclone.local(name).read_bytes() for name in sizes),
              "rclone downloads the bytes that it sent")
        ok, _ = rclone.run("copy", rclone.local(""), "remote:Unbatched", "--dropbox-batch-mode", "off", *CHUNKS)
        check(ok and contents(account, "Unbatched/large.bin") == rclone.local("large.bin").read_bytes(),
              "the same applies without batches")
        if not ok:
            print(rclone.errors)

        ok, _ = rclone.run("moveto", "remote:Photos/one.bin", "remote:Other/renamed.bin")
        check(ok and list(rclone.listing("remote:Other") or {}) == ["renamed.bin"],
              "rclone moves a file to another folder")
        ok, _ = rclone.run("deletefile", "remote:Photos/large.bin")
        check(ok and contents(account, "Photos/large.bin") is None, "rclone deletes a file")
        ok, _ = rclone.run("purge", "remote:Unbatched")
        check(ok and "Unbatched" not in (rclone.listing("remote:") or {}), "rclone deletes a folder with its contents")

        check(rclone.hosts <= {"api.dropboxapi.com", "content.dropboxapi.com", "notify.dropboxapi.com"},
              f"rclone asked Dropbox's production hosts: {rclone.hosts}")
        rules = broken_rules()
        check(rules == [], f"rclone breaks none of Dropbox's rules: {rules}")
    control("POST", f"/sandbox/accounts/{account['id']}/expire-access-token", {"which": "all"})
    token["expiry"] = "2020-01-01T00:00:00Z"
    with Rclone("dropbox", token, client_id="sandboxdropboxkey", client_secret="sandbox-dropbox-secret") as rclone:
        ok, output = rclone.run("about", "remote:", "--json")
        if not ok:
            print(rclone.errors)
        check(ok and "used" in output, "rclone refreshes an expired token, and reports the storage's usage")
        check(rclone.token()["refresh_token"] == account["refreshToken"], "the refresh token stays the same")


run(main)
