"""Checks the sandbox with Google's official Python client, unmodified and with production URLs.

Only the network path is changed: every TCP connection to port 443 of any host is redirected to the sandbox's port on
this machine, and only the sandbox's certificate authority is trusted.

Exit status 0 if the sandbox behaves like Google; otherwise 1, and a line per failure.
"""

import hashlib
import io
import json
import os
import socket

from sandbox import CA, PORT, broken_rules, check, control, put_file, random_bytes, run

os.environ["REQUESTS_CA_BUNDLE"] = CA

_resolve = socket.getaddrinfo


def _redirected(host, port, *arguments, **named):
    if port in (443, "443", "https"):
        return _resolve("127.0.0.1", PORT, *arguments, **named)
    return _resolve(host, port, *arguments, **named)


socket.getaddrinfo = _redirected
_connect = socket.socket.connect
# httplib2 resolves a host's address, but then connects by name.
socket.socket.connect = lambda self, address: _connect(
    self, ("127.0.0.1", PORT) if address[1] == 443 else address)

import google.auth.exceptions  # noqa: E402
import google.auth.transport.requests  # noqa: E402
import google_auth_httplib2  # noqa: E402
import httplib2  # noqa: E402
from google.oauth2.credentials import Credentials  # noqa: E402
from googleapiclient.discovery import build  # noqa: E402
from googleapiclient.errors import HttpError  # noqa: E402
from googleapiclient.http import MediaIoBaseDownload, MediaIoBaseUpload  # noqa: E402

CLIENT = "1234567890-server.apps.googleusercontent.com"
SECRET = "sandbox-google-secret"
FOLDER = "application/vnd.google-apps.folder"
SUMS = "id,name,size,md5Checksum,sha1Checksum,sha256Checksum,parents,trashed"


def status_of(action):
    try:
        action()
        return 200
    except HttpError as error:
        return error.resp.status


def drive_service(credentials):
    http = httplib2.Http(ca_certs=CA)
    # For Drive, 308 means "continue"; the library configures its own Http object in the same way.
    http.redirect_codes = http.redirect_codes - {308}
    authorized = google_auth_httplib2.AuthorizedHttp(credentials, http=http)
    return build("drive", "v3", http=authorized, static_discovery=True, cache_discovery=False)


def verify_sums(file, data, what):
    check(file.get("size") == str(len(data)), f"{what}: size")
    check(file.get("md5Checksum") == hashlib.md5(data).hexdigest(), f"{what}: MD5")
    if "sha256Checksum" in file:
        check(file["sha256Checksum"] == hashlib.sha256(data).hexdigest(), f"{what}: SHA-256")
        check(file["sha1Checksum"] == hashlib.sha1(data).hexdigest(), f"{what}: SHA-1")


def upload(drive, name, folder, data, chunk=None, **metadata):
    media = MediaIoBaseUpload(
        io.BytesIO(data), "image/jpeg", chunksize=chunk or -1, resumable=chunk is not None)
    body = {"name": name, "parents": [folder], **metadata}
    request = drive.files().create(body=body, media_body=media, fields=SUMS)
    if chunk is None:
        return request.execute(), 1
    reply, steps = None, 0
    while reply is None:
        _, reply = request.next_chunk()
        steps += 1
    return reply, steps


def download(drive, file_id, chunk):
    sink = io.BytesIO()
    loader = MediaIoBaseDownload(sink, drive.files().get_media(fileId=file_id), chunksize=chunk)
    done = False
    while not done:
        _, done = loader.next_chunk()
    return sink.getvalue()


def check_tokens(account, credentials):
    transport = google.auth.transport.requests.Request()
    credentials.refresh(transport)
    check(credentials.valid and credentials.token != account["accessToken"], "a refresh returns a new token")
    reply = transport("https://oauth2.googleapis.com/tokeninfo?access_token=" + credentials.token)
    info = json.loads(reply.data)
    check(info["aud"] == CLIENT and info["sub"] == account["id"], "tokeninfo names the client and the user")
    check("drive.file" in info["scope"] and isinstance(info["expires_in"], str), "tokeninfo: scope, text values")
    reply = transport("https://www.googleapis.com/oauth2/v3/userinfo",
                      headers={"Authorization": "Bearer " + account["accessToken"]})
    check(json.loads(reply.data)["name"] == account["name"], "userinfo names the user")
    wrong = Credentials(None, refresh_token=account["refreshToken"], client_id=CLIENT, client_secret="wrong",
                        token_uri="https://oauth2.googleapis.com/token")
    try:
        wrong.refresh(transport)
        check(False, "a wrong client secret is rejected")
    except google.auth.exceptions.RefreshError as error:
        check("invalid_client" in str(error), "a wrong client secret is rejected as invalid_client")


def check_chunk_rule(credentials):
    """Sends requests directly to the server, since the client does not enforce Google's rule."""
    transport = google.auth.transport.requests.Request()
    headers = {"Authorization": "Bearer " + credentials.token, "Content-Type": "application/json"}
    start = transport("https://www.googleapis.com/upload/drive/v3/files?uploadType=resumable", "POST", b"{}", headers)
    reply = transport(start.headers["Location"], "PUT", b"x" * 100_000,
                      {**headers, "Content-Range": "bytes 0-99999/*"})
    check(reply.status == 400, "a chunk of 100,000 bytes is rejected")


