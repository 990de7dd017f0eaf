"""Checks the sandbox's Nextcloud with rclone, configured as WebDAV with the vendor nextcloud."""

from rclone import Rclone
from sandbox import broken_rules, check, contents, control, random_bytes, run

CHUNKS = ("--webdav-nextcloud-chunk-size", "5M")


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "webdav", "name": "Rita Rclone"})
    with Rclone("webdav", None, url=account["address"].rstrip("/"), vendor="nextcloud", user=account["id"]) as rclone:
        rclone.configure(**{"pass": rclone.obscure(account["accessToken"])})
        sizes = {"empty.bin": 0, "one.bin": 1, "below.bin": 5_242_879, "block.bin": 5_242_880, "large.bin": 16_000_003,
                 "a & b = ü %20?.txt": 100}
        for number, (name, size) in enumerate(sizes.items()):
            rclone.local(name, random_bytes(size, number))
        ok, _ = rclone.run("copy", rclone.local(""), "remote:Photos", *CHUNKS)
        check(ok, "rclone copies files of several sizes to Nextcloud and finds them unchanged")
        if not ok:
            print(rclone.errors)
        listing = rclone.listing("remote:Photos") or {}
        check({name: entry["Size"] for name, entry in listing.items()} == sizes, "rclone lists them with their sizes")
        check(all(entry.get("Hashes") for name, entry in listing.items() if name == "one.bin"),
              "rclone lists them with the checksums that it sent")
        check(contents(account, "Photos/large.bin") == rclone.local("large.bin").read_bytes(),
              "the owner has exactly the bytes that rclone sent in chunks")
        ok, _ = rclone.run("check", "--download", rclone.local(""), "remote:Photos")
        check(ok, "rclone check finds the same bytes")
        back = rclone.folder / "back"
        ok, _ = rclone.run("copy", "remote:Photos", back)
        check(ok and all((back / name).read_bytes() == rclone.local(name).read_bytes() for name in sizes),
              "rclone downloads the bytes that it sent")
        if not ok:
            print(rclone.errors)

        ok, _ = rclone.run("moveto", "remote:Photos/one.bin", "remote:Other/renamed.bin")
        check(ok and list(rclone.listing("remote:Other") or {}) == ["renamed.bin"],
              "rclone moves a file to another folder")
        ok, _ = rclone.run("deletefile", "remote:Photos/large.bin")
        check(ok and contents(account, "Photos/large.bin") is None, "rclone deletes a file")
        ok, output = rclone.run("about", "remote:", "--json")
        check(ok and "used" in output, "rclone reports the storage's usage")
        ok, _ = rclone.run("purge", "remote:Photos")
        check(ok and "Photos" not in (rclone.listing("remote:") or {}), "rclone deletes a folder with its contents")
        check(rclone.hosts <= {"nextcloud.sandbox.test"},
              f"rclone connected only to the sandbox's Nextcloud: {rclone.hosts}")
        rules = broken_rules()
        check(rules == [], f"rclone breaks none of Nextcloud's rules: {rules}")

        control("POST", f"/sandbox/accounts/{account['id']}/revoke", {"which": "all"})
        ok, _ = rclone.run("lsf", "remote:")
        check(not ok and "401" in rclone.errors, "a revoked app password is rejected")


run(main)
