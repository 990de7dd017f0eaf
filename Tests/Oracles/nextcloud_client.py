"""Checks the sandbox's Nextcloud with nc-py-api, a client library of Nextcloud's own organisation, unmodified.

A proxy redirects the server's name to the sandbox. Exit status 0 if the sandbox behaves like Nextcloud; otherwise 1,
and a line per failure.
"""

import io
import os
import re
import urllib.parse

from connect_proxy import ConnectProxy
from sandbox import CA, PORT, broken_rules, check, contents, control, random_bytes, run

os.environ["NPA_NC_CERT"] = CA

import nc_py_api  # noqa: E402
import requests  # noqa: E402
from nc_py_api import NextcloudException  # noqa: E402

SERVER = "https://nextcloud.sandbox.test"


def client_of(account, password=None):
    return nc_py_api.Nextcloud(
        nextcloud_url=SERVER, nc_auth_user=account["id"], nc_auth_pass=password or account["accessToken"])


def check_files(account):
    client = client_of(account)
    check(client.user == account["id"], "the client obtains the user's id")
    data = random_bytes(12_000_000, 1)
    folder = client.files.mkdir("Ordner ü")
    node = client.files.upload("Ordner ü/klein & fein.bin", data[:1000])
    check(contents(account, "Ordner ü/klein & fein.bin") == data[:1000], "an uploaded file has the bytes sent")
    check(client.files.download(node) == data[:1000], "the file is downloaded unchanged")
    large = client.files.upload_stream("Ordner ü/gross.bin", io.BytesIO(data), chunk_size=5_000_000)
    check(contents(account, "Ordner ü/gross.bin") == data, "a file sent in chunks has the bytes sent")
    listed = {entry.name: entry.info.size for entry in client.files.listdir(folder)}
    check(listed == {"klein & fein.bin": 1000, "gross.bin": len(data)}, f"a folder is listed: {listed}")

    moved = client.files.move(node, "anderswo.bin")
    check(moved.file_id == node.file_id, "a moved file keeps its id")
    found = client.files.by_id(node.file_id)
    check(found is not None and found.user_path == "anderswo.bin", "a moved file is found by its id at its new path")
    check(client.files.by_id(999_999) is None, "an unknown id is not found")
    copied = client.files.copy(moved, "Ordner ü/Kopie.bin")
    check(contents(account, "Ordner ü/Kopie.bin") == data[:1000], "a copy has the bytes of the original")
    check(copied.file_id != moved.file_id and contents(account, "anderswo.bin") == data[:1000], "which stays")
    check_locks(account)
    client.files.delete(large)
    check(contents(account, "Ordner ü/gross.bin") is None, "a deleted file is gone")
    try:
        client.files.download("nirgends.bin")
        check(False, "a file that does not exist is not found")
    except NextcloudException as error:
        check(error.status_code == 404, "a file that does not exist is not found")
    rules = broken_rules()
    check(rules == [], f"the client breaks none of Nextcloud's rules: {rules}")


def check_locks(account):
    """Nextcloud simulates locks for clients that require them for writing, and offers none to others."""
    url = f"{SERVER}/remote.php/dav/files/{account['id']}/anderswo.bin"
    for agent, lock, unlock in [("WebDAVFS/3.0.0", 200, 204), ("Microsoft-WebDAV-MiniRedir/10.0", 200, 204), ("rclone", 501, 501)]:
        request = {
            "auth": (account["id"], account["accessToken"]), "verify": CA, "headers": {"User-Agent": agent}}
        replies = [requests.request(method, url, **request) for method in ("LOCK", "UNLOCK")]
        check([reply.status_code for reply in replies] == [lock, unlock], f"locks for {agent}: {replies}")
        if lock == 200:
            check("opaquelocktoken:" in replies[0].text, f"a lock has a token: {replies[0].text}")


def check_login(account):
    client = nc_py_api.Nextcloud(nextcloud_url=SERVER, nc_auth_user="", nc_auth_pass="")
    flow = client.loginflow_v2.init(user_agent="An oracle")
    check(flow.login.startswith(SERVER) and flow.endpoint.startswith(SERVER), "the login flow uses pages of the server")
    pending = requests.post(flow.endpoint, data={"token": flow.token}, verify=CA, timeout=20)
    check(pending.status_code == 404, "there is no app password until the user decides")
    page = requests.get(flow.login, verify=CA, timeout=20)
    check("An oracle" in page.text, "the page shows which app requests access")
    action = re.search(r'action="([^"]+)"', page.text).group(1)
    requests.post(urllib.parse.urljoin(flow.login, action), data={"account": account["id"], "decision": "allow"},
                  verify=CA, timeout=20)
    granted = client.loginflow_v2.poll(flow.token, timeout=10)
    check(granted.login_name == account["id"], "the flow returns the login name")
    signed_in = client_of(account, granted.app_password)
    check(signed_in.user == account["id"], "the flow returns an app password that signs the user in")
    again = requests.post(flow.endpoint, data={"token": flow.token}, verify=CA, timeout=20)
    check(again.status_code == 404, "the app password is returned only once")
    ended = requests.delete(f"{SERVER}/ocs/v2.php/core/apppassword", auth=(account["id"], granted.app_password),
                            headers={"OCS-APIRequest": "true"}, verify=CA, timeout=20)
    check(ended.status_code == 200, "an app can revoke its own app password")
    try:
        client_of(account, granted.app_password).files.listdir()
        check(False, "the revoked app password is rejected")
    except NextcloudException as error:
        check(error.status_code == 401, "the revoked app password is rejected")
    check(len(client_of(account).files.listdir()) > 0, "other app passwords still work")


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "webdav", "name": "Nora Nextcloud"})
    with ConnectProxy(PORT) as proxy:
        os.environ["HTTPS_PROXY"] = proxy.url
        check_files(account)
        check_login(account)


run(main)