def main():
    account = control("POST", "/sandbox/accounts", {"provider": "google", "name": "Alice Oracle"})
    credentials = Credentials(
        account["accessToken"], refresh_token=account["refreshToken"], client_id=CLIENT, client_secret=SECRET,
        token_uri="https://oauth2.googleapis.com/token")
    check_tokens(account, credentials)
    drive = drive_service(credentials)

    folder = drive.files().create(body={"name": "Shared Images", "mimeType": FOLDER}).execute()
    check(sorted(folder) == ["id", "kind", "mimeType", "name"], "a new folder is returned with the few default fields")
    twin = drive.files().create(body={"name": "Shared Images", "mimeType": FOLDER}).execute()
    check(twin["id"] != folder["id"], "two folders may have the same name")
    drive.files().delete(fileId=twin["id"]).execute()

    small = random_bytes(70_000, 1) + b"\r\n"
    stored, _ = upload(drive, "small's \\ file.jpg", folder["id"], small)
    verify_sums(stored, small, "multipart upload")
    large = random_bytes(1_500_000, 2)
    new_id = drive.files().generateIds(count=1, space="drive", type="files").execute()["ids"][0]
    picture, steps = upload(drive, "large.jpg", folder["id"], large, chunk=262_144, id=new_id)
    verify_sums(picture, large, "resumable upload")
    check(steps == 6 and picture["id"] == new_id, "the upload takes six chunks, and uses the id generated in advance")
    check(status_of(lambda: upload(drive, "again", folder["id"], b"x", chunk=262_144, id=new_id)) == 409,
          "an id in use is a conflict")
    empty, _ = upload(drive, "empty", folder["id"], b"", chunk=262_144)
    check(empty["md5Checksum"] == "d41d8cd98f00b204e9800998ecf8427e", "an empty file has the MD5 of empty contents")
    replaced = drive.files().update(
        fileId=empty["id"], media_body=MediaIoBaseUpload(io.BytesIO(small), "text/plain", resumable=True),
        fields=SUMS).execute()
    verify_sums(replaced, small, "replaced content")
    check(replaced["id"] == empty["id"], "replacing content keeps the id")

    found, token = [], None
    while True:
        page = drive.files().list(
            q=f"'{folder['id']}' in parents and trashed = false", pageSize=2, pageToken=token, spaces="drive",
            orderBy="name", fields="nextPageToken,incompleteSearch,files(id,name)").execute()
        found += [file["name"] for file in page["files"]]
        token = page.get("nextPageToken")
        if token is None:
            break
    check(found == ["empty", "large.jpg", "small's \\ file.jpg"], "a paged listing returns each file once")
    quoted = drive.files().list(q="name = 'small\\'s \\\\ file.jpg'").execute()["files"]
    check([file["id"] for file in quoted] == [stored["id"]], "searches accept escaped quotes and backslashes")
    check(status_of(lambda: drive.files().list(q="name = 'x").execute()) == 400, "a malformed search is rejected")

    check(drive.files().get_media(fileId=picture["id"]).execute() == large, "a download in one piece is complete")
    check(download(drive, picture["id"], 400_000) == large, "a download in ranges is complete")
    check(download(drive, stored["id"], 1 << 20) == small, "a download keeps the last bytes")

    drive.files().update(fileId=stored["id"], body={"trashed": True}).execute()
    seen = drive.files().get(fileId=stored["id"], fields="trashed").execute()
    check(seen == {"trashed": True}, "a file in the bin still exists")
    drive.files().delete(fileId=stored["id"]).execute()
    check(status_of(lambda: drive.files().get(fileId=stored["id"]).execute()) == 404, "a deleted file is gone")
    check(status_of(lambda: drive.files().delete(fileId=stored["id"]).execute()) == 404, "and cannot be deleted again")
    hidden = put_file(account, "private.txt", b"mine", "?visible=0")["id"]
    check(status_of(lambda: drive.files().get(fileId=hidden).execute()) == 404, "the user's own files are invisible")

    control("POST", f"/sandbox/accounts/{account['id']}/expire-access-token", {"which": "all"})
    check(drive.files().get(fileId=picture["id"]).execute()["name"] == "large.jpg",
          "the client refreshes an expired token automatically")
    control("POST", "/sandbox/faults", {
        "host": "www.googleapis.com", "status": 403, "reason": "userRateLimitExceeded", "times": 2})
    name = drive.files().get(fileId=picture["id"]).execute(num_retries=3)["name"]
    check(name == "large.jpg", "the client recognises Google's rate limit, and retries")
    control("POST", "/sandbox/faults", {"method": "PUT", "keepBytes": 262_144, "times": 1})
    partial, _ = upload(drive, "partial.jpg", folder["id"], large, chunk=524_288)
    verify_sums(partial, large, "an upload of which the server once stored less than was sent")

    rules = broken_rules()
    check(set(rules) == {"client-secret"},
          f"Google's own client breaks only the rule that it was made to break: {rules}")
    check_chunk_rule(credentials)
    control("POST", f"/sandbox/accounts/{account['id']}/revoke", {})
    try:
        credentials.refresh(google.auth.transport.requests.Request())
        check(False, "a revoked grant cannot be refreshed")
    except google.auth.exceptions.RefreshError as error:
        check("invalid_grant" in str(error), "a revoked grant cannot be refreshed: invalid_grant")


run(main)
